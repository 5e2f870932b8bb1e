/**
 * LOAD bounds the requests of a process and their charge, so no process sends requests in a loop.
 * In any ten seconds it allows the polls of the schedule, and some reads for each intended write.
 * Beside tasks of a full key it allows four pages a poll, and one read of each of their rows. Retries belong to RETRY.
 *
 * Reads are charged like AWS does: half a unit for a query that finds nothing.
 */
import { MIN_POLL_GAP_MS } from '../../../shared/tasks/picker/tuning.ts';
import { unitsOfWake } from '../bounds.ts';
import { QUEUE_NAME } from '../rows.ts';
import { Recent, WINDOW_MS } from './recent.ts';
import type { Assumptions, Family } from './rule.ts';

const PERMITS = `permits#${QUEUE_NAME}`;
/** Each shortest gap of the schedule allows one poll. */
const GAPS = WINDOW_MS / MIN_POLL_GAP_MS;
/** Pages of a poll that passes full keys. One that reads more rests longer. */
const PAGES_PER_POLL = 4;

/**
 * Maximum index queries in a window: in each gap, the poll of the schedule, and one of a source that had more entries. Beside tasks of a full
 * key, all pages of one poll.
 */
export function queriesIn({ heldBack = 0 }: Pick<Assumptions, 'heldBack'>): number {
  return GAPS * (heldBack > 0 ? PAGES_PER_POLL : 2);
}
/** The cheapest poll, and the cheapest row, cost half a unit. */
const LEAST_UNITS = 1 / 2;
/** The write itself, and reads that belong to it: of the row, of its holder's session, of its key. */
const PER_WRITE = { readUnits: 2, requests: 4 };
/** With lagging reads a claim of an ended row is refused, and its row is read again. */
const PER_WRITE_BEHIND = { readUnits: 3, requests: 5 };

interface Load {
  readonly sent: Recent;
  readonly readUnits: Recent;
  readonly writes: Recent;
  /** Reads of the permits by a waker. */
  readonly wakes: Recent;
  isReported: boolean;
}

export const requests: Family = (assumptions, report, measure) => {
  const { heldBack = 0, readsAreFresh } = assumptions;
  // Each poll of the schedule may find entries. Their rows are one more read.
  const reads = queriesIn(assumptions) + GAPS;
  const perWake = unitsOfWake(assumptions);
  const perWrite = readsAreFresh ? PER_WRITE : PER_WRITE_BEHIND;
  const loads = new Map<string, Load>();
  function loadOf(process: string): Load {
    const load = loads.get(process) ?? {
      sent: new Recent(),
      readUnits: new Recent(),
      writes: new Recent(),
      wakes: new Recent(),
      isReported: false,
    };
    loads.set(process, load);
    return load;
  }

  /** Read units for polls. The window may begin after the permits read of the first wake. */
  function lookUnitsOf(process: string, at: number): number {
    return isWaker(process) ? perWake * (loadOf(process).wakes.sumAt(at) + 1) : LEAST_UNITS * (reads + heldBack);
  }

  function judge(
    process: string,
    at: number,
    [what, sum, looks, perWrite]: readonly [string, number, number, number],
  ): void {
    const load = loadOf(process);
    const writes = load.writes.sumAt(at);
    measure('LOAD', sum, looks + perWrite * writes);
    if (sum <= looks + perWrite * writes || load.isReported) return;
    load.isReported = true;
    report('LOAD', '', `${process} took ${sum} ${what} for ${writes} writes within ${WINDOW_MS / 1_000} s`);
  }

  return {
    on(event) {
      if (event.kind === 'called') loadOf(event.process).writes.add(event.at, 1);
    },
    onSent({ process, at, previous }) {
      // RETRY judges the other attempts.
      if (previous !== undefined) return;
      const sent = loadOf(process).sent.add(at, 1);
      const looks = isWaker(process) ? lookUnitsOf(process, at) / LEAST_UNITS : reads;
      judge(process, at, ['requests', sent, looks, perWrite.requests]);
    },
    onRead({ process, at, readUnits, asked }) {
      // Its lists are as long as the queue.
      if (process.startsWith('operator')) return;
      const load = loadOf(process);
      const sum = load.readUnits.add(at, readUnits);
      if (isWaker(process) && asked === PERMITS) load.wakes.add(at, 1);
      judge(process, at, ['read units', sum, lookUnitsOf(process, at), perWrite.readUnits]);
    },
  };
};

function isWaker(process: string): boolean {
  return process.startsWith('waker');
}
