/** Judges what a run left, as the runner of the requirements does: each listed event by its number, with all fields that are listed. */
import type { HistoryEvent } from '../../../shared/tasks/durable/history.ts';
import type { Value } from './workflow.ts';

/** Number, type, fields and details of an expected event. */
export type ExpectedEvent = readonly [number, string, Value, Value?];

/** @param bound placeholders, which have one value each @returns what differs */
export function judgeHistory(
  expected: readonly ExpectedEvent[],
  actual: readonly HistoryEvent[],
  bound: Record<string, unknown>,
): readonly string[] {
  const byId = new Map(actual.map((event) => [event.EventId, JSON.parse(JSON.stringify(event))]));
  return expected.flatMap(([id, type, fields, details]) => {
    const event = byId.get(id);
    const what = `event ${id} ${type}`;
    if (event === undefined) return [`there is no ${what}`];
    const want = { EventType: type, ...fields, ...(details === undefined ? {} : { [`${type}Details`]: details }) };
    return differences(want, event, what, bound);
  });
}

function differences(want: Value, got: Value, at: string, bound: Record<string, unknown>): readonly string[] {
  if (want === '*') return [];
  const pattern = typeof want === 'string' ? /^\$\{\/(.+)\/\}$/.exec(want)?.[1] : undefined;
  if (pattern !== undefined)
    return new RegExp(pattern).test(String(got)) ? [] : [`${at}: ${String(got)} is not ${want}`];
  const name = typeof want === 'string' ? /^\$\{(.+)\}$/.exec(want)?.[1] : undefined;
  if (name !== undefined) {
    bound[name] ??= got;
    return same(bound[name], got) ? [] : [`${at}: ${String(got)}, elsewhere ${String(bound[name])}`];
  }
  if (!isHolder(want)) return same(want ?? null, got ?? null) ? [] : [`${at}: ${shown(got)}, expected ${shown(want)}`];
  if (!isHolder(got)) return [`${at}: ${shown(got)}, expected ${shown(want)}`];
  const length = Array.isArray(want) && want.length !== Object.keys(got).length ? [`${at}: another length`] : [];
  const each = Object.keys(want).flatMap((key) =>
    key in got ? differences(want[key], got[key], `${at}.${key}`, bound) : [`${at}.${key} is missing`],
  );
  return [...length, ...each];
}

function isHolder(value: Value): boolean {
  return typeof value === 'object' && value !== null;
}

function shown(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 200);
}

/** Whether two values are the same JSON, whatever the order of their keys. */
export function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
}

function sorted(value: Value): Value {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isHolder(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, each]) => [key, sorted(each)]),
  );
}
