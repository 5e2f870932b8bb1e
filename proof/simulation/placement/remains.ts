/** The rows that a history leaves, without what differs between two runs of the same work: times, generated ids, and counts of attempts. */
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';

const DIFFERS =
  /^(?:nonce|session|leaseCounter|attempts|deaths|sequence|modifyIndex|renewals|ttl|traceparent|past\d*)$/;
/** Sessions and ticks are as many as processes came by. */
const OF_PROCESSES = /^(?:session|slot)#/;
const TIME = /\d{13}|\d{4}-\d\d-\d\dT[\d:.]+Z/g;
const ID = /[a-z]+\.\d+-\d{4}/g;
const EARLIEST_TIME = 1e11;

export function remainsOf(rows: ReadonlyMap<string, DynamoItem>): string {
  return [...rows]
    .filter(([row]) => !OF_PROCESSES.test(row))
    .map(([row, item]) => `${String(plain(row))} ${JSON.stringify(plain(item))}`)
    .sort()
    .join('\n');
}

function plain(value: unknown): unknown {
  if (typeof value === 'number') return value > EARLIEST_TIME ? 'time' : value;
  if (typeof value === 'string') return value.replaceAll(ID, 'id').replaceAll(TIME, 'time');
  if (value instanceof Set) return [...value].map(plain).sort();
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => !DIFFERS.test(name));
  return Object.fromEntries(
    kept.sort(([one], [other]) => one.localeCompare(other)).map(([name, of]) => [name, plain(of)]),
  );
}
