/**
 * Two callers of one id, the second of whom acts while the first waits for an answer that often does not come: so a request that is tried
 * again comes after the other's. The first enqueues or cancels, the second enqueues.
 */
import { MismatchError, StoreUnavailableError } from '../../../shared/core/errors.ts';
import type { EnqueueOptions } from '../../../shared/tasks/queue/task-client.ts';
import type { TaskOperator } from '../../../shared/tasks/queue/task-operator.ts';
import { RIVAL_ID } from '../invariants/told.ts';
import { taskRow } from '../observed-stores.ts';
import type { ProducerPorts } from './producer.ts';
import { attemptTimeoutOf } from './worker-place.ts';

/** Requests of processes with this name are lost more often: see `nemesis.ts`. */
export const FIRST_RIVAL = 'rival';

export interface Rival {
  readonly isFirst: boolean;
  readonly operator: TaskOperator;
  /** True time at which the phase began. */
  readonly startedAt: number;
}

/** Each id is new at first, and is asked for again. */
const TURNS_AN_ID = 3;
/** The second may ask at the same moment. */
const AT_ONCE_CHANCE = 0.4;
const CANCEL_CHANCE = 0.3;
const WAIT_CHANCE = 0.4;

/** Acts at its remaining turns. A process that replaces a killed one continues with the next. */
export async function contend(ports: ProducerPorts, rival: Rival): Promise<void> {
  const { process, profile } = ports;
  const prng = ports.prng.fork('rival');
  const spacingMs = (0.8 * profile.faultyMs) / profile.rivals;
  for (let turn = 0; turn < profile.rivals; turn++) {
    const laterMs = rival.isFirst || prng.chance(AT_ONCE_CHANCE) ? 0 : prng.between(0, attemptTimeoutOf(profile));
    const waitMs = rival.startedAt + (turn + 0.5) * spacingMs + laterMs - process.now;
    if (waitMs < 0) continue;
    await process.runtime.clock.sleep(waitMs);
    const id = `${RIVAL_ID}${Math.floor(turn / TURNS_AN_ID)}-${ports.half}`;
    if (rival.isFirst && prng.chance(CANCEL_CHANCE)) await cancel(ports, rival.operator, id);
    else
      await ask(ports, id, prng.pick(rival.isFirst ? FIRST_WAYS : SECOND_WAYS), prng.chance(WAIT_CHANCE) ? 2_000 : 50);
  }
}

const SECOND_WAYS: readonly EnqueueOptions[] = [{}, { onDuplicate: 'replace' }, { window: 100 }];
const FIRST_WAYS: readonly EnqueueOptions[] = [...SECOND_WAYS, { onDuplicate: 'debounce' }, { onDuplicate: 'replace' }];

async function ask(ports: ProducerPorts, id: string, way: EnqueueOptions, delay: number): Promise<void> {
  const { process, client, recorder, queue, half, seen } = ports;
  // Each request is for work of its own.
  const request = ports.nextVersion();
  const note = (what: 'asked' | 'told', facts: object): void => {
    const value = JSON.stringify({ ask: request, ...facts });
    recorder.emit({
      kind: 'acknowledged',
      at: process.now,
      process: process.name,
      what,
      row: taskRow({ queue, id }),
      value,
    });
  };
  note('asked', {});
  try {
    const told = await client.enqueue(
      'quick',
      { kind: 'quick', half, ask: request },
      { id, delay: `${delay}ms`, ...way },
    );
    const as = told.created && !told.follows ? 'created' : told.created || told.replaced ? 'accepted' : 'kept';
    seen(`rival told: ${as}`);
    if (as === 'kept') return;
    note('told', { as });
  } catch (error) {
    seen(`rival told: ${whatIs(error)}`);
  }
}

async function cancel(
  { process, recorder, queue, seen }: ProducerPorts,
  operator: TaskOperator,
  id: string,
): Promise<void> {
  const row = taskRow({ queue, id });
  recorder.emit({ kind: 'acknowledged', at: process.now, process: process.name, what: 'asked', row });
  try {
    seen(`rival cancelled: ${(await operator.cancel(id)).kind}`);
  } catch (error) {
    seen(`rival cancelled: ${whatIs(error)}`);
  }
}

function whatIs(error: unknown): string {
  if (error instanceof MismatchError) return 'other work';
  if (error instanceof StoreUnavailableError) return error.applied === 'unknown' ? 'undecided' : 'nothing';
  throw error;
}
