/**
 * The one virtual timeline of a simulation: true time, which no process can read.
 *
 * Events run in the order of their time, and of their making where that is equal.
 * A *step* is one event taken off the queue and run; cancelled ones do not count.
 * An event that hands control to code under test ends the turn: the next event runs only when every microtask it set off has run.
 *
 * That drain is real, not a guessed number of hops: each turn is one `setImmediate` callback, and Node empties the microtask queue
 * between two of them. Queuing them in batches saves the rest of the event loop (measured: 8 million turns a second, 0.9 one by one).
 */
import { setImmediate } from 'node:timers';

export interface TimelineEvent {
  readonly at: number;
  readonly sequence: number;
  /** Undefined once run or cancelled. */
  run: (() => void) | undefined;
}

const TURNS_PER_BATCH = 256;
/** Bound on the events of one turn that wake no process, so that `isOver` is asked in a world where all sleep. */
const EVENTS_PER_TURN = 64;

export class Timeline {
  /** Milliseconds since the start of the history. */
  now = 0;
  /** Events run. */
  steps = 0;
  /** Turns that ended in a drain. */
  turns = 0;
  readonly #queue: TimelineEvent[] = [];
  #sequence = 0;
  #woke = false;

  /** Runs `run` at `at`, or now if that is past. */
  at(at: number, run: () => void): TimelineEvent {
    const event: TimelineEvent = { at: at > this.now ? at : this.now, sequence: this.#sequence++, run };
    push(this.#queue, event);
    return event;
  }

  after(ms: number, run: () => void): TimelineEvent {
    return this.at(this.now + ms, run);
  }

  cancel(event: TimelineEvent): void {
    event.run = undefined;
  }

  /** Moves all future events further into the future, as if no time had passed. */
  leap(ms: number): void {
    this.now += ms;
    const queued = this.#queue.splice(0);
    for (const { at, run } of queued) if (run !== undefined) this.at(at + ms, run);
  }

  /** To be called by code that resolves a promise that code under test waits for: the turn ends after this event. */
  wake(): void {
    this.#woke = true;
  }

  /**
   * Runs events until `isOver` returns true, checked between turns, or until no event is left.
   * @throws any error of an event
   */
  run(isOver: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      let left = 0;
      let ended = false;
      const turn = (): void => {
        left--;
        if (ended) return;
        try {
          // Work triggered before the run is drained first.
          ended = isOver() || !this.#turn();
        } catch (error) {
          ended = true;
          reject(error instanceof Error ? error : new Error(String(error)));
          return;
        }
        if (ended) resolve();
        else if (left === 0) queue();
      };
      const queue = (): void => {
        left = TURNS_PER_BATCH;
        for (let index = 0; index < TURNS_PER_BATCH; index++) setImmediate(turn);
      };
      queue();
    });
  }

  /** Returns whether there was anything to run. */
  #turn(): boolean {
    let ran = false;
    for (let count = 0; count < EVENTS_PER_TURN; count++) {
      const event = pop(this.#queue);
      if (event === undefined) return ran;
      const { run } = event;
      if (run === undefined) continue;
      event.run = undefined;
      ran = true;
      this.now = event.at;
      this.steps++;
      run();
      if (this.#woke) {
        this.#woke = false;
        this.turns++;
        return true;
      }
    }
    return true;
  }
}

/** A binary heap. */
function push(heap: TimelineEvent[], event: TimelineEvent): void {
  let index = heap.length;
  heap.push(event);
  while (index > 0) {
    const parent = (index - 1) >> 1;
    const above = heap[parent] ?? event;
    if (!isBefore(event, above)) break;
    heap[index] = above;
    index = parent;
  }
  heap[index] = event;
}

function pop(heap: TimelineEvent[]): TimelineEvent | undefined {
  const first = heap[0];
  const last = heap.pop();
  if (first === undefined || last === undefined || heap.length === 0) return first;
  let index = 0;
  for (;;) {
    let child = 2 * index + 1;
    if (child >= heap.length) break;
    const left = heap[child] ?? last;
    const right = heap[child + 1];
    if (right !== undefined && isBefore(right, left)) child++;
    const below = heap[child] ?? last;
    if (!isBefore(below, last)) break;
    heap[index] = below;
    index = child;
  }
  heap[index] = last;
  return first;
}

function isBefore(one: TimelineEvent, other: TimelineEvent): boolean {
  return one.at < other.at || (one.at === other.at && one.sequence < other.sequence);
}
