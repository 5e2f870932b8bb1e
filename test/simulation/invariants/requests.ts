/**
 * LOAD bounded requests: in any ten seconds a process sends no more than it needs to look for work and to keep its sessions alive,
 * plus some for each write that it wants; so no process asks in a loop, however long it waits, and retries stay few.
 */
import type { Family } from './rule.ts';

const WINDOW_MS = 10_000;
/**
 * Looks at an empty backlog: every half second at most, all priorities in all shards.
 * The most that was seen beyond the share of writes is 120.
 */
const LOOKS = 400;
/** What an older worker may ask, which passes by a thousand held entries again and again. */
const LOOKS_PAST_FLOOD = 1_500;
/** Attempts of the write itself, and reads that belong to it. */
const PER_WRITE = 6;

interface Load {
  readonly sent: Recent;
  readonly writes: Recent;
  isReported: boolean;
}

export const requests: Family = ({ floodStays = false }, report) => {
  const looks = floodStays ? LOOKS_PAST_FLOOD : LOOKS;
  const loads = new Map<string, Load>();
  function loadOf(process: string): Load {
    const load = loads.get(process) ?? { sent: new Recent(), writes: new Recent(), isReported: false };
    loads.set(process, load);
    return load;
  }

  return {
    on(event) {
      if (event.kind === 'called') loadOf(event.process).writes.add(event.at);
    },
    onSent(event) {
      const load = loadOf(event.process);
      const sent = load.sent.add(event.at);
      if (sent <= looks || load.isReported) return;
      const writes = load.writes.since(event.at);
      if (sent <= looks + PER_WRITE * writes) return;
      load.isReported = true;
      report('LOAD', '', `${event.process} sent ${sent} requests for ${writes} writes within ${WINDOW_MS / 1_000} s`);
    },
  };
};

/** How many there were in the last window. */
class Recent {
  readonly #times: number[] = [];
  #first = 0;

  add(at: number): number {
    this.#times.push(at);
    return this.since(at);
  }

  since(at: number): number {
    while (this.#first < this.#times.length && (this.#times[this.#first] ?? 0) < at - WINDOW_MS) this.#first++;
    return this.#times.length - this.#first;
  }
}
