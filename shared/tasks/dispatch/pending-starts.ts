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
  #note: StartsNote | undefined;

  /** As it was last read or written; undefined: not yet. */
  get note(): StartsNote | undefined {
    return this.#note;
  }

  learn(note: StartsNote | undefined): void {
    if (note !== undefined) this.#note = note;
  }

  /**
   * @param token the last token of the permits, zero if there is none. If it was read before the note was written, workers that took
   * permits in between count as pending.
   */
  count(token: number, now: number): number {
    const { count, token: before } = this.#known;
    return this.areRecent(now) ? Math.max(0, count - (token - before)) : 0;
  }

  /** Whether workers were started a moment ago, pending or not. If so, more tasks of the same burst may follow. */
  areRecent(now: number): boolean {
    const { untilMs } = this.#known;
    // A writer whose clock is far ahead must not keep others from starting workers.
    return now < untilMs && untilMs <= now + 2 * SHOWS_AT_LAST_MS;
  }

  /** Whether the last start was within this time. */
  wereWithin(ms: number, now: number): boolean {
    const { untilMs, waitMs } = this.#known;
    const at = untilMs - waitMs;
    return now - ms < at && at <= now + SHOWS_AT_LAST_MS;
  }

  /** Returns the tasks that wakers, including this one, have noted since then. */
  heardSince(since: number): readonly Heard[] {
    return this.#known.heard.filter(({ at }) => since < at);
  }

  /** Whether so few tasks have come recently, with `more` of them now, that the note can name them all. */
  comeOneByOne(more: number, now: number): boolean {
    return more <= IDS_NOTED && this.heardSince(now - FEW_WITHIN_MS).length < HEARD_KEPT;
  }

  /** Returns the note to write after `starts` more workers were started, and more tasks were announced. */
  plus(starts: number, token: number, now: number, ids: readonly string[]): Starts {
    const { count, token: before, untilMs, waitMs } = this.#known;
    const haveShown = token > before;
    const haveFailed = count > 0 && now >= untilMs && !haveShown;
    const wait = haveShown ? SHOWS_WITHIN_MS : haveFailed ? Math.min(SHOWS_AT_LAST_MS, 2 * waitMs) : waitMs;
    const kept = this.heardSince(now - HEARD_MS).filter(({ at }) => at <= now + SHOWS_AT_LAST_MS);
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

  get #known(): Starts {
    return this.#note ?? NONE;
  }
}

/** With these, the queue's row usually stays below a kilobyte, which costs one write unit. */
const HEARD_KEPT = 10;
const IDS_NOTED = 2;
const HEARD_MS = 6_000;
/** Workers read the note several times in this time, so it must name all tasks that come in it. */
const FEW_WITHIN_MS = 2_000;
