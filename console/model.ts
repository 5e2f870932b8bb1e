/** The server's JSON for the page: the library's records as they are, and the console's own figures. */
import type { AuditRecord } from '../shared/operate/audit/audit-store.ts';
import type { LockInfo } from '../shared/coordination/lock/lock-record.ts';
import type { SemaphoreState } from '../shared/coordination/semaphore/state.ts';
import type { InvalidationReason, SessionRecord } from '../shared/session/session-record.ts';
import type { LeftOutOccurrence, ScheduleDefinition } from '../shared/tasks/schedule/schedule.ts';
import type { Awaited } from '../cli/queue/durable-history.ts';
import type { QueueSummary } from '../cli/queue/queue-summary.ts';
import type { HistoryEvent } from '../shared/tasks/durable/history.ts';
import type { Selection } from '../shared/tasks/queue/cancel-selection.ts';
import type { FailureRecord } from '../shared/tasks/task/task-store.ts';
import type { BatchCounts } from '../shared/tasks/task/batch.ts';
import type { EndedEntry } from '../shared/tasks/task/ended-list.ts';
import type { NameNumbers } from '../shared/tasks/queue/ended-numbers.ts';
import type { Json, TaskKey, TaskRecord, TaskState } from '../shared/tasks/task/task.ts';

/** The connection of the console, and its rights. */
export interface ConnectionInfo {
  readonly table: string;
  /** As given to the console: for commands that do what the page does. */
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
  /** The endpoint or the region. */
  readonly place: string;
  /** The engine is on this machine: reading costs nothing. */
  readonly isLocal: boolean;
  readonly isReadOnly: boolean;
  /** Written down with every act. */
  readonly by: string;
}

/** Counted up to a bound; `isMore`: there are more, and how many is not known. */
export interface Count {
  readonly count: number;
  readonly isMore: boolean;
}

export interface QueueFigures extends Pick<
  QueueSummary,
  'queue' | 'isPaused' | 'pausedTenants' | 'held' | 'due' | 'checked' | 'running' | 'workers'
> {
  /** Time of the poll. */
  readonly at: number;
  /** Why it was paused, or resumed. */
  readonly reason: string | undefined;
  /** Delayed index entries. */
  readonly later: number;
  /** There are more of them than were counted. */
  readonly isMore: boolean;
  /** Null if no task among those read waits. */
  readonly oldestReadyAgeMs: number | null;
  readonly dead: Count;
  /** Deployed workers that the due entries call for; null if no deployed worker has run yet. */
  readonly wanted: number | null;
  /** Mean time of a task in a worker, each counted up to `startWithin`; null if unknown. */
  readonly tookMs: number | null;
  /** Tasks that entered and left the index, per second, in the last 30 seconds: lower bounds. Null after the first poll. */
  readonly flow: { readonly arrived: number; readonly left: number } | null;
}

/** One point of the plots: all queues together. */
export interface Reading {
  readonly at: number;
  readonly backlog: number;
  readonly dead: number;
  readonly workers: number;
  readonly oldestReadyAgeMs: number;
  readonly arrived: number;
  readonly left: number;
  /** Leases lost since the reading before. */
  readonly lost: number;
}

/** A session that ended without its holder's doing. */
export interface LostLease {
  readonly session: string;
  readonly name: string;
  readonly node: string;
  /** When it was invalidated, or expired. */
  readonly at: number;
  /** `expired` also when no contender has needed to end it yet. */
  readonly reason: Exclude<InvalidationReason, 'ended'>;
}

export interface Overview {
  readonly now: number;
  readonly desk: ConnectionInfo;
  readonly queues: readonly QueueFigures[];
  /** Known queues that are polled next. */
  readonly unseen: readonly string[];
  readonly readings: readonly Reading[];
  readonly lost: readonly LostLease[];
  /** As far as this console has seen; `lost` may list fewer. */
  readonly lostInHour: number;
  /** Read units that this console has used, in all and a second lately. */
  readonly units: { readonly total: number; readonly perSecond: number };
}

/** Dead tasks have their own page; done and cancelled ones are in no index. */
export const LISTED_STATES = ['unfinished', 'ready', 'delayed', 'running'] as const;
export type ListedState = (typeof LISTED_STATES)[number];

/** `failed`: dead, or ended after an attempt that failed or whose worker died. */
export const OUTCOMES = ['done', 'dead', 'cancelled', 'failed'] as const;
export type Outcome = (typeof OUTCOMES)[number];

export interface TaskLine extends Pick<
  TaskRecord,
  'id' | 'name' | 'state' | 'priority' | 'attempts' | 'claimedAt' | 'session' | 'tenant' | 'label'
> {
  /** When it is, or was, due; absent once it has ended. */
  readonly readyAt: number | undefined;
  /** It waits for the end of its children, and is due then. */
  readonly waitsForChildren: boolean;
  /** A durable task that waits. */
  readonly isSuspended?: true | undefined;
  readonly finishedAt: number | undefined;
  /** The beginning of it. */
  readonly lastError: string | undefined;
  readonly isCancelling: boolean;
  /** It runs when its turn in its line has come. */
  readonly isInLine: boolean;
}

export interface TaskPage {
  readonly now: number;
  readonly queue: string;
  readonly tasks: readonly TaskLine[];
  /** Cursor of the next page; undefined on the last one. */
  readonly next: string | undefined;
  /** Number of index entries read for it. */
  readonly checked: number;
}

/** Dead tasks that failed alike. */
export interface DeadGroup {
  readonly name: string;
  /** As `faultOf` names it. */
  readonly fault: string;
  readonly count: number;
  readonly firstAt: number;
  readonly lastAt: number;
  /** The latest of them, the latest first. */
  readonly tasks: readonly TaskLine[];
}

export interface DeadPage {
  readonly now: number;
  readonly queue: string;
  readonly groups: readonly DeadGroup[];
  /** Dead tasks that are listed, as far as the list was read. */
  readonly listed: Count;
  /** How many of them were read, and so are in a group. */
  readonly read: number;
  /** About what reading the others costs. */
  readonly unitsLeft: number;
}

export interface FinishedQuery {
  readonly queue: string;
  /** Only tasks whose name begins like this. */
  readonly name: string;
  /** A part of an id, a label or a key. */
  readonly id: string;
  readonly outcome: Outcome | undefined;
}

/** Ended tasks from the list of their queue, if it has one. */
export interface FinishedPage {
  readonly now: number;
  readonly queue: string;
  /** Tasks that ended before may be missing. */
  readonly listedSince: number;
  /** The latest first. */
  readonly entries: readonly EndedEntry[];
  /** Entries that match; `entries` has the latest of them. */
  readonly found: number;
  readonly read: number;
  /** Numbers of each name's tasks in the last hour. */
  readonly cutAt: number | undefined;
  /** How the tasks of each name did in the last hour, as far as that was read. */
  readonly names: readonly NameNumbers[];
  /** Ends in each minute of the last hour, the earliest first. */
  readonly perMinute: readonly number[];
}

export interface ScanPage {
  readonly now: number;
  readonly queue: string;
  /** The latest first. */
  readonly tasks: readonly TaskLine[];
  /** Tasks that match; `tasks` lists the latest of them. */
  readonly found: number;
  readonly units: number;
  /** The units were used up before the end of the table. */
  readonly isCut: boolean;
}

/** Price of a scan of the whole table, by DynamoDB's stated size, which is up to six hours old; null without a stated size. */
export interface ScanPrice {
  readonly units: number | null;
}

/** A name that tasks of a queue have, or a worker has announced, and the fields of the last input seen with it, if that was an object. */
export interface KnownName {
  readonly name: string;
  readonly fields: readonly string[] | undefined;
}

/** The history of a durable execution, and the operations that it waits for. */
export interface DurableView {
  readonly history: readonly HistoryEvent[];
  readonly awaited: readonly Awaited[];
}

export interface TaskView {
  readonly now: number;
  /** Without its journal. */
  readonly task: TaskRecord;
  /** The execution of a durable task that has begun. */
  readonly execution: DurableView | undefined;
  readonly isSuspended?: true | undefined;
  /** The task that waits, or has waited, for this one. */
  readonly parent: TaskKey | undefined;
  /** The ends of the children that it waits, or has waited, for. */
  readonly children: BatchCounts | undefined;
  /** It waits for their end. */
  readonly waitsForChildren: boolean;
  /** Those children, if they were asked for, or cost nothing to find. */
  readonly offspring: ScanPage | undefined;
  /** Price of finding them; null if unknown. */
  readonly scanUnits: number | null;
  /** The failure of its last failed attempt, with the user's frames. */
  readonly failure: FailureRecord | undefined;
  /** Of its attempts, by session, as far as these are kept. */
  readonly workers: Readonly<Record<string, Pick<SessionRecord, 'node' | 'codeVersion'> | undefined>>;
  /** State of a running task's session. */
  readonly holder: SessionLine | undefined;
}

export type SessionStanding = 'live' | 'expired' | 'damaged' | 'ended' | 'lost';

export interface SessionLine extends Pick<SessionRecord, 'id' | 'name' | 'node' | 'createdAt' | 'ttlMs'> {
  readonly standing: SessionStanding;
  /** By its holder's clock, when it was renewed last; null without a TTL. */
  readonly renewedAt: number | null;
  readonly endedAt: number | undefined;
  readonly reason: InvalidationReason | undefined;
  /** As far as the console has read. */
  readonly holds: readonly Holding[];
}

export interface Holding {
  readonly kind: 'task' | 'lock' | 'permit';
  readonly name: string;
  /** For a task. */
  readonly queue?: string;
  readonly leaseCounter: number;
}

export interface SessionPage {
  readonly now: number;
  readonly sessions: readonly SessionLine[];
  /** The directory keeps expired sessions for weeks, so it is read in steps. */
  readonly walk: { readonly seen: number; readonly isComplete: boolean };
}

export interface LockPage {
  readonly now: number;
  readonly locks: readonly LockInfo[];
  readonly isMore: boolean;
}

export interface SemaphorePage {
  readonly now: number;
  readonly semaphores: readonly SemaphoreState[];
  readonly isMore: boolean;
}

/** One occurrence of a schedule: a task's state; `missing`: its time has passed without a task; `next`: still to come. */
export interface OccurrenceLine {
  readonly at: number;
  readonly fate: TaskState | 'missing' | 'next';
  readonly task: string;
  /** The reason why the task is missing, if the schedule's row has it. */
  readonly why?: LeftOutOccurrence['why'];
}

/** Without the input of its tasks, which may be large or private. */
export interface ScheduleLine extends Pick<
  ScheduleDefinition,
  'queue' | 'name' | 'task' | 'cron' | 'zone' | 'missed' | 'overlap'
> {
  /** Since when it is paused; null: it is not. */
  readonly pausedAt: number | null;
  /** Past occurrences without a task that the schedule has not skipped yet. */
  readonly overdue: Count;
  /** The last occurrences, oldest first, and the next one. */
  readonly occurrences: readonly OccurrenceLine[];
}

export interface SchedulePage {
  readonly now: number;
  readonly queues: readonly string[];
  readonly schedules: readonly ScheduleLine[];
  readonly isMore: boolean;
}

export interface AuditPage {
  readonly now: number;
  readonly acts: readonly AuditRecord[];
  readonly isMore: boolean;
}

/** How many unfinished tasks a selection names, among so many of the queue. */
export interface SelectedPage {
  readonly waiting: number;
  readonly running: number;
  /** The queue has more than were checked. */
  readonly isMore: boolean;
}

/** An operator's request: each action with the state that it was decided on. */
export type Act = { readonly reason: string } & (
  | {
      readonly verb: 'task.run-now' | 'task.retry' | 'task.cancel';
      readonly queue: string;
      readonly id: string;
      readonly leaseCounter: number;
    }
  | { readonly verb: 'callback.succeed' | 'callback.fail'; readonly callbackId: string; readonly text: string }
  | {
      readonly verb: 'queue.pause' | 'queue.resume';
      readonly queue: string;
      /** Absent: the queue itself. */
      readonly tenant?: string | undefined;
    }
  | (Selection & { readonly verb: 'queue.cancel'; readonly queue: string })
  | {
      readonly verb: 'schedule.run' | 'schedule.pause' | 'schedule.resume';
      readonly queue: string;
      readonly name: string;
    }
  | {
      readonly verb: 'queue.retry';
      readonly queue: string;
      /** Only tasks of this name and fault that were dead by then; absent: all dead tasks. */
      readonly name?: string | undefined;
      readonly fault?: string | undefined;
      readonly diedUntil?: number | undefined;
    }
  | {
      readonly verb: 'task.enqueue';
      readonly queue: string;
      readonly name: string;
      readonly input: Json;
      readonly id?: string | undefined;
      readonly delayMs?: number | undefined;
    }
  | (Forced & { readonly verb: 'lock.release'; readonly key: string; readonly leaseCounter: number })
  | (Forced & { readonly verb: 'semaphore.evict'; readonly name: string; readonly leaseCounter: number })
  | (Forced & { readonly verb: 'session.destroy'; readonly id: string })
);

/** Something is taken away from its holder. */
interface Forced {
  /** How long it stays closed, if the operator cannot wait until its holder has stopped for certain. */
  readonly lockDelayMs?: number | undefined;
}

/** `refused`: its object had changed since the operator saw it, so the store did not change. */
export interface ActAnswer {
  readonly kind: 'done' | 'refused';
  readonly message: string;
  /** Id of an added task. */
  readonly id?: string;
}
