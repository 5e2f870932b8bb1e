/** The checker again: it notices damage to shared rows, and to rows that belong to tasks. */
import { beforeAll, describe, expect, test } from 'vitest';
import { Prng } from '../../test/support/machines/prng.ts';
import { judge } from './checker.ts';
import type { Acknowledged, Applied, HistoryEvent } from './history.ts';
import { runSeed } from './run-seed.ts';
import type { HistoryResult } from './history-result.ts';
import { assumptionsOf } from './history-result.ts';

type History = readonly HistoryEvent[];
type Corruption = (history: History, prng: Prng) => History | undefined;
type Holders = Readonly<Record<string, unknown>>;

const isRow = (prefix: string, event: HistoryEvent): event is Applied =>
  event.kind === 'applied' && event.row.startsWith(prefix);
const holdersIn = (row: Applied['after']): Holders => (row?.holders ?? {}) as Holders;
const isAdmission = (event: HistoryEvent): event is Applied =>
  isRow('semaphore#', event) &&
  Object.keys(holdersIn(event.after)).length > Object.keys(holdersIn(event.before)).length;

/** One event of a kind, replaced by what `change` makes of it. */
function changed(
  history: History,
  prng: Prng,
  isIt: (event: HistoryEvent) => event is Applied,
  change: (event: Applied) => readonly HistoryEvent[],
): History | undefined {
  const found = history.flatMap((event, index) => (isIt(event) ? [{ event, index }] : []));
  if (found.length === 0) return undefined;
  const { event, index } = prng.pick(found);
  return history.toSpliced(index, 1, ...change(event));
}

const withAfter = (event: Applied, after: Readonly<Record<string, unknown>>): Applied => ({
  ...event,
  after: { ...event.after, ...after },
});

const CORRUPTIONS: Readonly<Record<string, Corruption>> = {
  'a permit beyond the limit': (history, prng) =>
    changed(history, prng, isAdmission, (event) => [withAfter(event, { limit: 0, free: -1 })]),
  'room that is counted wrong': (history, prng) =>
    changed(history, prng, isAdmission, (event) => [withAfter(event, { free: Number(event.after?.free) + 1 })]),
  'a token given twice': (history, prng) =>
    changed(history, prng, isAdmission, (event) => [
      withAfter(event, { leaseCounter: event.before?.leaseCounter ?? 0 }),
    ]),
  'a permit that vanishes': (history, prng) =>
    changed(history, prng, isAdmission, (event) => {
      const { after } = event;
      const gone = { ...after, holders: {}, free: after?.limit };
      return [event, { ...event, operation: undefined, request: -1, before: after, after: gone }];
    }),
  'a member added to a group that is over': (history, prng) =>
    changed(
      history,
      prng,
      (event): event is Applied => isRow('waitgroup#', event) && event.after?.state === 'complete',
      (event) => {
        const row = `${event.row}#${String(event.after?.generation)}/member#late`;
        return [event, { ...event, row, before: undefined, after: { state: 'pending' } }];
      },
    ),
  'a group that is over too early': (history, prng) =>
    changed(
      history,
      prng,
      (event): event is Applied => isRow('waitgroup#', event) && event.after?.state === 'sealed',
      (event) => [event, { ...withAfter(event, { state: 'complete', members: 99, lost: 0 }), before: event.after }],
    ),
  'a member that ends twice': (history, prng) =>
    changed(
      history,
      prng,
      (event): event is Applied => isRow('waitgroup#', event) && event.after?.state === 'done',
      (event) => [event, { ...event, before: event.after }],
    ),
  'a wait that ends too early': (history, prng) =>
    changed(
      history,
      prng,
      (event): event is Applied => isRow('waitgroup#', event) && event.after?.state === 'open',
      (event) => {
        const value = JSON.stringify({ generation: event.after?.generation, members: 0, lost: 0 });
        const told: Acknowledged = {
          kind: 'acknowledged',
          at: event.at,
          process: 'early',
          what: 'waited',
          row: event.row,
          value,
        };
        return [event, told];
      },
    ),
  'a child that is counted twice': (history, prng) =>
    changed(
      history,
      prng,
      (event): event is Applied => isRow('batch#', event) && event.before !== undefined,
      (event) => [withAfter(event, { pending: Number(event.after?.pending) - 1, done: Number(event.after?.done) + 1 })],
    ),
  'a place of a key that is not given back': (history, prng) =>
    changed(
      history,
      prng,
      (event): event is Applied => isRow('key#', event) && Number(event.after?.running) < Number(event.before?.running),
      (event) => [withAfter(event, { running: event.before?.running })],
    ),
  'a slot that is left out': (history, prng) =>
    changed(
      history,
      prng,
      (event): event is Applied => isRow('schedule#', event) && event.before !== undefined,
      (event) => [withAfter(event, { readyAt: Number(event.after?.readyAt) + 60_000 })],
    ),
};

const HISTORIES = 6;

describe('the checker', () => {
  const results: HistoryResult[] = [];

  beforeAll(async () => {
    const changes = { leap: false, coordinationShare: 0.4, lockShare: 0, faultyMs: 60_000 };
    for (let seed = 1; seed <= HISTORIES; seed++)
      results.push(await runSeed(BigInt(seed), 'network', { keepHistory: true, changes }));
  });

  test('passes histories that are right', () => {
    for (const { history, profile } of results) expect(judge(history, assumptionsOf(profile))).toEqual([]);
  });

  test.each(Object.entries(CORRUPTIONS))('notices %s, wherever it is', (_name, corrupt) => {
    const prng = new Prng(7n);
    let corrupted = 0;
    for (const { history, profile } of results)
      for (let time = 0; time < 3; time++) {
        const damaged = corrupt(history, prng);
        if (damaged === undefined) continue;
        corrupted++;
        expect(judge(damaged, assumptionsOf(profile))).not.toEqual([]);
      }

    expect(corrupted).toBeGreaterThanOrEqual(HISTORIES);
  });
});
