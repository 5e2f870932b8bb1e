/**
 * What becomes of a request for a task whose id is taken.
 *
 * | policy | it waits | it runs | it has ended |
 * | --- | --- | --- | --- |
 * | `reject` (default) | same input: kept; other: mismatch | the same | the same, until the window is over; then it starts over |
 * | `keep` | kept, whatever the input | kept | kept until the window is over; then it starts over |
 * | `replace` | gets the new input and time | gets it when its attempt ends | starts over |
 * | `debounce` | gets the new input, and waits its delay once more | likewise, and each request puts it off | starts over |
 *
 * An id belongs to one tenant: asked for on behalf of another it is a mismatch, or kept.
 * The window begins with the task's creation; without one, an id stands for one piece of work until its row is swept.
 * What follows a running attempt waits in the task's own row (`follower`), so there is one, with the newest input.
 * The write that ends the attempt, in whatever way, makes it the task's work; a takeover does not, for the attempt goes on elsewhere.
 */
import { isSame } from '../../core/runtime/same.ts';
import type { Json, TaskState } from './task.ts';

export const DUPLICATE_POLICIES = ['reject', 'keep', 'replace', 'debounce'] as const;
export type DuplicatePolicy = (typeof DUPLICATE_POLICIES)[number];

export interface Dedup {
  readonly policy: DuplicatePolicy;
  readonly windowMs: number | undefined;
}

/** The task that has the id, as far as it is compared: what a client that only adds tasks reads of its row. */
export interface TakenTask extends Asked {
  readonly state: TaskState;
  readonly createdAt: number;
  readonly generation: number;
  /** The state of its items, if it is a pack. */
  readonly bulk?: object | undefined;
}

/** What a request asks for, as far as it is compared. */
interface Asked {
  readonly name: string;
  readonly input: Json;
  readonly payload?: { readonly digest: string } | undefined;
  readonly links?: { readonly batch?: string | undefined } | undefined;
  readonly tenant?: string | undefined;
}

type DuplicateVerdict = 'keep' | 'mismatch' | 'replace' | 'follow' | 'renew';

/** Pure. */
export function judgeDuplicate(current: TakenTask, asked: Asked, dedup: Dedup, now: number): DuplicateVerdict {
  if (current.bulk !== undefined) return 'mismatch';
  const { policy, windowMs = Infinity } = dedup;
  const isReplacing = policy === 'replace' || policy === 'debounce';
  if (current.tenant !== asked.tenant) return policy === 'keep' ? 'keep' : 'mismatch';
  if (current.state === 'ready' && isReplacing) return 'replace';
  if (current.state === 'running' && isReplacing) return 'follow';
  const hasEnded = current.state !== 'ready' && current.state !== 'running';
  if (hasEnded && (isReplacing || current.createdAt + windowMs <= now)) return 'renew';
  return policy === 'keep' || isSameWork(current, asked) ? 'keep' : 'mismatch';
}

/** Pure. Whether a request asks for just the task that is there: what `reject` keeps. */
export function isSameWork(current: TakenTask, asked: Asked): boolean {
  // A pack stands for many tasks, none of which this one is.
  if (current.bulk !== undefined || current.tenant !== asked.tenant) return false;
  // A batch counts children of its own only; one that was brought back has been counted.
  const batch = asked.links?.batch;
  if (batch !== undefined && current.links?.batch !== batch && current.generation === 0) return false;
  if (current.payload?.digest !== asked.payload?.digest) return false;
  return current.name === asked.name && isSame(current.input, asked.input);
}
