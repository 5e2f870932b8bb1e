/**
 * Cancels the unfinished tasks of a queue that a selection names, or the descendants of one task.
 *
 * The queue is listed in rounds, until a round finds none that was created before the call and that nobody has asked to stop. So a call that
 * was interrupted is repeated as it is.
 *
 * In each round, tasks that wait for others come first, because the end of the last child would start them, and the tasks of a line come
 * from its end, because each would start the next. Workers may still start one in between: who wants none to start pauses the tenant first.
 * A running task is asked to stop, at its holder's next heartbeat. If other work follows it, the rounds continue until that is cancelled.
 */
import { ConfigurationError } from '../../core/errors.ts';
import { allOf } from '../../core/runtime/all-of.ts';
import { inFlight } from '../../core/runtime/in-flight.ts';
import { ensureUnwritten, stampOf } from '../../core/lease/write.ts';
import { validName, validWholeNumber } from '../../core/validate/options.ts';
import { NEVER } from '../task/batch.ts';
import type { ReadyTask, RunningTask, TaskRecord, TaskState } from '../task/task.ts';
import { DEFAULT_SHARDS, MAX_SHARDS, describeTask } from '../task/task.ts';
import { openTasks } from './listing.ts';
import type { OperatorPorts } from './operator-ports.ts';

/** Unfinished tasks that have all that is given. */
export interface Selection {
  readonly tenant?: string;
  readonly key?: string;
  /** Name of the definition. */
  readonly name?: string;
  /** The children of a batch, without its callback. */
  readonly batch?: string;
}

export const SELECTION = ['tenant', 'key', 'name', 'batch'] as const;

export interface CancelAllReport {
  readonly cancelled: number;
  /** Running tasks whose holders were asked to stop them. */
  readonly requested: number;
  /** Tasks that the last round still found. If there are any, call it again. */
  readonly left: number;
}

/**
 * `cancelled`  the task had not started, or its holder's session had expired: it will not run.
 * `requested`  it runs: its holder learns of the request at its next heartbeat, and stops it unless it completes first.
 * `ended`      it had already ended, and stays as it is.
 */
export type CancelReport =
  | { readonly kind: 'cancelled'; readonly children?: CancelAllReport }
  | { readonly kind: 'requested'; readonly session: string; readonly children?: CancelAllReport }
  | { readonly kind: 'ended'; readonly state: TaskState }
  | { readonly kind: 'missing' };

export type Unfinished = ReadyTask | RunningTask;

export interface Plan {
  readonly queue: string;
  readonly reason: string;
  readonly shards?: number | undefined;
  readonly onProgress?: ((cancelled: number) => void) | undefined;
  readonly maxClockSkewMs: number;
  /** Pure: whether it may be one of them. */
  readonly keeps: (task: Unfinished) => boolean;
  /** Pure: those to cancel among those kept. Default: all. */
  readonly choose?: (tasks: readonly Unfinished[]) => readonly Unfinished[];
  /** Cancels a task that has changed since it was listed, or that runs. */
  readonly cancel: (id: string) => Promise<CancelReport>;
}

const CANCELS_IN_FLIGHT = 32;
/** For work that follows a running task, until its holder's heartbeat; then an index that lags. */
const ROUNDS = { atMost: 40, pauseMs: 1_000 };

/** Pure. @throws ConfigurationError for a selection of everything */
export function selecting(given: Selection): (task: Unfinished) => boolean {
  const wanted = SELECTION.filter((part) => given[part] !== undefined);
  if (wanted.length === 0)
    throw new ConfigurationError(`nothing is selected: pass one or more of ${SELECTION.join(', ')}`);
  for (const part of wanted) validName(part, given[part] ?? '');
  return (task) => wanted.every((part) => partsOf(task)[part] === given[part]);
}

function partsOf({ tenant, name, links }: Unfinished): Readonly<Record<keyof Selection, string | undefined>> {
  return { tenant, name, key: links?.line?.key ?? links?.concurrency?.key, batch: links?.batch };
}

/** Pure. Returns the descendants of a task among some: the children that it waits for, and theirs. */
export function descendantsOf(
  parent: Pick<TaskRecord, 'id' | 'children'>,
  tasks: readonly Unfinished[],
): readonly Unfinished[] {
  const found = new Set<Unfinished>();
  const parents: Pick<TaskRecord, 'id' | 'children'>[] = [parent];
  for (const { id, children } of parents)
    for (const task of tasks) {
      const { batch, notify } = task.links ?? {};
      const isChild = (batch !== undefined && batch === children?.id) || notify?.id === id;
      if (!isChild || found.has(task)) continue;
      found.add(task);
      parents.push(task);
    }
  return [...found];
}

export async function cancelChosen(ports: OperatorPorts, plan: Plan): Promise<CancelAllReport> {
  const { runtime, tasks } = ports;
  const { queue, keeps, choose = (open: readonly Unfinished[]) => open, onProgress } = plan;
  const given = validWholeNumber('shards', plan.shards ?? DEFAULT_SHARDS, { min: 1, max: MAX_SHARDS });
  const shards = Math.max(given, (await ports.queues.glance(queue))?.shards ?? 0);
  const createdUntil = runtime.clock.now() + plan.maxClockSkewMs;
  const run = inFlight(CANCELS_IN_FLIGHT);
  const counts = { cancelled: 0, requested: 0, left: 0 };
  const end = (ending: readonly Unfinished[]): Promise<unknown> =>
    allOf(
      ending.map((task) =>
        run(async () => {
          const kind = await cancelOne(ports, plan, task);
          if (kind === 'requested') counts.requested++;
          if (kind !== 'cancelled') return;
          counts.cancelled++;
          onProgress?.(counts.cancelled);
        }),
      ),
    );
  for (let round = 1; round <= ROUNDS.atMost; round++) {
    const open: Unfinished[] = [];
    for await (const task of openTasks(tasks, { queue, shards, now: NEVER }))
      if (keeps(task) && task.createdAt <= createdUntil) open.push(task);
    const chosen = choose(open);
    const fresh = chosen.filter(({ state, cancellation }) => state === 'ready' || cancellation === undefined);
    await end(fresh.filter(isWaiting));
    await end(fresh.filter((task) => !isWaiting(task)).sort((a, b) => ticketOf(b) - ticketOf(a)));
    const followed = chosen.filter(({ state, follower }) => state === 'running' && follower !== undefined);
    counts.left = new Set([...fresh, ...followed]).size;
    if (counts.left === 0) break;
    if (followed.length > 0) await runtime.clock.sleep(ROUNDS.pauseMs);
  }
  return counts;
}

/** A waiting task was read just now. If it has changed since, it is read again. */
async function cancelOne(
  { tasks, runtime }: OperatorPorts,
  { reason, cancel }: Plan,
  task: Unfinished,
): Promise<CancelReport['kind']> {
  if (task.state === 'ready') {
    const outcome = await tasks.cancel(task, { at: runtime.clock.now(), reason }, stampOf(runtime));
    if (outcome.kind === 'applied') return 'cancelled';
    ensureUnwritten(describeTask(task), outcome, outcome.current && `it is ${outcome.current.state}`);
  }
  return (await cancel(task.id)).kind;
}

function isWaiting({ state, children, journal }: Unfinished): boolean {
  return state === 'ready' && (children !== undefined || journal !== undefined);
}

function ticketOf({ links }: Unfinished): number {
  return links?.line?.ticket ?? 0;
}
