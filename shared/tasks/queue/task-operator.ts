/**
 * Operator API of tasks: cancel, retry, reschedule, pause and resume.
 *
 * Every operation first reads the task and then writes on condition that the task is still in the observed state.
 * If the task has changed since then, the operation reads it again, at most a few times.
 * After a write without a response it acts only on the row that it saw: that write may have been applied, and others may have acted since,
 * so the operation would end work that its caller never saw.
 */
import { ConfigurationError, MismatchError, assert, shown } from '../../core/errors.ts';
import { pagesOf } from '../../core/runtime/take.ts';
import { ensureUnwritten, stampOf } from '../../core/lease/write.ts';
import { settleSession } from '../../session/session-contender.ts';
import { DEFAULT_MAX_CLOCK_SKEW_MS } from '../../core/lease/timing.ts';
import { validName, validOptions } from '../../core/validate/options.ts';
import type { BatchRecord } from '../task/batch.ts';
import { NEVER } from '../task/batch.ts';
import type { Contended } from '../../core/wait/retry-contended.ts';
import { contended, retryContended } from '../../core/wait/retry-contended.ts';
import type { CancelAllReport, CancelReport, Plan, Selection } from './cancel-selection.ts';
import { SELECTION, cancelChosen, descendantsOf, selecting } from './cancel-selection.ts';
import type { KeyReport, KeysQuery, RecountReport } from './key-report.ts';
import type { PassReport, TurnReport } from './pass-turn.ts';
import { recountKey, reportKeys } from './key-report.ts';
import { passTurn, reportTurn } from './pass-turn.ts';
import type { ListingQuery } from './listing.ts';
import { openTasks } from './listing.ts';
import type { EndedEntry } from '../task/ended-list.ts';
import type { EndedOptions } from './ended-tasks.ts';
import { endedTasks } from './ended-tasks.ts';
import type { EndedTask } from '../task/task.ts';
import { validPriority } from '../task/task-request.ts';
import type { When } from '../../core/validate/moment.ts';
import { whenMs } from '../../core/validate/moment.ts';
import type { OperatorPorts } from './operator-ports.ts';
import type { QueueRecord } from '../task/queue-store.ts';
import { queueStanding, tenantChanged } from './queue-change.ts';
import type { Cancellation, Priority, ReadyTask, RunningTask, TaskKey, TaskRecord, TaskState } from '../task/task.ts';
import { DEFAULT_QUEUE, PRIORITIES, REASON_LIMIT_CHARACTERS, describeTask } from '../task/task.ts';

export type RetryReport =
  | { readonly kind: 'retried'; readonly task: TaskRecord }
  /** Only dead or cancelled tasks can be retried. */
  | { readonly kind: 'unfit'; readonly state: TaskState }
  | { readonly kind: 'missing' };

export type RescheduleReport =
  | { readonly kind: 'rescheduled'; readonly task: TaskRecord }
  /** Only waiting tasks can be rescheduled. */
  | { readonly kind: 'unfit'; readonly state: TaskState }
  /** The task waits for its children. Only its last child can make it due; an operator cannot. */
  | { readonly kind: 'waits'; readonly children: BatchRecord }
  | { readonly kind: 'missing' };

export interface QueueOption {
  readonly queue?: string | undefined;
}

export interface TaskOption extends QueueOption {
  /** The task as the operator saw it. If its counter, which every claim raises, is different now, the operation is refused. */
  readonly leaseCounter?: number | undefined;
}

export interface PauseOption extends QueueOption {
  /** Only tasks of this tenant. At most 100 are paused at once. */
  readonly tenant?: string | undefined;
  readonly reason?: string;
}

const TASK_OPTION = ['queue', 'leaseCounter'] as const;

export interface KeyOption extends QueueOption {
  /** Shards of the queue's workers. A larger number that was ever in use, by the queue's row, goes before it. Default: 8. */
  readonly shards?: number | undefined;
}

const KEY_OPTION = ['queue', 'shards'] as const;

/** Operator actions: cancel, retry and reschedule tasks, list dead ones, pause and resume a queue. */
export class TaskOperator {
  readonly #ports: OperatorPorts;
  readonly #queue: string;
  readonly #maxClockSkewMs: number;

  constructor(
    ports: OperatorPorts,
    options: { readonly queue?: string | undefined; readonly maxClockSkewMs?: number | undefined } = {},
  ) {
    this.#ports = ports;
    this.#queue = validName('queue', options.queue ?? DEFAULT_QUEUE);
    this.#maxClockSkewMs = options.maxClockSkewMs ?? DEFAULT_MAX_CLOCK_SKEW_MS;
  }

  /**
   * Ends a task without a result: at once if it waits, through its holder if it runs. With `children`, its children end, too, and
   * theirs; to find them, all unfinished tasks of the queue are listed.
   * @throws MismatchError when it has another counter than the given one
   */
  async cancel(
    id: string,
    options: TaskOption & { readonly reason?: string; readonly children?: boolean } = {},
  ): Promise<CancelReport> {
    validOptions('the options of cancelling a task', options, [...TASK_OPTION, 'reason', 'children']);
    const key = this.#key(id, options);
    const reason = validReason(options.reason ?? 'cancelled by an operator');
    const seen: { task?: TaskRecord } = {};
    const report = await this.#read(key, options, async (task): Promise<CancelReport | Contended> => {
      if (task === undefined) return { kind: 'missing' };
      seen.task = task;
      const cancellation = { at: this.#ports.runtime.clock.now(), reason };
      if (task.state === 'running') return this.#cancelRunning(task, cancellation);
      if (task.state !== 'ready') return { kind: 'ended', state: task.state };
      const outcome = await this.#ports.tasks.cancel(task, cancellation, stampOf(this.#ports.runtime));
      return outcome.kind === 'applied' ? { kind: 'cancelled' } : contended(outcome);
    });
    const { task } = seen;
    if (options.children !== true || task === undefined || !isBeingEnded(report)) return report;
    const children = await this.#cancelChosen({
      queue: key.queue,
      reason,
      keeps: ({ links }) => links?.batch !== undefined || links?.notify !== undefined,
      choose: (tasks) => descendantsOf(task, tasks),
    });
    return { ...report, children };
  }

  /**
   * Cancels all unfinished tasks of a queue with the given tenant, key, name or batch that were created before the call: waiting ones,
   * also for children or in a line, running ones, and their followers. If it is interrupted, call it again.
   * A worker may start one of them during the call: pause the tenant first.
   * @param options `onProgress` receives the number of cancelled tasks
   */
  cancelAll(
    options: KeyOption & Selection & { readonly reason?: string; readonly onProgress?: (cancelled: number) => void },
  ): Promise<CancelAllReport> {
    validOptions('the options of cancelAll', options, [...KEY_OPTION, ...SELECTION, 'reason', 'onProgress']);
    const { shards, onProgress } = options;
    const reason = validReason(options.reason ?? 'cancelled by an operator');
    return this.#cancelChosen({ queue: this.#queueOf(options), reason, shards, onProgress, keeps: selecting(options) });
  }

  #cancelChosen(plan: Omit<Plan, 'maxClockSkewMs' | 'cancel'>): Promise<CancelAllReport> {
    return cancelChosen(this.#ports, {
      ...plan,
      maxClockSkewMs: this.#maxClockSkewMs,
      cancel: (id) => this.cancel(id, { queue: plan.queue, reason: plan.reason }),
    });
  }

  /**
   * Makes a dead or cancelled task ready now, with all its attempts; its history is kept and its counter continues.
   * If the task has waited for children, `task.children` shows how they ended, and the task does not create them again.
   * If some of them have not ended, it waits for them again.
   * @throws MismatchError as `cancel`
   */
  retry(id: string, options: TaskOption = {}): Promise<RetryReport> {
    validOptions('the options of retrying a task', options, TASK_OPTION);
    return this.#read(this.#key(id, options), options, async (task): Promise<RetryReport | Contended> => {
      if (task === undefined) return { kind: 'missing' };
      if (task.state !== 'dead' && task.state !== 'cancelled') return { kind: 'unfit', state: task.state };
      const stamp = stampOf(this.#ports.runtime);
      const outcome = await this.#ports.operations.revive(task, stamp.now, stamp);
      return outcome.kind === 'applied' ? { kind: 'retried', task: outcome.row } : contended(outcome);
    });
  }

  /**
   * Retries the dead tasks of a queue, or only the tasks that `choose` accepts.
   * @returns how many it retried; tasks retried by another caller are not counted
   */
  async retryAll(
    options: QueueOption & { readonly choose?: (task: EndedTask) => boolean; readonly limit?: number } = {},
  ): Promise<number> {
    const known = ['queue', 'choose', 'limit'] as const;
    const { queue, choose = () => true, limit = Infinity } = validOptions('the options of retryAll', options, known);
    if (!(limit >= 1)) throw new ConfigurationError(`limit = ${shown(limit)}: must be 1 or more`);
    if (typeof choose !== 'function') throw new ConfigurationError(`choose = ${shown(choose)}: must be a function`);
    let retried = 0;
    for await (const task of this.dead({ queue })) {
      if (!choose(task)) continue;
      const stamp = stampOf(this.#ports.runtime);
      const outcome = await this.#ports.operations.revive(task, stamp.now, stamp);
      if (outcome.kind === 'applied') retried++;
      else ensureUnwritten(describeTask(task), outcome, standing(outcome.current));
      if (retried >= limit) break;
    }
    return retried;
  }

  /**
   * Lists the ready and running tasks of a queue, with delayed tasks and tasks that wait behind others of their line. Slightly delayed.
   * Costs half a read unit a task.
   */
  open(options: QueueOption & Pick<ListingQuery, 'shards' | 'priorities'>): AsyncGenerator<ReadyTask | RunningTask> {
    validOptions('the options of open', options, ['queue', 'shards', 'priorities']);
    const queue = this.#queueOf(options);
    const { shards, priorities = PRIORITIES } = options;
    return openTasks(this.#ports.tasks, { queue, shards, priorities: priorities.map(validPriority), now: NEVER });
  }

  /** Lists the dead tasks of a queue, in order of death within each part of the list. Slightly delayed. */
  async *dead(options: QueueOption = {}): AsyncGenerator<EndedTask> {
    const queue = this.#queueOf(validOptions('the options of dead', options, ['queue']));
    const { tasks, operations } = this.#ports;
    for await (const { keys } of pagesOf((after) => operations.pageOfDead(queue, after)))
      for (const task of await tasks.getMany(keys)) if (task.state === 'dead') yield task;
  }

  /**
   * Lists the ended tasks of a queue, newest first, from index entries: some 60 for a read unit. Done and cancelled tasks are listed
   * only if the queue lists its finished tasks: see `listFinished` of its workers. An entry appears shortly after its task has ended.
   */
  ended(options: KeyOption & EndedOptions = {}): AsyncGenerator<EndedEntry> {
    validOptions('the options of ended', options, [...KEY_OPTION, 'states', 'since', 'until']);
    return endedTasks(this.#ports, { ...options, queue: this.#queueOf(options) });
  }

  /**
   * Gives a waiting task another priority, another time, or both. The time of a task that waits for its children cannot be changed.
   * @throws MismatchError as `cancel`
   */
  reschedule(
    id: string,
    to: { readonly priority?: Priority; readonly delay?: When },
    options: TaskOption = {},
  ): Promise<RescheduleReport> {
    validOptions('the options of rescheduling a task', options, TASK_OPTION);
    const key = this.#key(id, options);
    validOptions(`rescheduling ${describeTask(key)}: what is to change`, to, ['priority', 'delay']);
    if (to.priority === undefined && to.delay === undefined)
      throw new ConfigurationError(`rescheduling ${describeTask(key)}: pass a priority, a delay, or both`);
    const priority = to.priority === undefined ? undefined : validPriority(to.priority);
    const runAt = to.delay === undefined ? undefined : whenMs('delay', to.delay, this.#ports.runtime.clock.now());
    return this.#read(key, options, async (task): Promise<RescheduleReport | Contended> => {
      if (task === undefined) return { kind: 'missing' };
      if (task.state !== 'ready') return { kind: 'unfit', state: task.state };
      const children = runAt === undefined ? undefined : await this.#openChildren(task);
      if (children !== undefined) return { kind: 'waits', children };
      const target = { priority: priority ?? task.priority, runAt: runAt ?? task.readyAt };
      const outcome = await this.#ports.operations.reschedule(task, target, stampOf(this.#ports.runtime));
      return outcome.kind === 'applied' ? { kind: 'rescheduled', task: outcome.row } : contended(outcome);
    });
  }

  /**
   * Pauses a queue, or the tasks of one tenant in it: within seconds, workers stop claiming them. Running tasks continue to their end, and
   * enqueuing still works. A waiting task of a paused tenant keeps its place in its line.
   * @throws ConfigurationError if 100 tenants of the queue are paused already
   */
  pause(options: PauseOption = {}): Promise<QueueRecord> {
    return this.#change(options, true);
  }

  resume(options: PauseOption = {}): Promise<QueueRecord> {
    return this.#change(options, false);
  }

  /**
   * Shows a key: the count in its row, and its tasks as they are read. The two differ only if rows were deleted, edited or restored.
   * Costs half a read unit or more for each unfinished task of the queue.
   */
  async key(key: string, options: KeyOption = {}): Promise<KeyReport> {
    validOptions('the options of a key', options, KEY_OPTION);
    const [report] = await this.keys([key], options);
    assert(report !== undefined, 'each key has a report');
    return report;
  }

  /** Shows several keys, in one pass over the queue's tasks. */
  keys(
    keys: readonly string[],
    options: KeyOption & Pick<KeysQuery, 'entriesLimit'> = {},
  ): Promise<readonly KeyReport[]> {
    validOptions('the options of keys', options, [...KEY_OPTION, 'entriesLimit']);
    const named = keys.map((key) => validName('key', key));
    return reportKeys(this.#ports, { ...options, queue: this.#queueOf(options), keys: named });
  }

  /**
   * Sets the count of a key to the number of its running tasks, after rows were deleted, edited or restored.
   * A task that starts or ends in the meantime is not lost: the tasks are then read again.
   * @throws StoreUnavailableError if tasks of the key keep starting and ending: pause the queue, and recount then
   * @throws CorruptItemError for a damaged row of the queue, because its task may be one of the key's that run
   */
  recountKey(key: string, options: KeyOption = {}): Promise<RecountReport> {
    validOptions('the options of recounting a key', options, KEY_OPTION);
    const query = { ...options, queue: this.#queueOf(options), key: validName('key', key) };
    return recountKey(this.#ports, query, this.#maxClockSkewMs);
  }

  /**
   * Says which task has the turn in the line of a key. Reads like `passLine`, and changes nothing.
   * @throws CorruptItemError for a damaged row of the queue, because its task may be the one with the turn
   */
  turn(key: string, options: QueueOption = {}): Promise<TurnReport> {
    const queue = this.#queueOf(validOptions('the options of reading a turn', options, ['queue']));
    return reportTurn(this.#ports, queue, validName('key', key));
  }

  /**
   * Passes the turn in the line of a key, if the row of the task that has the turn is gone. Reads the rows of all unfinished tasks of the
   * queue.
   * @throws CorruptItemError for a damaged row of the queue, because its task may be the one with the turn
   */
  passLine(key: string, options: QueueOption = {}): Promise<PassReport> {
    const queue = this.#queueOf(validOptions('the options of passing a line', options, ['queue']));
    return passTurn(this.#ports, queue, validName('key', key));
  }

  async #change(options: PauseOption, isPaused: boolean): Promise<QueueRecord> {
    const queue = this.#queueOf(validOptions('the options of a queue', options, ['queue', 'tenant', 'reason']));
    const tenant = options.tenant === undefined ? undefined : validName('tenant', options.tenant);
    const reason = validReason(options.reason ?? `${isPaused ? 'paused' : 'resumed'} by an operator`);
    return retryContended(`queue ${queue}`, this.#ports.runtime, async () => {
      const observed = await this.#ports.queues.get(queue);
      const to = tenant === undefined ? { isPaused, reason } : tenantChanged(observed, tenant, isPaused);
      const outcome = await this.#ports.queues.change(queue, observed, to, stampOf(this.#ports.runtime));
      if (outcome.kind === 'applied') return outcome.row;
      ensureUnwritten(`queue ${queue}`, outcome, outcome.current && queueStanding(outcome.current));
      return contended();
    });
  }

  /** The batch of the children that the task waits for; undefined if it does not wait for children. */
  async #openChildren({ children, readyAt }: ReadyTask): Promise<BatchRecord | undefined> {
    if (children === undefined || readyAt !== NEVER) return undefined;
    const batch = await this.#ports.tasks.getBatch(children);
    return batch === undefined || batch.pending === 0 ? undefined : batch;
  }

  async #cancelRunning(task: RunningTask, cancellation: Cancellation): Promise<CancelReport | Contended> {
    const { tasks, operations, sessions, runtime } = this.#ports;
    const standing = await settleSession(await sessions.get(task.session), this.#ports, this.#maxClockSkewMs);
    if (standing.kind === 'free' || standing.kind === 'closed') {
      const outcome = await tasks.cancel(task, cancellation, stampOf(runtime));
      return outcome.kind === 'applied' ? { kind: 'cancelled' } : contended(outcome);
    }
    const outcome = await operations.requestCancel(task, cancellation, stampOf(runtime));
    return outcome.kind === 'applied' ? { kind: 'requested', session: task.session } : contended(outcome);
  }

  #read<Report>(
    key: TaskKey,
    { leaseCounter }: TaskOption,
    act: (task: TaskRecord | undefined) => Promise<Report | Contended>,
  ): Promise<Report> {
    let seen: TaskRecord | undefined;
    return retryContended(
      describeTask(key),
      this.#ports.runtime,
      async ({ earlierAttempt }): Promise<Report | Contended> => {
        const task = await this.#ports.tasks.get(key);
        if (task?.nonce !== seen?.nonce) ensureUnwritten(describeTask(key), { earlierAttempt }, standing(task));
        seen = task;
        if (leaseCounter !== undefined && task !== undefined && task.leaseCounter !== leaseCounter)
          throw new MismatchError(
            describeTask(key),
            `${describeTask(key)} has counter ${task.leaseCounter}, not ${leaseCounter}, and is ${task.state}: ` +
              'it has been claimed since; nothing was done, read it again',
          );
        return act(task);
      },
    );
  }

  #key(id: string, options: QueueOption): TaskKey {
    return { queue: this.#queueOf(options), id: validName('task id', id) };
  }

  #queueOf({ queue = this.#queue }: QueueOption): string {
    return validName('queue', queue);
  }
}

function isBeingEnded(report: CancelReport): report is Extract<CancelReport, { kind: 'cancelled' | 'requested' }> {
  return report.kind === 'cancelled' || report.kind === 'requested';
}

function standing(task: TaskRecord | undefined): string {
  if (task === undefined) return 'it is gone';
  const { state, generation, leaseCounter } = task;
  return `it is ${state}, with counter ${leaseCounter}${generation === 0 ? '' : `, as generation ${generation}`}`;
}

function validReason(reason: string): string {
  if (reason.length > REASON_LIMIT_CHARACTERS || !reason.isWellFormed())
    throw new ConfigurationError(
      `the reason has ${reason.length} characters: pass well-formed text of at most ${REASON_LIMIT_CHARACTERS}`,
    );
  return reason;
}
