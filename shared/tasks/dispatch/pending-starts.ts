/**
 * `PendingStarts` are the workers of a queue that wakers have started but that hold no permit yet.
 *
 * A start becomes visible when the permits' counter changes. If that takes longer than two seconds, the start may have failed, or the
 * function may load slowly. So the wakers start other workers and wait twice as long for these, up to 10 s.
 * A function that takes 9 s to load thus gets three starts, and not one each second.
 *
 * The note about these starts is in the queue's row, because each shard of the table's stream has its own waker.
 * It is a hint: without it, more workers start.
 */
import type { Heard, StartsNote } from '../task/queue-store.ts';

/** A cold start, and two requests. */
export const SHOWS_WITHIN_MS = 2_000;
export const SHOWS_AT_LAST_MS = 10_000;

export type Starts = Omit<StartsNote, 'nonce'>;

const NONE: Starts = { count: 0, token: 0, untilMs: 0, waitMs: SHOWS_WITHIN_MS, heard: [] };

export class PendingStarts {
  /** The note as it was last read or written. */
  #note: Starts = NONE;

  learn(note: Starts | undefined): void {
    if (note !== undefined) this.#note = note;
  }

  /**
   * @param token the last token of the permits, zero if there is none. If it was read before the note was written, workers that took
   * permits in between count as pending.
   */
  count(token: number, now: number): number {
    const { count, token: before } = this.#note;
    return this.areRecent(now) ? Math.max(0, count - (token - before)) : 0;
  }

  /** Whether workers were started a moment ago, pending or not. If so, more tasks of the same burst may follow. */
  areRecent(now: number): boolean {
    const { untilMs } = this.#note;
    // A writer whose clock is far ahead must not keep others from starting workers.
    return now < untilMs && untilMs <= now + 2 * SHOWS_AT_LAST_MS;
  }

  /** Whether the last start was within this time. */
  wereWithin(ms: number, now: number): boolean {
    const { untilMs, waitMs } = this.#note;
    const at = untilMs - waitMs;
    return now - ms < at && at <= now + SHOWS_AT_LAST_MS;
  }

  /** Returns the tasks that wakers, including this one, have noted since then. */
  heardSince(since: number): readonly Heard[] {
    return this.#note.heard.filter(({ at }) => since < at);
  }

  /** Returns the note to write after `starts` more workers were started, and more tasks were announced. */
  plus(
    starts: number,
    token: number,
    now: number,
    heard: { readonly ids: readonly string[]; readonly since: number },
  ): Starts {
    const { count, token: before, untilMs, waitMs } = this.#note;
    const haveShown = token > before;
    const haveFailed = count > 0 && now >= untilMs && !haveShown;
    const wait = haveShown ? SHOWS_WITHIN_MS : haveFailed ? Math.min(SHOWS_AT_LAST_MS, 2 * waitMs) : waitMs;
    const { ids } = heard;
    const kept = this.#note.heard.filter(({ at }) => heard.since < at && at <= now + SHOWS_AT_LAST_MS);
    return {
      count: this.count(token, now) + starts,
      token,
      // Only starts extend the note's time.
      untilMs: starts > 0 ? now + wait : untilMs,
      waitMs: starts > 0 ? wait : waitMs,
      heard:
        ids.length > 0
          ? [...kept, { at: now, count: ids.length, ids: ids.slice(0, IDS_NOTED) }].slice(-HEARD_KEPT)
          : kept,
    };
  }
}

/** With these two, the queue's row usually stays below a kilobyte, which costs one write unit. */
const HEARD_KEPT = 10;
const IDS_NOTED = 2;
