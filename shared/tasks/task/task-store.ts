import type { TransactWriteCommandInput } from '@aws-sdk/lib-dynamodb';
import type { Outcome, WriteLimits, Stamp } from '../../core/lease/write.ts';
import type { BatchKey, BatchRecord, NewBatch } from './batch.ts';
import type { Dedup } from './dedup.ts';
import type { Fullness, KeyLimit, KeyState } from './key-limit.ts';
import type { LinePlace } from './line.ts';
import type {
  CancelledTask,
  Cancellation,
  Claim,
  EndedTask,
  Json,
  KeptOptions,
  Priority,
  ReadyTask,
  RunningTask,
  Occurrence,
  TaskError,
  TaskKey,
  TaskLinks,
  TaskRecord,
} from './task.ts';
import type { WriteRefusal } from './control.ts';

export interface NewTask extends TaskKey, Partial<KeptOptions> {
  /** No other caller can name it. For the client only, not stored. */
  readonly hasGeneratedId?: boolean | undefined;
  readonly name: string;
  readonly input: Json;
  readonly priority: Priority;
  readonly runAt: number;
  /** The task is dropped unless it has started by this time. */
  readonly expiresAt?: number | undefined;
  readonly links?: Omit<TaskLinks, 'line'> | undefined;
  /** The key whose tasks run one at a time, in the order in which they are enqueued. */
  readonly line?: string | undefined;
  /** An input that is too large for its row; `input` is null then. */
  readonly payload?: NewPayload | undefined;
  /** The tenant, if the queue is fair between tenants. */
  readonly tenant?: string | undefined;
  /** The occurrence that the task was created for. */
  readonly schedule?: Occurrence | undefined;
  /** The batch that makes the task due. The task is its callback, and its `runAt` is `NEVER`. */
  readonly children?: TaskKey | undefined;
  /** The tasks of one call. If one fails, later ones in its line are not added. For the client only, not stored. */
  readonly list?: object | undefined;
  /** What to do if the id is taken. Default: `reject`. For the client only, not stored. */
  readonly dedup?: Dedup | undefined;
}

/** An entry of the ready index: a hint that a task may be claimable, nothing more. */
export interface ReadyEntry extends TaskKey {
  readonly readyAt: number;
}

/** One partition of the ready index. */
export interface ReadyPartition {
  readonly queue: string;
  readonly priority: Priority;
  readonly shard: number;
}

interface PageQuery {
  readonly limit: number;
  /** Called for entries that lead to rows of other queues, which are left out. */
  readonly onDamaged?: ((error: unknown) => void) | undefined;
}

interface TurnsQuery {
  /** Default: false, at half the price. */
  readonly isConsistent?: boolean;
  /** A turn that this process has itself led to this ticket or further is not read. */
  readonly atLeast?: number;
  /** Damaged rows are reported and left out. */
  readonly onDamaged?: (error: unknown) => void;
}

/**
 * A commit's response has no row, because transactions return none.
 * `canceled`: an effect was refused. A copy of the request may still be applied, until the commit is barred.
 */
export type CommitOutcome =
  | ({ readonly kind: 'applied' } & Followed)
  | Extract<Outcome<never, TaskRecord>, { kind: 'refused' }>
  | CanceledEffects;

export interface CanceledEffects {
  readonly kind: 'canceled';
  readonly reasons: readonly EffectReason[];
}

/** The store's reason for one effect of a canceled commit. Without an effect, the reason is of the row that counts children. */
export interface EffectReason extends WriteRefusal {
  readonly effect: Effect | undefined;
  /** The reason of an action that is refused each time. */
  readonly message?: string | undefined;
}

/** Stamp of a claim's ordered writes. `sequence` grows with each write, from 1, and a late write is refused. */
export type SequencedStamp = Stamp & { readonly sequence: number };

/** `taken`: the task that has the callback's id. */
type BatchOutcome =
  | { readonly kind: 'applied' }
  | (Extract<Outcome<never, BatchRecord>, { kind: 'refused' }> & { readonly taken?: TaskRecord });

/** The row after the operation. Undefined if the caller knows it (`done`), or after a transaction, which returns no row. */
export type Settled = SettledNow | Extract<Outcome<never, TaskRecord>, { kind: 'refused' }>;
type SettledNow = Extract<Outcome<TaskRecord | undefined>, { kind: 'applied' }> & Followed;

interface Followed {
  /** The attempt has ended, and its task continues with the follower that was requested while it ran. */
  readonly isFollowed?: boolean;
  /** The batch that was to count this end, and whose counts do not add up: its waiter may wait forever, or may have begun too early. */
  readonly miscounted?: BatchRecord | undefined;
}

/** `full`: its key is at capacity. */
type ClaimOutcome =
  | Extract<Outcome<RunningTask>, { kind: 'applied' }>
  | (Extract<Outcome<never, TaskRecord>, { kind: 'refused' }> & { readonly full?: Fullness });

/** Stack of a failed attempt. */
export interface FailureRecord {
  /** The stacks of the error and its causes, cut to fit. */
  readonly stack: string;
  /** The attempt's counter. */
  readonly leaseCounter: number;
}

export interface ClaimLimits extends WriteLimits {
  /**
   * Whether a slot of the task's key has just become free. If so, the key's row is not read first, unless the key has a rate. The claim is
   * still guarded, and refused if another worker was faster.
   */
  readonly expectsCapacity?: boolean | undefined;
  /** Whether the caller has seen that the turn of the task in its line has come. Otherwise the line is read first. */
  readonly hasTurn?: boolean | undefined;
}

/** Stores tasks. Every write is conditional; see `tasks/rows/task/task-statements.ts` for the guards. */
export interface TaskStore {
  /** The table's name, which is part of the tasks' sequencers. */
  readonly table: string;

  /** Put-if-absent: refused if the id is taken; the outcome has the existing task. */
  enqueue(task: NewTask, write: Stamp): Promise<Outcome<ReadyTask, TaskRecord>>;
  /**
   * `enqueue` in one transaction with writes of its caller. Refused: none was applied. Canceled: one of them was refused, and no copy of
   * the call is applied later.
   */
  enqueueWith(
    task: NewTask,
    writes: readonly UserWrite[],
    write: Stamp,
  ): Promise<Outcome<ReadyTask, TaskRecord> | CanceledEffects>;

  /** Gives a waiting task another input, time and priority. Refused when it was written since it was observed. */
  replace(observed: ReadyTask, task: NewTask, write: Stamp): Promise<Outcome<TaskRecord>>;
  /**
   * Stores a follower of a running task, which continues with it when its attempt ends. Refused if the attempt or its follower is not as
   * observed.
   */
  follow(observed: RunningTask | ReadyTask, task: NewTask, write: Stamp): Promise<Outcome<undefined, TaskRecord>>;
  /** Stores new work under the id of an ended task, whose counter continues. Refused if the row was written since it was observed. */
  renew(observed: EndedTask, task: NewTask, write: Stamp): Promise<Outcome<TaskRecord>>;

  /** Creates a batch and its callback, before its children: refused if the id of the batch or the callback is taken. */
  createBatch(batch: NewBatch, callback: NewTask | undefined, write: Stamp): Promise<BatchOutcome>;
  /** Strongly consistent. */
  getBatch(key: BatchKey): Promise<BatchRecord | undefined>;

  /**
   * Returns index entries that are due at `now`, and not before `from`, oldest first. A page of foreign entries is empty. Eventually
   * consistent.
   */
  page(
    partition: ReadyPartition,
    query: PageQuery & { readonly now: number; readonly from?: number; readonly after?: unknown },
  ): Promise<{ readonly hints: readonly ReadyEntry[]; readonly next: unknown }>;
  /**
   * Returns entries of tasks of tenants and keys, due or not, by tenant, by key and then by due time. Eventually consistent.
   * Each comes with its position, and the ends of its group's and its tenant's entries: `after` is one of these, or `next`, the last
   * position of a page with a successor. A page of foreign entries is empty.
   */
  pageOfGroups(
    partition: ReadyPartition,
    query: PageQuery & { readonly after: string },
  ): Promise<{
    readonly entries: readonly GroupEntry[];
    readonly next: string | undefined;
  }>;
  /** Eventually consistent, for choosing tasks and counting them. Damaged rows are reported and left out. A missing row is an idle key. */
  getKeys(
    queue: string,
    keys: readonly string[],
    onDamaged?: (error: unknown) => void,
  ): Promise<ReadonlyMap<string, KeyState>>;
  /**
   * Returns the turns of lines: a ticket up to the returned turn has had its turn, or has it. 0 for a line without a row.
   */
  getTurns(queue: string, keys: readonly string[], query?: TurnsQuery): Promise<ReadonlyMap<string, number>>;
  /** Strongly consistent. */
  get(key: TaskKey): Promise<TaskRecord | undefined>;
  /** Returns an input stored in a separate row; undefined if it is gone. Strongly consistent. */
  getPayload(
    task: TaskKey & { readonly payload?: PayloadPlace | undefined },
    limits?: WriteLimits,
  ): Promise<string | undefined>;
  /** Writes an input into a separate row, before the task that names it. @throws StoreUnavailableError, also if it was written */
  putPayload(
    task: Pick<NewTask, 'queue' | 'id' | 'runAt'>,
    payload: Pick<NewPayload, 'text'>,
    nonce: string,
  ): Promise<void>;
  /** Does nothing if the payload is gone. */
  deletePayload(key: TaskKey, payload: PayloadPlace, limits?: WriteLimits): Promise<void>;
  /** Keeps the stack of a failed attempt, for operators; refused if the stack of a later attempt is stored. */
  keepFailure(claim: Claim, stack: string, write: Stamp, limits?: WriteLimits): Promise<Outcome<undefined>>;
  /**
   * Returns the stack of its last failed attempt; undefined if no attempt threw an error, or TTL has deleted the stack. Eventually
   * consistent.
   */
  getFailure(key: TaskKey): Promise<FailureRecord | undefined>;
  /** Eventually consistent: for choosing tasks to claim, never for deciding. Damaged rows are reported and left out. */
  getMany(keys: readonly TaskKey[], onDamaged?: (error: unknown) => void): Promise<readonly TaskRecord[]>;

  /** Refused unless it is ready, due, and was not written since it was observed; if it is in a line, unless its turn has come. */
  claim(observed: ReadyTask, session: string, write: Stamp, limits?: ClaimLimits): Promise<ClaimOutcome>;
  /** Moves a due task to the others of its key, which is full. Refused if it was written since it was observed. */
  join(observed: ReadyTask, write: Stamp, limits?: WriteLimits): Promise<Outcome<undefined, TaskRecord>>;
  /**
   * Passes the turn of a task that was cancelled before its turn, which has come. Refused if another worker was faster, or the task was
   * made ready again.
   */
  passTurn(observed: CancelledTask, write: Stamp, limits?: WriteLimits): Promise<Settled>;
  /** Refused unless it still runs under the observed counter and session, which the caller has found expired. */
  takeOver(
    observed: RunningTask,
    session: string,
    write: Stamp,
    limits?: WriteLimits,
  ): Promise<Outcome<RunningTask, TaskRecord>>;
  /** Marks a task dead if its attempts are used up and its holder's session has expired. Guarded like `takeOver`. */
  markDead(observed: RunningTask, error: TaskError, write: Stamp): Promise<Settled>;

  complete(claim: Claim, result: Json | undefined, write: Stamp, limits?: WriteLimits): Promise<Settled>;
  /** `complete` in one transaction with its effects; `canceled` if one of them was refused. */
  commit(
    claim: Claim,
    result: Json | undefined,
    effects: readonly Effect[],
    write: SequencedStamp,
    limits?: WriteLimits,
  ): Promise<CommitOutcome>;
  /**
   * After a canceled `commit` or `waitForChildren` with the same sequence: from now on no copy of it is applied.
   * Refused if a copy was faster (then the row has its nonce), or if the task was taken over.
   */
  bar(claim: Claim, write: SequencedStamp, limits?: WriteLimits): Promise<Settled>;
  /** Makes the task ready again at `readyAt` and keeps the error. `isRefunded`: the attempt does not count. */
  retry(
    claim: Claim,
    failure: { error: TaskError; readyAt: number; isRefunded?: boolean },
    write: Stamp,
    limits?: WriteLimits,
  ): Promise<Settled>;
  /** Makes the task wait for its children. One transaction creates the children and their batch. The attempt is refunded. */
  waitForChildren(
    claim: Claim,
    batch: string,
    children: readonly NewTask[],
    write: SequencedStamp,
    limits?: WriteLimits,
  ): Promise<CommitOutcome>;
  /** Marks the task dead, and keeps the error. */
  discard(claim: Claim, error: TaskError, write: Stamp, limits?: WriteLimits): Promise<Settled>;
  /** Cancels a running task after its holder has learned of the cancellation request. */
  giveUp(claim: Claim, reason: string, write: Stamp, limits?: WriteLimits): Promise<Settled>;
  /**
   * Cancels a waiting task, or a running one whose session the caller has found expired.
   * Refused if it was claimed, or no longer runs as observed.
   */
  cancel(observed: ReadyTask | RunningTask, cancellation: Cancellation, write: Stamp): Promise<Settled>;
  /** Cancels an expired task that has not started. Refused once it was claimed. */
  expire(observed: ReadyTask, write: Stamp): Promise<Settled>;
  /** Makes the task ready again at once, attempt refunded. */
  release(claim: Claim, write: Stamp, limits?: WriteLimits): Promise<Settled>;
  /** Makes the task ready again at `readyAt`, attempt refunded. */
  snooze(claim: Claim, readyAt: number, write: Stamp, limits?: WriteLimits): Promise<Settled>;
  /** The parts of stores of further rows, such as the journal's. They are only in the bundles that need them. */
  readonly parts: unknown;
  /** Refused if it arrives after a later write. */
  progress(claim: Claim, progress: Json, write: SequencedStamp, limits?: WriteLimits): Promise<Outcome<TaskRecord>>;
}

/** An effect in the transaction that ends a task: a user's write, or a new task. */
export type Effect = UserWrite | { readonly spawn: NewTask };

/** One action of `TransactWriteItems` on the user's tables, in the document form (native values). */
export type UserWrite =
  | {
      readonly Put: Readonly<Record<string, unknown>> & {
        readonly TableName: string;
        readonly Item: Readonly<Record<string, unknown>>;
      };
    }
  | { readonly Update: KeyedWrite }
  | { readonly Delete: KeyedWrite }
  | { readonly ConditionCheck: KeyedWrite }
  // As the document client's `TransactWriteCommand` types it.
  | NonNullable<TransactWriteCommandInput['TransactItems']>[number];

/** The row of a user's update, deletion or condition: its table and its whole key. */
export type KeyedWrite = Readonly<Record<string, unknown>> & {
  readonly TableName: string;
  readonly Key: Readonly<Record<string, unknown>>;
};

/** A payload to be written before its task: see `checkedIn`. */
export interface NewPayload {
  readonly text: string;
  readonly bytes: number;
  readonly digest: string;
  /** Where it is in the user's store, once it is written. */
  readonly reference?: string | undefined;
  /** The nonce of its separate row of the table, once it is written. */
  readonly nonce?: string | undefined;
}

/** Where a payload is. */
export type PayloadPlace = Pick<NewPayload, 'reference' | 'nonce'>;

/** A hint from the index of groups: tasks of tenants, and of keys with a limit. */
export interface GroupHint extends ReadyEntry {
  readonly tenant: string | undefined;
  /** The limit of its key, for a task that stands with the other due tasks of its key. */
  readonly limit: KeyLimit | undefined;
  /** Its place in its line. */
  readonly line?: LinePlace | undefined;
}

export interface GroupEntry {
  readonly hint: GroupHint;
  readonly place: string;
  /** Sorts after all entries of the same tenant, key and limit, or of the same tenant and line. */
  readonly end: string;
  /** Sorts after all entries of the same tenant; for a key without a tenant: after all entries of the key. */
  readonly tenantEnd: string;
}
