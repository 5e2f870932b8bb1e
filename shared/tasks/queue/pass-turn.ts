/**
 * Passes the turn of a line whose task is gone: its row was deleted by hand, or is missing in a restored table.
 *
 * The line's row has the ticket, and not the id. So the rows of all unfinished tasks of the queue are read, strongly consistent, and none may
 * have the ticket. The indexes are eventually consistent, so the turn must be as before for `SETTLE_MS`, and they must lag by less.
 */
import { stampOf } from '../../core/lease/stamp.ts';
import type { Contended } from '../../core/wait/retry-contended.ts';
import { ACT, contended, retryContended } from '../../core/wait/retry-contended.ts';
import type { TaskRecord } from '../task/task.ts';
import { DEFAULT_SHARDS } from '../task/task.ts';
import { NEVER } from '../task/batch.ts';
import type { OperatorPorts } from './cancel-item.ts';
import { SETTLE_MS } from './key-report.ts';
import { openEntries } from './listing.ts';

export type PassReport =
  /** `next` is absent if no task waits. */
  | { readonly kind: 'passed'; readonly ticket: number; readonly next?: string }
  /** The task with the turn passes it itself when it ends; if it was cancelled, the next worker passes it. */
  | { readonly kind: 'alive'; readonly head: string; readonly state: TaskRecord['state'] }
  /** No task has the turn. */
  | { readonly kind: 'empty' };

/** @throws CorruptItemError for a damaged row of the queue, because its task may be the one with the turn */
export function passTurn(ports: OperatorPorts, queue: string, key: string): Promise<PassReport> {
  const { operations, runtime } = ports;
  return retryContended(`the line of key ${key} in queue ${queue}`, ACT, async (): Promise<PassReport | Contended> => {
    const line = await operations.getLine(queue, key);
    if (line === undefined || line.turn > line.tail) return { kind: 'empty' };
    const { turn: ticket } = line;
    await runtime.clock.sleep(SETTLE_MS);
    const members = await membersOf(ports, queue, key);
    const head = members.get(ticket);
    if (head !== undefined) return { kind: 'alive', head: head.id, state: head.state };
    const outcome = await operations.passLine(queue, key, line, stampOf(runtime));
    if (outcome.kind === 'refused') return contended(outcome);
    const next = members.get(Math.min(...members.keys()))?.id;
    return next === undefined ? { kind: 'passed', ticket } : { kind: 'passed', ticket, next };
  });
}

/** By ticket. */
async function membersOf(
  { tasks, queues, operations }: OperatorPorts,
  queue: string,
  key: string,
): Promise<ReadonlyMap<number, TaskRecord>> {
  const record = await queues.get(queue);
  const members = new Map<number, TaskRecord>();
  const shards = Math.max(DEFAULT_SHARDS, record?.shards ?? 0);
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
