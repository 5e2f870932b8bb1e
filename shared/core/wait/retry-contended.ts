/** Optimistic writes: read, write on that state, and read again if another writer was faster. All callers share this loop. */
import { StoreUnavailableError } from '../errors.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { fullJitterMs } from '../runtime/random.ts';

/** How long to retry while other writers are faster. */
interface Contention {
  /** Maximum rounds. Another writer was faster in each earlier round. */
  readonly rounds: number;
  /**
   * Pauses with full jitter, from the third round on. The second round starts at once, because it has seen the state that refused the
   * first.
   * Without it, no pauses. Aborting `signal` ends a pause, not the retries.
   */
  readonly backoff?:
    | (Pick<Runtime, 'clock' | 'random'> & {
        readonly baseMs: number;
        readonly capMs: number;
        readonly signal?: AbortSignal | undefined;
      })
    | undefined;
}

/** For actions of operators and deployments. A row that changes in each of five rounds is contended. */
export const ACT = { rounds: 5 } as const satisfies Contention;

/** The result of an attempt that another writer overtook. */
export class Contended {
  readonly kind = 'contended';
  readonly earlierAttempt: 'none' | 'unknown';

  constructor(earlierAttempt: 'none' | 'unknown') {
    this.earlierAttempt = earlierAttempt;
  }
}

/** @param refusal of the lost write. Absent: a read already showed that another writer was faster */
export function contended(refusal?: { readonly earlierAttempt: 'none' | 'unknown' }): Contended {
  return new Contended(refusal?.earlierAttempt ?? 'none');
}

/**
 * Reads and writes until an attempt returns a result.
 * @param attempt `round` starts at 1; `earlierAttempt` tells whether an earlier round had an attempt without a response
 * @throws StoreUnavailableError when every round was lost; `applied: 'unknown'` when one of them had an attempt without a response
 */
export async function retryContended<Result>(
  what: string,
  { rounds, backoff }: Contention,
  attempt: (round: number, earlierAttempt: 'none' | 'unknown') => Promise<Result | Contended>,
): Promise<Result> {
  let earlierAttempt: Contended['earlierAttempt'] = 'none';
  for (let round = 1; round <= rounds; round++) {
    if (round > 2 && backoff !== undefined)
      await backoff.clock.sleep(fullJitterMs(backoff.random, backoff, round - 1), backoff.signal);
    const result = await attempt(round, earlierAttempt);
    if (!(result instanceof Contended)) return result;
    if (result.earlierAttempt === 'unknown') earlierAttempt = 'unknown';
  }
  throw tooContended(what, rounds, earlierAttempt);
}

function tooContended(what: string, rounds: number, earlierAttempt: 'none' | 'unknown'): StoreUnavailableError {
  const found = `${what} was changed by others in each of ${rounds} attempts`;
  return earlierAttempt === 'none'
    ? new StoreUnavailableError(`${found}, and nothing was done; try again`, { applied: 'no' })
    : new StoreUnavailableError(
        `${found}, and one of our writes got no response: it may have been applied; read the row first`,
        {
          applied: 'unknown',
        },
      );
}
