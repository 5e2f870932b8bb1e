/**
 * The operators' actions: the input of each, its target for the audit,
 * and its implementation. The command line and the console share them;
 * they only parse the input and print the report.
 *
 * Guarantees
 *   - Every operation is recorded before it is done, with the operator's name and reason,
 *     and afterwards with its outcome: `execute` is the only way in.
 *   - It names the state that the operator saw. A task, lock or permit whose counter has changed since then is not affected.
 */
import { defined } from '../core/defined.ts';
import type { AuditStore } from './audit/audit-store.ts';
import type { LockClient } from '../coordination/lock/lock-client.ts';
import { callbackKeyOf } from '../tasks/durable/callback-id.ts';
import type { CallbackFailure, Callbacks } from '../tasks/durable/callbacks.ts';
import { operationOf } from '../tasks/durable/entry.ts';
import type { CancelAllReport } from '../tasks/queue/cancel-selection.ts';
import type { TaskClient } from '../tasks/queue/task-client.ts';
import type { TaskOperator } from '../tasks/queue/task-operator.ts';
import type { Runtime } from '../core/runtime/runtime.ts';
import { faultOf } from '../tasks/queue/fault.ts';
import type { ScheduleClient } from '../tasks/schedule/schedule-client.ts';
import type { ScheduleOptions } from '../tasks/schedule/declaration.ts';
import type { SemaphoreClient } from '../coordination/semaphore/semaphore-client.ts';
import type { SessionClient } from '../session/session-client.ts';
import type { TaskReference } from '../tasks/task/task-request.ts';
import type { Json, TaskKey } from '../tasks/task/task.ts';

interface OperationPorts {
  readonly audit: AuditStore;
  readonly tasks: TaskClient;
  readonly callbacks: Callbacks;
  readonly operator: TaskOperator;
  readonly locks: LockClient;
  readonly semaphores: SemaphoreClient;
  readonly sessions: SessionClient;
  readonly schedules: ScheduleClient;
  readonly runtime: Runtime;
}

/** The operator's name and reason, for the record only: credentials identify the caller, this does not. */
export interface Operator {
  readonly by: string;
  readonly reason: string;
}

interface TaskInput extends TaskKey {
  /** The observed counter. */
  readonly leaseCounter: number | undefined;
}

interface CancelInput extends TaskInput {
  /** Whether the tasks that it waits for end, too. */
  readonly children?: boolean;
}

interface CallbackInput {
  readonly callbackId: string;
}

interface CallbackResultInput extends CallbackInput {
  readonly result?: string;
}

interface CallbackFailureInput extends CallbackInput {
  readonly failure: CallbackFailure;
}

interface Operation<Input, Report> {
  /** The target, as recorded in the audit. */
  readonly target: (input: Input) => string;
  readonly execute: (input: Input, ports: OperationPorts, operator: Operator) => Promise<Report>;
  /** The outcome in a word or two, for the audit. */
  readonly outcome: (report: Report) => string;
}

const OPERATIONS = {
  /** Makes a delayed task due now. */
  'task.run-now': operation({
    target: taskTarget,
    execute: ({ id, queue, leaseCounter }: TaskInput, { operator }) =>
      operator.reschedule(id, { delay: '0s' }, { queue, leaseCounter }),
    outcome: kindOf,
  }),
  /** Makes a dead or cancelled task ready again, with all its attempts. */
  'task.retry': operation({
    target: taskTarget,
    execute: ({ id, queue, leaseCounter }: TaskInput, { operator }) => operator.retry(id, { queue, leaseCounter }),
    outcome: kindOf,
  }),
  'task.cancel': operation({
    target: taskTarget,
    execute: ({ id, queue, leaseCounter, children = false }: CancelInput, { operator }, { reason }) =>
      operator.cancel(id, { queue, leaseCounter, reason, children }),
    outcome: (report) =>
      'children' in report ? `${report.kind}; of its children ${endedText(report.children)}` : report.kind,
  }),
  /** Cancels the unfinished tasks of a queue with the given tenant, key, name or batch. */
  'queue.cancel': operation({
    target: ({ queue, tenant, key, name, batch }: QueueCancelInput) =>
      [`${queue}/*`, ...Object.entries(defined({ tenant, key, name, batch })).map((part) => part.join(' '))].join(' '),
    execute: ({ queue, onProgress, shards, ...selection }: QueueCancelInput, { operator }, { reason }) =>
      operator.cancelAll({ queue, reason, shards, ...defined({ onProgress, ...selection }) }),
    outcome: endedText,
  }),
  'queue.pause': operation({
    target: queueTarget,
    execute: ({ queue, tenant }: PauseInput, { operator }, { reason }) => operator.pause({ queue, tenant, reason }),
    outcome: () => 'paused',
  }),
  'queue.resume': operation({
    target: queueTarget,
    execute: ({ queue, tenant }: PauseInput, { operator }, { reason }) => operator.resume({ queue, tenant, reason }),
    outcome: () => 'resumed',
  }),
  /** Sets the count of a key to the number of its running tasks. */
  'key.recount': operation({
    target: keyTarget,
    execute: ({ queue, key, shards }: KeyInput, { operator }) => operator.recountKey(key, { queue, shards }),
    outcome: ({ before, after }) => (before === after ? `${after} was right` : `${before} → ${after}`),
  }),
  /** Passes the turn in the line of a key whose head is gone. */
  'key.pass': operation({
    target: keyTarget,
    execute: ({ queue, key }: KeyInput, { operator }) => operator.passLine(key, { queue }),
    outcome: kindOf,
  }),
  /** Retries the dead tasks of a queue: all, or the ones that match the filters. */
  'queue.retry': operation({
    target: ({ queue, name, fault }: QueueRetryInput) =>
      [`${queue}/*`, name, fault].filter((part) => part !== undefined).join(' '),
    execute: ({ queue, name, fault, diedUntil, limit }: QueueRetryInput, { operator }) =>
      operator.retryAll({
        queue,
        choose: (task) =>
          (name === undefined || task.name === name) &&
          (fault === undefined || faultOf(task) === fault) &&
          (diedUntil === undefined || task.finishedAt <= diedUntil),
        ...defined({ limit }),
      }),
    outcome: (retried) => `${retried} retried`,
  }),
  /** Adds a task by hand. */
  'task.enqueue': operation({
    target: ({ queue, name, id }: EnqueueInput) => (id === undefined ? `${queue}/ ${name}` : `${queue}/${id} ${name}`),
    execute: ({ queue, name, input, id, delayMs }: EnqueueInput, { tasks }) =>
      tasks.enqueue(name, input, {
        queue,
        ...defined({ id, delay: delayMs === undefined ? undefined : (`${delayMs}ms` as const) }),
      }),
    outcome: ({ id, created }) => `${id} ${created ? 'added' : 'existed already'}`,
  }),
  /** Answers what a durable task waits for. */
  'callback.succeed': operation({
    target: callbackTarget,
    execute: ({ callbackId, result }: CallbackResultInput, { callbacks }) => callbacks.succeed(callbackId, result),
    outcome: (answered) => answered,
  }),
  'callback.fail': operation({
    target: callbackTarget,
    execute: ({ callbackId, failure }: CallbackFailureInput, { callbacks }) => callbacks.fail(callbackId, failure),
    outcome: (answered) => answered,
  }),
  'lock.release': operation({
    target: ({ key, leaseCounter }: LockInput) => `${key} ${leaseCounter}`,
    execute: ({ key, leaseCounter, lockDelay }: LockInput, { locks }, operator) =>
      locks.forceRelease(key, { ...operator, leaseCounter, lockDelay }),
    outcome: kindOf,
  }),
  'semaphore.evict': operation({
    target: ({ name, token }: PermitInput) => `${name} ${token}`,
    execute: ({ name, token, lockDelay }: PermitInput, { semaphores }, operator) =>
      semaphores.evict(name, { ...operator, token, lockDelay }),
    outcome: (permit) => (permit === undefined ? 'gone' : 'evicted'),
  }),
  'semaphore.limit': operation({
    target: ({ name, seen, limit }: LimitInput) => `${name} ${seen} → ${limit}`,
    execute: ({ name, limit }: LimitInput, { semaphores }) => semaphores.setLimit(name, limit),
    outcome: (found) => (found ? 'set' : 'gone'),
  }),
  /** Defining the same schedule again changes nothing. */
  'schedule.define': operation({
    target: scheduleTarget,
    execute: ({ queue, name, task, input, options }: ScheduleDefinitionInput, { schedules }) =>
      schedules.define(name, task, input, { ...options, queue }),
    outcome: () => 'defined',
  }),
  'schedule.remove': operation({
    target: scheduleTarget,
    execute: ({ queue, name }: ScheduleInput, { schedules }) => schedules.remove(name, { queue }),
    outcome: (found) => (found ? 'removed' : 'gone'),
  }),
  /** Creates a task now, by the schedule's overlap policy. */
  'schedule.run': operation({
    target: scheduleTarget,
    execute: ({ queue, name }: ScheduleInput, { schedules }) => schedules.run(name, { queue }),
    outcome: (report) => (report.kind === 'enqueued' ? report.task.id : report.kind),
  }),
  'schedule.pause': operation({
    target: scheduleTarget,
    execute: ({ queue, name }: ScheduleInput, { schedules }) => schedules.pause(name, { queue }),
    outcome: (schedule) => (schedule === undefined ? 'gone' : 'paused'),
  }),
  'schedule.resume': operation({
    target: scheduleTarget,
    execute: ({ queue, name }: ScheduleInput, { schedules }) => schedules.resume(name, { queue }),
    outcome: (schedule) => (schedule === undefined ? 'gone' : 'resumed'),
  }),
  'session.destroy': operation({
    target: ({ id }: SessionInput) => id,
    execute: ({ id, lockDelay }: SessionInput, { sessions }) => sessions.destroy(id, { lockDelay }),
    outcome: kindOf,
  }),
};

interface QueueInput {
  readonly queue: string;
}

interface PauseInput extends QueueInput {
  /** Only its tasks. */
  readonly tenant?: string | undefined;
}

interface KeyInput extends QueueInput {
  readonly key: string;
  readonly shards?: number | undefined;
}

interface QueueRetryInput extends QueueInput {
  /** Only tasks of this definition. */
  readonly name?: string | undefined;
  /** Only tasks that failed like this, as `faultOf` names it. */
  readonly fault?: string | undefined;
  /** Only tasks that died by this time, so that tasks that the operator has not seen are left alone. */
  readonly diedUntil?: number | undefined;
  readonly limit?: number | undefined;
}

interface QueueCancelInput extends QueueInput {
  readonly tenant?: string | undefined;
  readonly key?: string | undefined;
  readonly name?: string | undefined;
  readonly batch?: string | undefined;
  readonly shards?: number | undefined;
  readonly onProgress?: ((cancelled: number) => void) | undefined;
}

interface EnqueueInput extends QueueInput {
  readonly name: string;
  readonly input: Json;
  /** Default: a new id. */
  readonly id?: string | undefined;
  readonly delayMs?: number | undefined;
}

interface ForceInput {
  /** The operator's own choice, in milliseconds. With less than the default, two holders may trust at once. */
  readonly lockDelay?: number | undefined;
}

interface LockInput extends ForceInput {
  readonly key: string;
  /** The counter of the observed tenure. */
  readonly leaseCounter: number;
}

interface PermitInput extends ForceInput {
  readonly name: string;
  readonly token: number;
}

interface LimitInput {
  readonly name: string;
  readonly limit: number | 'declared';
  /** The limit before the change. */
  readonly seen: number;
}

interface ScheduleInput extends QueueInput {
  readonly name: string;
}

interface ScheduleDefinitionInput extends ScheduleInput {
  readonly task: TaskReference<unknown>;
  readonly input: unknown;
  readonly options: Omit<ScheduleOptions, 'queue'>;
}

interface SessionInput extends ForceInput {
  readonly id: string;
}

export type OperationVerb = keyof typeof OPERATIONS;
type InputOf<Verb extends OperationVerb> = Parameters<(typeof OPERATIONS)[Verb]['target']>[0];
type ReportOf<Verb extends OperationVerb> = Awaited<ReturnType<(typeof OPERATIONS)[Verb]['execute']>>;

export class Operations {
  readonly #ports: OperationPorts;

  constructor(ports: OperationPorts) {
    this.#ports = ports;
  }

  /**
   * Records the operation, runs it, and records its outcome, errors included.
   * @throws ConfigurationError without a name or a reason, before any write
   * @throws MismatchError if a task's counter has changed since the operator saw it, before any write
   */
  execute<Verb extends OperationVerb>(verb: Verb, input: InputOf<Verb>, operator: Operator): Promise<ReportOf<Verb>> {
    // The compiler does not track through an index that input and operation belong together.
    const { target, execute, outcome } = OPERATIONS[verb] as unknown as Operation<InputOf<Verb>, ReportOf<Verb>>;
    const entry = { verb, target: target(input), by: operator.by, reason: operator.reason };
    return this.#ports.audit.record(entry, () => execute(input, this.#ports, operator), outcome);
  }
}

function operation<Input, Report>(one: Operation<Input, Report>): Operation<Input, Report> {
  return one;
}

/** Without the secret of the id. */
function callbackTarget({ callbackId }: CallbackInput): string {
  const { queue, id, openKey } = callbackKeyOf(callbackId);
  return `${queue}/${id} ${operationOf(openKey)}`;
}

function taskTarget({ queue, id, leaseCounter }: TaskInput): string {
  return leaseCounter === undefined ? `${queue}/${id}` : `${queue}/${id} ${leaseCounter}`;
}

function scheduleTarget({ queue, name }: ScheduleInput): string {
  return `${queue}/${name}`;
}

function keyTarget({ queue, key }: KeyInput): string {
  return `${queue}/${key}`;
}

function queueTarget({ queue, tenant }: PauseInput): string {
  return tenant === undefined ? queue : `${queue}/* tenant ${tenant}`;
}

function endedText({ cancelled, requested, left }: CancelAllReport): string {
  const more = left === 0 ? '' : `, ${left} were left in the last round`;
  return `${cancelled} cancelled, ${requested} asked to stop${more}`;
}

function kindOf({ kind }: { readonly kind: string }): string {
  return kind;
}
