/**
 * A task: one row, one state, one lease counter.
 *
 *                   claim (ready and due)               complete · commit
 *     enqueue ──▶ ready ────────────────────▶ running ─────────────────────▶ done
 *                  ▲  ▲                        │ │ │
 *                  │  └── release · snooze ────┘ │ └── out of attempts, or told not to retry ──▶ dead
 *                  └───── fail, to retry ────────┘
 *                           running ──▶ running   take over: its session is dead, counter + 1
 *                           ready ──▶ cancelled   by an operator, or because it expired before it was started
 *                           running ──▶ cancelled by its holder, who is told by its next heartbeat; by an operator once its session is dead
 *                           done, dead, cancelled ──▶ ready   revived: attempts 0, generation + 1, the counter goes on
 *
 * Guarantees
 *   - A claim is one conditional write that raises the lease counter; every later verb of that claim names the counter and the session,
 *     so a holder that was taken over can change nothing, and is told so.
 *   - A task leaves `running` only by its holder, or by a take-over once its session is dead. No sweep or rescuer decides.
 *   - `attempts` counts claims, not errors, and `deaths` those of them that no worker lived to end:
 *     a task that kills its workers is dead after few.
 *
 * Does not guarantee
 *   - That task code runs once. It runs at least once; its *effect* is once where it goes through `commit`,
 *     or where the user's store compares the fencing token.
 *
 * Clock: `readyAt` is compared with the claimer's wall clock;
 * being early or late by a clock's error changes when a task runs, never how often.
 */

import type { Json } from '../../core/json.ts';
import type { KeyLimit } from './key-limit.ts';
import type { LinePlace } from './line.ts';

export type { Json } from '../../core/json.ts';

/** Polled from high to low. */
export const PRIORITIES = ['high', 'normal', 'low'] as const;
export type Priority = (typeof PRIORITIES)[number];

/** Where tasks go, and workers look, that are told of no other. */
export const DEFAULT_QUEUE = 'default';
/** Eight partitions take 8,000 index writes a second, and a worker with nothing to do reads eight empty pages. */
export const DEFAULT_SHARDS = 8;
/** More shards than this cost more in empty reads than they give in writes. */
export const MAX_SHARDS = 256;

export interface TaskKey {
  readonly queue: string;
  readonly id: string;
}

export interface TaskError {
  readonly name: string;
  readonly message: string;
  readonly at: number;
}

/** Rows that change in the same transaction as the task as the task does. */
export interface TaskLinks {
  /** The batch that counts its end. */
  readonly batch?: string | undefined;
  /** The key of which it takes a place while it runs. */
  readonly concurrency?: KeyLimit | undefined;
  /** Where it stands in the line of its key, if order matters. */
  readonly line?: LinePlace | undefined;
}

/** What one task has instead of what its definition says. */
export interface TaskPolicy {
  readonly maxAttempts?: number | undefined;
  /** How long one attempt may take. */
  readonly timeoutMs?: number | undefined;
}

/** That it is to end without a result: by an operator, or by the expiry that it was given. */
export interface Cancellation {
  readonly at: number;
  readonly reason: string;
}

/** Other work that was asked for while a task runs: see `dedup.ts`. */
export interface Follower {
  readonly name: string;
  readonly input: Json;
  readonly priority: Priority;
  readonly runAt: number;
  readonly expiresAt: number | undefined;
  readonly links: Pick<TaskLinks, 'concurrency'> | undefined;
  readonly payload: Payload | undefined;
  readonly policy: TaskPolicy | undefined;
  readonly traceparent: string | undefined;
  /** When it was asked for. */
  readonly at: number;
  readonly nonce: string;
}

/** An earlier attempt: what the history keeps of it. One that ended the task is added when the task is redriven, or goes on with its follower. */
export interface PastAttempt {
  readonly leaseCounter: number;
  readonly session: string;
  readonly claimedAt: number | undefined;
  readonly endedAt: number;
  readonly how: 'failed' | 'released' | 'snoozed' | 'died' | 'cancelled' | 'done';
  /** The beginning of what a failed one threw. */
  readonly error: string | undefined;
}

interface TaskFacts extends TaskKey {
  /** Which definition runs it. */
  readonly name: string;
  readonly input: Json;
  readonly priority: Priority;
  readonly createdAt: number;
  /** Number of claims so far, less those handed back in time. */
  readonly attempts: number;
  /** Those of them whose workers died. */
  readonly deaths: number;
  /** When it first failed since it last ended well; absent: it has not. */
  readonly failingSince: number | undefined;
  /** Times in a row that it was handed back at the deadline of its worker without new progress. */
  readonly handBacks: number;
  /** Grows with every claim and never restarts; the fencing token while running. */
  readonly leaseCounter: number;
  readonly nonce: string;
  /** What the last attempts left for the next, if anything. */
  readonly progress: Json | undefined;
  readonly lastError: TaskError | undefined;
  /** Times that it was brought back after it had ended. */
  readonly generation: number;
  /** While running: its holder has been, or will be, told. Once cancelled: why. */
  readonly cancellation: Cancellation | undefined;
  /** The current attempt's session, or the last one's if that ended the task. */
  readonly session: string | undefined;
  readonly claimedAt: number | undefined;
  /** The trace that it was enqueued in, as W3C Trace Context words it. */
  readonly traceparent: string | undefined;
  /** Absent for most tasks, on which nothing hangs. */
  readonly links: TaskLinks | undefined;
  /** Where an input is that is too large for its row; `input` is null then. */
  readonly payload: Payload | undefined;
  /** What its enqueuer asked for instead of its definition's. */
  readonly policy: TaskPolicy | undefined;
  /** Whose it is, where tenants are served in turn. */
  readonly tenant: string | undefined;
  /** The batch of the children that it waits for, or has waited for, by its queue and id. */
  readonly children: TaskKey | undefined;
  /** The attempts before that one, oldest first: the last few. */
  readonly past: readonly PastAttempt[];
  /** The newest request for other work under its id, while it runs: that becomes its work when the attempt ends. */
  readonly follower: Follower | undefined;
  /** What has become of the items of a pack, whose input is a list. */
  readonly bulk: PackState | undefined;
}

export interface ReadyTask extends TaskFacts {
  readonly state: 'ready';
  readonly readyAt: number;
  /** Dropped unless it is started before; absent once it has been. */
  readonly expiresAt: number | undefined;
  /** Others of its line come first: no worker may claim it yet. */
  readonly isHeld: boolean;
  /** It waits for a place of its key, out of workers' sight: see `parking.ts`. */
  readonly isParked: boolean;
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
}

export interface DeadTask extends TaskFacts {
  readonly state: 'dead';
  readonly finishedAt: number;
}

export interface CancelledTask extends TaskFacts {
  readonly state: 'cancelled';
  readonly finishedAt: number;
}

export type TaskRecord = ReadyTask | RunningTask | DoneTask | DeadTask | CancelledTask;
export type TaskState = TaskRecord['state'];

/** A claim as proof: what every verb of its holder is conditional on. */
export interface Claim extends TaskKey {
  readonly session: string;
  readonly leaseCounter: number;
  /** For the history only. */
  readonly claimedAt?: number | undefined;
  readonly tenant?: string | undefined;
  readonly links?: TaskLinks | undefined;
  /** What a release is to write of hand-backs; absent: the row says it already. */
  readonly handBacks?: number | undefined;
}

export function claimOf({ queue, id, session, leaseCounter, claimedAt, tenant, links }: RunningTask): Claim {
  return { queue, id, session, leaseCounter, claimedAt, tenant, links };
}

/** How the session that runs it is told, in its own row, that a claim is to be given up. */
export function revocationOf({ queue, id, leaseCounter }: Pick<Claim, 'queue' | 'id' | 'leaseCounter'>): string {
  return `task ${leaseCounter} ${encodeURIComponent(queue)}/${encodeURIComponent(id)}`;
}

/** How a person reads a key in messages. */
export function describeTask(key: TaskKey): string {
  return `task ${key.id} of queue ${key.queue}`;
}

/** Results, progress and errors ride in a row that is written again, so they are kept small. */
export const INPUT_LIMIT_BYTES = 16 * 1024;
export const RESULT_LIMIT_BYTES = 16 * 1024;
export const PROGRESS_LIMIT_BYTES = 4 * 1024;
export const ERROR_MESSAGE_LIMIT_CHARACTERS = 1_000;
export const REASON_LIMIT_CHARACTERS = 200;
/** Attempts that the history keeps beside the last. Each weighs about a tenth of a write unit. */
export const PAST_ATTEMPTS_KEPT = 4;
export const PAST_ERROR_LIMIT_CHARACTERS = 80;
/** Name of the last error of a task that was buried. */
export const WORKER_DIED = 'WorkerDied';
export type EndedTask = Exclude<TaskRecord, ReadyTask | RunningTask>;
/** What a task's row says of a payload that is elsewhere. */
export interface Payload {
  readonly bytes: number;
  readonly digest: string;
  /** In a store of the user's own; absent: in the row beside the task. */
  readonly reference: string | undefined;
  /** Nonce of the write of that row: a payload is removed only by a write that means this one. */
  readonly nonce: string | undefined;
  /** In the table, in a row of its own under that nonce: the task ran with another input when it was asked for. */
  readonly isApart: boolean;
}

/** What has become of a pack's items, by index. */
export interface PackState {
  readonly done: ReadonlySet<number>;
  /** Tasks of their own by now. */
  readonly moved: ReadonlySet<number>;
  readonly cancelled: ReadonlySet<number>;
  /** What items returned, by index, where the definition keeps it. */
  readonly results: Readonly<Record<string, Json>>;
  /** Number of the claim's last write. */
  readonly sequence: number;
}
