/**
 * LOAD bounds the requests of a process and their charge: in any ten seconds at most the polls that the schedule allows,
 * one read of each row that a full key holds back, with all pages of such a poll, and some reads for each intended write. So no process requests in a loop.
 * Retries are RETRY's.
 *
 * Reads are charged like AWS does: half a unit for a query that finds nothing.
 */
import { MIN_POLL_GAP_MS, PAGES_PER_POLL } from '../../../shared/tasks/picker/tuning.ts';
import { QUEUE_NAME } from '../rows.ts';
import { Recent, WINDOW_MS } from './recent.ts';
import type { Family } from './rule.ts';

const PERMITS = `permits#${QUEUE_NAME}`;
/** Polls in a window: the schedule's shortest gap allows one, and one of a source that had more entries. */
export const POLLS = (2 * WINDOW_MS) / MIN_POLL_GAP_MS;
/** The cheapest poll, and the cheapest row, cost half a unit. */
const LEAST_UNITS = 1 / 2;
/**
 * A wake begins with a read of the permits, and restarts with another one if the waker of another shard was faster.
 * Then follow at most: half a unit for each of six lanes in six shards (four, one beyond, one of all possible lanes), 18 in total;
 * half a unit for each row of two samples of 25, 25 in total; four for the queue's row and the workers' sessions; and some for pages of
 * more entries.
 */
const UNITS_OF_WAKE = 50;
/** The write itself, and reads that belong to it: of the row, of its holder's session, of its key, and a share of a page. */
const PER_WRITE = { readUnits: 3, requests: 4 };

interface Load {
  readonly sent: Recent;
  readonly readUnits: Recent;
  readonly writes: Recent;
  /** Reads of the permits by a waker. */
  readonly wakes: Recent;
  isReported: boolean;
}

export const requests: Family = ({ heldBack = 0 }, report) => {
  const queries = heldBack > 0 ? POLLS * PAGES_PER_POLL : POLLS;
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
    return isWaker(process)
      ? UNITS_OF_WAKE * (loadOf(process).wakes.sumAt(at) + 1)
      : LEAST_UNITS * (queries + heldBack);
  }

  function judge(
    process: string,
    at: number,
    [what, sum, looks, perWrite]: readonly [string, number, number, number],
  ): void {
    const load = loadOf(process);
    if (sum <= looks || load.isReported) return;
    const writes = load.writes.sumAt(at);
    if (sum <= looks + perWrite * writes) return;
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
      const looks = isWaker(process) ? lookUnitsOf(process, at) / LEAST_UNITS : queries;
      judge(process, at, ['requests', sent, looks, PER_WRITE.requests]);
    },
    onRead({ process, at, readUnits, asked }) {
      // Its lists are as long as the queue.
      if (process.startsWith('operator')) return;
      const load = loadOf(process);
      const sum = load.readUnits.add(at, readUnits);
      if (isWaker(process) && asked === PERMITS) load.wakes.add(at, 1);
      judge(process, at, ['read units', sum, lookUnitsOf(process, at), PER_WRITE.readUnits]);
    },
  };
};

function isWaker(process: string): boolean {
  return process.startsWith('waker');
}
