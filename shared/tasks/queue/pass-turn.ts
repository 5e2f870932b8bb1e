/**
 * Finds lines whose turn belongs to no task, and passes it: the row of the task was deleted by hand, or is missing in a restored table.
 *
 * The line's row has the ticket, and not the id. So the rows of all unfinished tasks of the queue are read, strongly consistent, and none
 * may have the ticket. The indexes are eventually consistent, so the turn must be as before for `SETTLE_MS`, and they must lag by less.
 */
import { defined } from '../../core/defined.ts';
import { ensureUnwritten } from '../../core/lease/write.ts';
import { stampOf } from '../../core/lease/write.ts';
import type { Contended } from '../../core/wait/retry-contended.ts';
import { contended, retryContended } from '../../core/wait/retry-contended.ts';
import type { LineState } from '../task/line.ts';
import { isPausedTenant } from '../task/queue-store.ts';
import type { TaskRecord } from '../task/task.ts';
import { DEFAULT_SHARDS } from '../task/task.ts';
import { NEVER } from '../task/batch.ts';
import type { OperatorPorts } from './operator-ports.ts';
import { SETTLE_MS } from './key-report.ts';
import { openEntries } from './listing.ts';

/** The task that has the turn of a line. */
export type TurnReport =
  /** It passes the turn itself when it ends; if it was cancelled, the next worker passes it. */
  | {
      readonly kind: 'alive';
      readonly head: string;
      readonly state: TaskRecord['state'];
      /** Its tenant, if it is paused: then no worker claims the task, and it holds the line. */
      readonly pausedTenant?: string;
    }
  /** No task waits or runs. */
  | { readonly kind: 'empty' }
  /** The task with this ticket is gone. `next` is absent if no task waits behind it. */
  | { readonly kind: 'lost'; readonly ticket: number; readonly next?: string };

export type PassReport =
  | Exclude<TurnReport, { readonly kind: 'lost' }>
  | { readonly kind: 'passed'; readonly ticket: number; readonly next?: string };

/**
 * Says which task has the turn, and changes nothing.
 * @throws CorruptItemError for a damaged row of the queue, because its task may be the one with the turn
 */
export function reportTurn(ports: OperatorPorts, queue: string, key: string): Promise<TurnReport> {
  return whileItStands(ports, queue, key, async (line, lost) => {
    const now = await ports.operations.getLine(queue, key);
    return now?.turn === line.turn ? lost : contended();
  });
}

/** Passes the turn if no task has it. @throws CorruptItemError like `reportTurn` */
export function passTurn(ports: OperatorPorts, queue: string, key: string): Promise<PassReport> {
  const { operations, runtime } = ports;
  return whileItStands(ports, queue, key, async (observed, lost, to) => {
    const outcome = await operations.passLine(queue, key, { observed, to }, stampOf(runtime));
    if (outcome.kind === 'applied') return { ...lost, kind: 'passed' };
    // Another turn than the one that our caller saw lost may have come since.
    ensureUnwritten(describeLine(queue, key), outcome);
    return contended();
  });
}

type Lost = Extract<TurnReport, { readonly kind: 'lost' }>;

/**
 * @param onLost called if no task has the turn, with the first ticket that one has, or that the next one will have;
 *   reads again if the line has moved
 */
function whileItStands<Report>(
  ports: OperatorPorts,
  queue: string,
  key: string,
  onLost: (line: LineState, lost: Lost, first: number) => Promise<Report | Contended>,
): Promise<Report | Exclude<TurnReport, Lost>> {
  return retryContended<Report | Exclude<TurnReport, Lost>>(describeLine(queue, key), ports.runtime, async () => {
    const line = await ports.operations.getLine(queue, key);
    if (line === undefined || line.turn > line.tail) return { kind: 'empty' };
    await ports.runtime.clock.sleep(SETTLE_MS);
    const record = await ports.queues.get(queue);
    const members = await membersOf(ports, queue, key, record?.shards);
    const head = members.get(line.turn);
    if (head !== undefined) {
      const { id, state, tenant } = head;
      const pausedTenant = state !== 'running' && isPausedTenant(record, tenant) ? tenant : undefined;
      return { kind: 'alive', ...defined({ head: id, state, pausedTenant }) };
    }
    const first = Math.min(line.tail + 1, ...members.keys());
    return onLost(line, { kind: 'lost', ...defined({ ticket: line.turn, next: members.get(first)?.id }) }, first);
  });
}

function describeLine(queue: string, key: string): string {
  return `the line of key ${key} in queue ${queue}`;
}

/** By ticket. */
async function membersOf(
  { tasks, operations }: OperatorPorts,
  queue: string,
  key: string,
  used = 0,
): Promise<ReadonlyMap<number, TaskRecord>> {
  const members = new Map<number, TaskRecord>();
  const shards = Math.max(DEFAULT_SHARDS, used);
  for await (const hints of openEntries(tasks, { queue, shards, now: NEVER }))
    for (const task of await operations.getManyNow(hints, fail)) {
      const { line } = task.links ?? {};
      const stands =
        task.state === 'ready' || task.state === 'running' || (task.state === 'cancelled' && task.isInLine);
      if (line?.key === key && stands) members.set(line.ticket, task);
    }
  return members;
}

function fail(error: unknown): never {
  throw error;
}
