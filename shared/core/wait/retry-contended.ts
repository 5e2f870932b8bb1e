/**
 * Optimistic writes: read, write on that state, and again if another writer was faster. All such loops that may pause are this one.
 *
 *   - The row of a refusal is good for one more try at once. After that comes a pause with full jitter, and observations before a pause
 *     are old: the attempt reads. (A loop that pauses and then writes on an old observation loses again.)
 *   - Time bounds the loop, not rounds: in a crowd each round is lost to a writer who has won, so many lost rounds are healthy.
 */
import { StoreUnavailableError } from '../errors.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { fullJitterMs } from '../runtime/random.ts';

export interface Patience extends Pick<Runtime, 'clock' | 'random'> {
  /** Ends a pause, not the retries. */
  readonly signal?: AbortSignal | undefined;
  /** A holder's remaining trust. Default: `CONTENTION_MS`. */
  readonly budgetMs?: number | undefined;
}

/** A few hundred writers of one row are through by then, each after 10 ms. */
export const CONTENTION_MS = 20_000;
/** At least this many, regardless of time, because a process may be frozen between two of them. */
const MIN_ROUNDS = 5;
const BACKOFF = { baseMs: 25, capMs: 2_000 };

/** The result of an attempt that another writer overtook. */
export class Contended {
  readonly kind = 'contended';
  readonly earlierAttempt: 'none' | 'unknown';
  readonly isBlind: boolean;

  constructor(earlierAttempt: 'none' | 'unknown', isBlind: boolean) {
    this.earlierAttempt = earlierAttempt;
    this.isBlind = isBlind;
  }
}

/**
 * @param refusal of the lost write. Absent: a read already showed that another writer was faster
 * @param isBlind whether the refusal does not show what the other writer has left: a pause follows at once
 */
export function contended(
  refusal?: { readonly earlierAttempt: 'none' | 'unknown' },
  { isBlind = false }: { readonly isBlind?: boolean } = {},
): Contended {
  return new Contended(refusal?.earlierAttempt ?? 'none', isBlind);
}

interface Round {
  /** From 1. */
  readonly round: number;
  /** Whether an earlier round had an attempt without a response. */
  readonly earlierAttempt: 'none' | 'unknown';
  /** The observations of earlier rounds are old: read again. */
  readonly isAfterPause: boolean;
}

/**
 * Reads and writes until an attempt returns a result.
 * @throws StoreUnavailableError when the time is over; `applied: 'unknown'` when a round had an attempt without a response
 */
export async function retryContended<Result>(
  what: string,
  { clock, random, signal, budgetMs = CONTENTION_MS }: Patience,
  attempt: (round: Round) => Promise<Result | Contended>,
): Promise<Result> {
  const startedAt = clock.monotonic();
  let earlierAttempt: Contended['earlierAttempt'] = 'none';
  let isAfterPause = true;
  for (let round = 1, pauses = 0; ; round++) {
    const result = await attempt({ round, earlierAttempt, isAfterPause: isAfterPause && round > 1 });
    if (!(result instanceof Contended)) return result;
    if (result.earlierAttempt === 'unknown') earlierAttempt = 'unknown';
    isAfterPause = result.isBlind || !isAfterPause;
    const pauseMs = isAfterPause ? fullJitterMs(random, BACKOFF, ++pauses) : 0;
    const waitedMs = clock.monotonic() - startedAt;
    if (round >= MIN_ROUNDS && waitedMs + pauseMs >= budgetMs)
      throw tooContended(what, { round, waitedMs }, earlierAttempt);
    if (isAfterPause) await clock.sleep(pauseMs, signal);
  }
}

function tooContended(
  what: string,
  { round, waitedMs }: { readonly round: number; readonly waitedMs: number },
  earlierAttempt: 'none' | 'unknown',
): StoreUnavailableError {
  const found = `${what} was changed by others in each of ${round} attempts within ${Math.round(waitedMs)} ms`;
  return earlierAttempt === 'none'
    ? new StoreUnavailableError(`${found}, and nothing was done; try again`, { applied: 'no' })
    : new StoreUnavailableError(
        `${found}, and one of our writes got no response: it may have been applied; read the row first`,
        {
          applied: 'unknown',
        },
      );
}
