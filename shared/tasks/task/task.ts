/**
 * A task: one row, one state, one lease counter.
 *
 *                   claim (ready and due)               complete · commit
 *     enqueue ──▶ ready ────────────────────▶ running ─────────────────────▶ done
 *                  ▲  ▲                        │ │ │
 *                  │  └── release · snooze ────┘ │ └── out of attempts, or told not to retry ──▶ dead
 *                  └───── fail, to retry ────────┘
 *                           running ──▶ running   take over: its session has expired, counter + 1
 *                           ready ──▶ cancelled   by an operator, or because it expired before it was started
 *                           running ──▶ cancelled by its holder, which learns of it at its next heartbeat;
 *                                                 by an operator once its session has expired
 *                           done, dead, cancelled ──▶ ready   revived: attempts 0, generation + 1, the counter continues
 *
 * Guarantees
 *   - A claim is one conditional write that raises the lease counter; every later operation of that claim names the counter and the
 *     session,
 *     so every write of a holder that was taken over is refused, and the holder learns of it.
 *   - A task leaves `running` only by its holder, or by a take-over once its session has expired. No background job decides.
 *   - `attempts` counts claims, not errors; `deaths` counts claims whose worker crashed:
 *     a task that kills its workers is dead after a few.
 *
 * Does not guarantee
 *   - That task code runs once. It runs at least once; its *effect* is once if it goes through `commit`,
 *     or if the user's store compares the fencing token.
 *
 * Clock: `readyAt` is compared with the claimer's wall clock;
 * a wrong clock changes when a task runs, never how often.
 */

import type { Json } from '../../core/json.ts';
import type { KeyLimit } from './key-limit.ts';
import type { LinePlace } from './line.ts';

export type { Json } from '../../core/json.ts';

/** Polled from high to low. */
export const PRIORITIES = ['high', 'normal', 'low'] as const;
export type Priority = (typeof PRIORITIES)[number];

/** The default queue of clients and workers. */
export const DEFAULT_QUEUE = 'default';
/** Eight partitions take 8,000 index writes a second, and a worker with nothing to do reads eight empty pages. */
export const DEFAULT_SHARDS = 8;
/** Beyond this number, the cost of empty reads exceeds the gain in writes. */
export const MAX_SHARDS = 256;
/** Tasks mostly wait for other services. A worker with ten waiting tasks costs a tenth per task. */
export const DEFAULT_CONCURRENCY = 10;
export const MAX_CONCURRENCY = 1_000;

export interface TaskKey {
  readonly queue: string;
  readonly id: string;
}

export interface TaskError {
  readonly name: string;
  readonly message: string;
  readonly at: number;
}

/** Other rows that change in the same transaction as the task. */
export interface TaskLinks {
  /** The batch that counts its end. */
  readonly batch?: string | undefined;
  /** Its concurrency key: it takes a slot of the key while it runs. */
  readonly concurrency?: KeyLimit | undefined;
  /** Its position in the line of its key, if order matters. */
  readonly line?: LinePlace | undefined;
  /** The durable task that waits for its end. */
  readonly notify?: Notify | undefined;
}

/** Overrides of the definition's policy for one task. */
export interface TaskPolicy {
  readonly maxAttempts?: number | undefined;
  /** How long one attempt may take. */
  readonly timeoutMs?: number | undefined;
}

/** Options of a request that its task keeps as they are. A new one needs no more than `rows/task/attributes.ts`. */
export interface KeptOptions {
  /** The caller's name for it: commands and the console show it and find it. */
  readonly label?: string | undefined;
  /** The trace in which it was enqueued, in the form of W3C Trace Context. */
  readonly traceparent: string | undefined;
  /** Overrides of the definition's policy. */
  readonly policy: TaskPolicy | undefined;
}

/** A request to end a task without a result: by an operator, or by its expiry. */
export interface Cancellation {
  readonly at: number;
  readonly reason: string;
}

/** The occurrence that a task was made for. */
export interface Occurrence {
  /** The schedule's name. */
  readonly name: string;
  readonly at: number;
  /** The latest earlier run with a task. Absent: there was none. */
  readonly since: number | undefined;
}

/** Other work that was requested while a task runs: see `dedup.ts`. */
export interface Follower extends KeptOptions {
  readonly name: string;
  readonly input: Json;
  readonly priority: Priority;
  readonly runAt: number;
  readonly expiresAt: number | undefined;
  readonly links: Pick<TaskLinks, 'concurrency'> | undefined;
  readonly payload: Payload | undefined;
  /** When it was requested. */
  readonly at: number;
  readonly nonce: string;
}

/**
 * An earlier attempt, as the history keeps it. An attempt that ended the task is added when an operator retries it, or continues with its
 * follower.
 */
export interface PastAttempt {
  readonly leaseCounter: number;
  readonly session: string;
  readonly claimedAt: number | undefined;
  readonly endedAt: number;
  readonly how: 'failed' | 'released' | 'snoozed' | 'died' | 'cancelled' | 'done';
  /** The beginning of the error of a failed attempt. */
  readonly error: string | undefined;
}

/** The part of a durable task's journal that is in its row. */
export interface JournalInRow {
  readonly elements: readonly (string | Uint8Array)[];
  /** Name of the newest row with older elements. Each names the one before it. */
  readonly part: string | undefined;
  /** Keys of the operations that wait for something from outside. */
  readonly open: ReadonlySet<string>;
  /** Times of the last heartbeats of callbacks, by operation. */
  readonly beats: Readonly<Record<string, number>>;
}

/** For a child: the durable task whose operation waits for its end. */
export interface Notify extends TaskKey {
  readonly openKey: string;
}

interface TaskFacts extends TaskKey, KeptOptions {
  /** Present if the task is durable and has begun. */
  readonly journal?: JournalInRow | undefined;
  /** Name of the definition that runs it. */
  readonly name: string;
  readonly input: Json;
  readonly priority: Priority;
  readonly createdAt: number;
  /**
   * Name of its work, among all that its id has had: the id, and then `<id>~2`, `<id>~3`. Other work has another one; a retry, a hand-back
   * or a takeover keeps it. Derive the ids of spawned tasks and children from it, and the keys of calls that must not repeat.
   */
  readonly runId: string;
  /** The origin of its work: see `created-by.ts`. Absent: the id was generated. */
  readonly createdBy: string | undefined;
  /** Number of claims so far, without the attempts that were handed back. */
  readonly attempts: number;
  /** Claims whose workers crashed. */
  readonly deaths: number;
  /** First failure since the last attempt that did not fail. Absent: none. */
  readonly failingSince: number | undefined;
  /** Number of consecutive hand-backs at the deadline of its worker without new progress. */
  readonly handBacks: number;
  /** Grows with every claim and never restarts; the fencing token while running. */
  readonly leaseCounter: number;
  readonly nonce: string;
  /** Progress that earlier attempts left for the next, if any. */
  readonly progress: Json | undefined;
  readonly lastError: TaskError | undefined;
  /** How many times it was made ready again after it had ended. */
  readonly generation: number;
  /** While running: the request, which reaches the holder at its next heartbeat. Once cancelled: the reason. */
  readonly cancellation: Cancellation | undefined;
  /** The current attempt's session, or the last one's if that ended the task. */
  readonly session: string | undefined;
  readonly claimedAt: number | undefined;
  /** Absent for most tasks, which have no dependents. */
  readonly links: TaskLinks | undefined;
  /** An input that is too large for its row; `input` is null then. */
  readonly payload: Payload | undefined;
  /** The tenant, if the queue is fair between tenants. */
  readonly tenant: string | undefined;
  /** The schedule's occurrence that it was created for. */
  readonly schedule: Occurrence | undefined;
  /** The batch of the children that it waits for, or has waited for, by its queue and id. */
  readonly children: TaskKey | undefined;
  /** The last few attempts before the current one, oldest first. */
  readonly past: readonly PastAttempt[];
  /** The newest request for other work under its id, made while the task runs. It becomes the task's work when the attempt ends. */
  readonly follower: Follower | undefined;
}

export interface ReadyTask extends TaskFacts {
  readonly state: 'ready';
  readonly readyAt: number;
  /** The task is dropped unless it has started by this time. Absent once it has started. */
  readonly expiresAt: number | undefined;
  /** Whether it is indexed in its key's group, so that workers skip it while the key is full: see `group-walk.ts`. */
  readonly isInGroup: boolean;
}

export interface RunningTask extends TaskFacts {
  readonly state: 'running';
  readonly session: string;
  readonly claimedAt: number;
  readonly readyAt: number;
}

export interface DoneTask extends TaskFacts {
  readonly state: 'done';
  readonly session: string;
  readonly finishedAt: number;
  readonly result: Json | undefined;
  /** The spawned tasks of its commit: how many, and the first ten. */
  readonly spawned?: { readonly count: number; readonly first: readonly TaskKey[] } | undefined;
}

export interface DeadTask extends TaskFacts {
  readonly state: 'dead';
  readonly finishedAt: number;
}

export interface CancelledTask extends TaskFacts {
  readonly state: 'cancelled';
  readonly finishedAt: number;
  /** Whether it was cancelled before its turn in its line, and has kept its place: the worker that meets it there passes the turn. */
  readonly isInLine: boolean;
}

export type TaskRecord = ReadyTask | RunningTask | DoneTask | DeadTask | CancelledTask;
export type TaskState = TaskRecord['state'];

/** What the write that ends a task knows of it, for its entry in the list of finished tasks. */
export interface EndFacts {
  readonly name?: string | undefined;
  readonly attempts?: number | undefined;
  readonly readyAt?: number | undefined;
  readonly claimedAt?: number | undefined;
  readonly label?: string | undefined;
}

/** A claim as proof: every operation of its holder is conditional on it. */
export interface Claim extends TaskKey, EndFacts {
  readonly priority: Priority;
  readonly session: string;
  readonly leaseCounter: number;
  readonly tenant?: string | undefined;
  readonly links?: TaskLinks | undefined;
  /** The count of hand-backs that a release writes; absent: the row has it already. */
  readonly handBacks?: number | undefined;
}

export function claimOf(task: RunningTask): Claim {
  const { queue, id, priority, session, leaseCounter, claimedAt, tenant, links, name, readyAt, attempts, label } = task;
  const claim = { queue, id, priority, session, leaseCounter, claimedAt, tenant, links, name, readyAt, attempts };
  return label === undefined ? claim : { ...claim, label };
}

/** The entry in a session's own row that tells the session to give up a claim. */
export function revocationOf({ queue, id, leaseCounter }: Pick<Claim, 'queue' | 'id' | 'leaseCounter'>): string {
  return `task ${leaseCounter} ${encodeURIComponent(queue)}/${encodeURIComponent(id)}`;
}

/** @param work the number of the work, from 1 */
export function runIdOf(id: string, work: number): string {
  return work === 1 ? id : `${id}~${work}`;
}

/** Returns the form of a task's key in messages. */
export function describeTask(key: TaskKey): string {
  return `task ${key.id} of queue ${key.queue}`;
}

/** Results, progress and errors are in a row that is written repeatedly, so they must be small. */
export const INPUT_LIMIT_BYTES = 16 * 1024;
export const RESULT_LIMIT_BYTES = 16 * 1024;
export const PROGRESS_LIMIT_BYTES = 4 * 1024;
export const ERROR_MESSAGE_LIMIT_CHARACTERS = 1_000;
export const REASON_LIMIT_CHARACTERS = 200;
/** Number of attempts that the history keeps in addition to the last one. Each costs about a tenth of a write unit. */
export const PAST_ATTEMPTS_KEPT = 4;
export const PAST_ERROR_LIMIT_CHARACTERS = 80;
/** Name of the last error of a task that died with its worker. */
export const WORKER_DIED = 'WorkerDied';
/** Name of the last error of an attempt whose end the service refused for want of a permission. */
export const NOT_PERMITTED = 'NotPermitted';
export type EndedTask = Exclude<TaskRecord, ReadyTask | RunningTask>;
/** A task row's reference to a payload stored elsewhere. */
export interface Payload {
  readonly bytes: number;
  readonly digest: string;
  /** In the user's own store; absent: in a separate row of the table. */
  readonly reference: string | undefined;
  /** Nonce of the write of that row, which its key has, so that a removal cannot delete another payload. */
  readonly nonce: string | undefined;
}
