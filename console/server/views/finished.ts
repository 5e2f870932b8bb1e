/** The ended tasks of a queue that lists them, and their numbers by name for the last hour, without reading their rows. */
import { NUMBERS_LIMIT, namesIn } from '../../../shared/tasks/queue/ended-numbers.ts';
import type { EndedEntry } from '../../../shared/tasks/task/ended-list.ts';
import { hasFailed } from '../../../shared/tasks/task/ended-list.ts';
import type { FinishedPage, FinishedQuery, Outcome } from '../../model.ts';
import type { ConsoleConnection } from '../connection.ts';
import type { Priced } from '../shared-reads.ts';

const SHOWN = 100;
const MINUTE_MS = 60_000;
const MINUTES = 60;

/** @returns undefined if the queue does not list its finished tasks */
export async function readFinished(
  connection: ConsoleConnection,
  query: FinishedQuery,
): Promise<Priced<FinishedPage | undefined>> {
  const { queue } = query;
  const { leasehold, queues, spent } = connection.open();
  const listedSince = (await queues.glance(queue))?.listedSince;
  if (listedSince === undefined) return { value: undefined, units: spent() };
  const now = connection.now();
  const recent: EndedEntry[] = [];
  const shown: EndedEntry[] = [];
  let [read, found, reachedAt, isCut] = [0, 0, now, false];
  for await (const entry of leasehold.operator.ended({ queue, shards: connection.options.shards })) {
    const isRecent = entry.kind === 'damaged' || entry.at > now - MINUTES * MINUTE_MS;
    isCut = read === NUMBERS_LIMIT || (!isRecent && shown.length === SHOWN);
    if (isCut) break;
    read++;
    if (entry.kind === 'ended') reachedAt = entry.at;
    if (isRecent) recent.push(entry);
    if (!isWanted(entry, query)) continue;
    found++;
    if (shown.length < SHOWN) shown.push(entry);
  }
  const cutAt = isCut ? reachedAt : undefined;
  const value = { now, queue, listedSince, entries: shown, found, read, cutAt, names: namesIn(recent) };
  return { value: { ...value, perMinute: perMinute(recent, now) }, units: spent() };
}

/** A damaged entry is shown whatever is asked for: it may be the one that the user searches. */
function isWanted(entry: EndedEntry, { name, id, outcome }: FinishedQuery): boolean {
  if (entry.kind === 'damaged') return true;
  const isMeant = [entry.id, entry.label, entry.key].some((text) => text?.includes(id) === true);
  return isMeant && (entry.name ?? '').startsWith(name) && isOf(outcome, entry);
}

export function isOf(outcome: Outcome | undefined, ended: Parameters<typeof hasFailed>[0]): boolean {
  return outcome === undefined || (outcome === 'failed' ? hasFailed(ended) : ended.state === outcome);
}

/** Ends in each minute of the last hour, the earliest first. */
function perMinute(entries: readonly EndedEntry[], now: number): readonly number[] {
  const counts = Array.from({ length: MINUTES }, () => 0);
  for (const entry of entries) {
    const minute = entry.kind === 'damaged' ? -1 : MINUTES - 1 - Math.floor(Math.max(0, now - entry.at) / MINUTE_MS);
    if (minute >= 0) counts[minute] = (counts[minute] ?? 0) + 1;
  }
  return counts;
}
