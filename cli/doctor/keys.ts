/**
 * Checks full keys and lines. If a key's count is above the number of its running tasks, slots are lost. If no task has the turn of a line,
 * its other tasks wait forever.
 */
import { openEntries } from '../../shared/tasks/queue/listing.ts';
import { NEVER } from '../../shared/tasks/task/batch.ts';
import { FirstTickets } from '../../shared/tasks/task/line.ts';
import type { ReadyEntry } from '../../shared/tasks/task/task-store.ts';
import type { Clock } from '../../shared/core/runtime/clock.ts';
import type { QueueConnection } from '../connection.ts';
import { plural } from '../output.ts';
import { shardsInUse } from '../queue/shards.ts';
import type { Finding } from './finding.ts';
import { ok, warning } from './finding.ts';

/** Maximum number of due entries to sort by age. */
const ENTRIES = 2_000;
const ROWS = 200;
const KEYS = 5;
/** Rows of lines to read. */
const LINES = 100;
/** As many as `queues stats` counts. */
const COMPARED = 10_000;

export async function judgeKeys(there: QueueConnection, clock: Pick<Clock, 'now'>): Promise<Finding> {
  return (await judgeLines(there)) ?? judgeCounts(there, clock);
}

/** @returns undefined if no line was found whose turn is lost */
async function judgeLines(there: QueueConnection): Promise<Finding | undefined> {
  const { queue, operator } = there;
  const suspects = await linesBehind(there);
  const reports = await Promise.all(
    suspects.map(async (key) => ({ key, report: await operator.turn(key, { queue }) })),
  );
  const lost = reports.find(({ report }) => report.kind === 'lost');
  if (lost === undefined) return undefined;
  const found = `no task has the turn in the line of key ${lost.key}, and others wait behind it`;
  return warning(`keys in ${queue}`, found, `leasehold keys pass ${lost.key} --queue ${queue}`);
}

/** Lines whose first ticket is above their turn: a parent that waits for children stands elsewhere, or the task with the turn is gone. */
async function linesBehind(there: QueueConnection): Promise<readonly string[]> {
  const { queue, store } = there;
  const firsts = new FirstTickets();
  let entries = 0;
  for await (const page of openEntries(store, { queue, shards: await shardsInUse(there), now: NEVER })) {
    for (const { line } of page) firsts.see(line);
    entries += page.length;
    if (entries >= ENTRIES) break;
  }
  const turns = await store.getTurns(queue, [...firsts.byLine.keys()].slice(0, LINES), { isConsistent: true });
  return [...turns]
    .flatMap(([key, turn]) => (turn > 0 && (firsts.byLine.get(key) ?? 0) > turn ? [key] : []))
    .slice(0, KEYS);
}

async function judgeCounts(there: QueueConnection, clock: Pick<Clock, 'now'>): Promise<Finding> {
  const { queue, operator } = there;
  const check = `keys in ${queue}`;
  const shards = await shardsInUse(there);
  const keys = await oldestKeys(there, shards, clock.now());
  if (keys.length === 0) return ok(check, 'no task waits for a slot of its key');
  const reports = await operator.keys(keys, { shards, entriesLimit: COMPARED });
  const full = reports.filter(({ count, limits }) => count >= (limits[0] ?? Infinity));
  const wrong = full.filter(({ difference, isExact }) => isExact && difference !== 0);
  const [worst] = wrong;
  if (worst === undefined) {
    const compared = full.filter(({ isExact }) => isExact).length;
    return ok(
      check,
      `${plural(full.length, 'full key')} among the oldest tasks; ${compared} compared, with the right count`,
    );
  }
  const { key, count, running } = worst;
  const found = `key ${key} counts ${plural(count, 'running task')}, but ${running.length} run`;
  const others = wrong.length === 1 ? '' : `; ${plural(wrong.length - 1, 'other key')} too`;
  return warning(check, `${found}${others}`, `leasehold keys recount ${key} --queue ${queue}`);
}

/** The keys of the oldest waiting tasks that have one. */
async function oldestKeys({ queue, store }: QueueConnection, shards: number, now: number): Promise<readonly string[]> {
  const entries: ReadyEntry[] = [];
  for await (const page of openEntries(store, { queue, shards, now })) {
    entries.push(...page);
    if (entries.length >= ENTRIES) break;
  }
  const oldest = entries.sort((one, other) => one.readyAt - other.readyAt).slice(0, ROWS);
  const tasks = await store.getMany(oldest);
  const waiting = tasks
    .flatMap((task) => (task.state === 'ready' && task.links?.concurrency !== undefined ? [task] : []))
    .sort((one, other) => one.readyAt - other.readyAt);
  return [...new Set(waiting.flatMap(({ links }) => links?.concurrency?.key ?? []))].slice(0, KEYS);
}
