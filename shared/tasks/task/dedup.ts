/**
 * Decides about a request for a task whose id is taken.
 *
 * | policy | waiting task | running task | ended task |
 * | --- | --- | --- | --- |
 * | `reject` (default) | same input: kept; other: mismatch | the same | the same until the window is over; then it starts over |
 * | `keep` | kept, whatever the input | kept | kept until the window is over; then it starts over |
 * | `replace` | gets the new input and time | gets them when its attempt ends | starts over |
 * | `debounce` | gets the new input, and waits its delay again, at most `maxWait` from the first request | likewise, and each request postpones it | starts over |
 *
 * A parent that waits for its children counts as running, and so does a durable execution that has recorded something: it goes on with what
 * it has begun.
 * A callback that waits for its batch runs after the children, with its own input, so `replace` and `debounce` are refused.
 * An id belongs to one tenant: a request for another tenant is a mismatch, or keeps the task under `keep`.
 * The same work has the same name, input and tenant, and until it has ended also the same key and order. Its other options (limit, rate,
 * priority, time, timeout, attempts) come from the request that began it, or that last replaced it.
 * The window begins when the task is created; without a window, an id means one piece of work until TTL deletes its row.
 * The request that follows an attempt waits in the task's own row (`follower`), so there is only one, with the newest input.
 * The write that ends the attempt, in whatever way, makes it the task's work; a takeover does not, because the attempt continues elsewhere.
 */
import { isSame } from '../../core/runtime/same.ts';
import { NEVER } from './batch.ts';
import type { Json, TaskRecord, TaskState } from './task.ts';

export const DUPLICATE_POLICIES = ['reject', 'keep', 'replace', 'debounce'] as const;
export type DuplicatePolicy = (typeof DUPLICATE_POLICIES)[number];

export interface Dedup {
  readonly policy: DuplicatePolicy;
  readonly windowMs: number | undefined;
  /** Longest time for which requests postpone the task, from the first of them. Only of `debounce`. */
  readonly maxWaitMs?: number | undefined;
}

/** The compared attributes of the existing task: a client that only adds tasks reads only these. */
export interface TakenTask extends Asked {
  readonly state: TaskState;
  readonly createdAt: number;
  readonly generation: number;
  readonly leaseCounter: number;
  /** The origin of its work: see `created-by.ts`. */
  readonly createdBy?: string | undefined;
  /** Only for a client that gives existing tasks other work. */
  readonly readyAt?: number | undefined;
  readonly children?: object | undefined;
  readonly follower?: object | undefined;
  readonly past?: readonly object[] | undefined;
  readonly journal?: object | undefined;
}

/** The compared attributes of a request. */
interface Asked {
  readonly name: string;
  readonly input: Json;
  readonly payload?: { readonly digest: string } | undefined;
  readonly links?:
    | {
        readonly batch?: string | undefined;
        readonly concurrency?: { readonly key: string } | undefined;
        readonly line?: { readonly key: string } | undefined;
      }
    | undefined;
  /** The key of the line that a request asks for. */
  readonly line?: string | undefined;
  readonly tenant?: string | undefined;
}

/** `waits`: it is the callback of a batch whose children have not ended. */
type DuplicateVerdict = 'keep' | 'mismatch' | 'replace' | 'follow' | 'renew' | 'waits';

/** Pure. */
export function judgeDuplicate(current: TakenTask, asked: Asked, dedup: Dedup, now: number): DuplicateVerdict {
  const { policy, windowMs = Infinity } = dedup;
  const isReplacing = policy === 'replace' || policy === 'debounce';
  if (current.tenant !== asked.tenant) return policy === 'keep' ? 'keep' : 'mismatch';
  if (current.state === 'ready' && isReplacing) return judgeWaiting(current);
  if (current.state === 'running' && isReplacing) return 'follow';
  const hasEnded = current.state !== 'ready' && current.state !== 'running';
  if (hasEnded && (isReplacing || current.createdAt + windowMs <= now)) return 'renew';
  return policy === 'keep' || isSameWork(current, asked) ? 'keep' : 'mismatch';
}

function judgeWaiting({ readyAt, children, follower, past = [], journal }: TakenTask): DuplicateVerdict {
  if (follower !== undefined || journal !== undefined) return 'follow';
  if (children === undefined || readyAt !== NEVER) return 'replace';
  // A parent has an attempt that asked to wait.
  return past.length === 0 ? 'waits' : 'follow';
}

/**
 * Pure. Returns when debounced work becomes due. The first request is the one that created the waiting work, or the first that follows an
 * attempt; if an attempt has failed since, its end counts, because nothing tells which requests came after it.
 */
export function debouncedTo(
  current: Pick<TaskRecord, 'createdAt' | 'past' | 'follower'>,
  { runAt, dedup }: { readonly runAt: number; readonly dedup?: Dedup | undefined },
  { isFollowing, now }: { readonly isFollowing: boolean; readonly now: number },
): number {
  const { maxWaitMs = Infinity } = dedup ?? {};
  const { createdAt, past, follower } = current;
  const first = isFollowing ? (follower?.at ?? now) : Math.max(createdAt, past.at(-1)?.endedAt ?? 0);
  return Math.min(runAt, first + maxWaitMs);
}

/** Pure. Whether a request is for exactly the existing task. If so, `reject` keeps it. */
export function isSameWork(current: TakenTask, asked: Asked): boolean {
  return differenceOf(current, asked) === undefined;
}

/** Pure. Returns what the existing task has and the request does not ask for; undefined if it is the same work. */
export function differenceOf(current: TakenTask, asked: Asked): string | undefined {
  if (current.name !== asked.name) return `another name, ${current.name}`;
  if (current.tenant !== asked.tenant) return other('tenant', current.tenant);
  // A batch counts only its own children. A retried task has already been counted.
  const batch = asked.links?.batch;
  if (batch !== undefined && current.links?.batch !== batch && current.generation === 0)
    return other('batch', current.links?.batch);
  if (current.state === 'ready' || current.state === 'running') {
    const [key, line] = [keyOf(current), lineOf(current)];
    if (key !== keyOf(asked)) return other('key', key);
    if (line !== lineOf(asked)) return line === undefined ? 'no order (ordered: false)' : 'an order (ordered: true)';
  }
  const isSameInput = current.payload?.digest === asked.payload?.digest && isSame(current.input, asked.input);
  return isSameInput ? undefined : 'other input';
}

function other(what: string, current: string | undefined): string {
  return current === undefined ? `no ${what}` : `another ${what}, ${current}`;
}

function lineOf({ line, links }: Asked): string | undefined {
  return line ?? links?.line?.key;
}

function keyOf(asked: Asked): string | undefined {
  return lineOf(asked) ?? asked.links?.concurrency?.key;
}
