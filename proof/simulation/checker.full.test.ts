/** The checker itself: right histories pass, and every kind of damage done to them is noticed. */
import { beforeAll, describe, expect, test } from 'vitest';
import { Prng } from '../../test/support/machines/prng.ts';
import { judge } from './checker.ts';
import type { Applied, HistoryEvent, Returned } from './history.ts';
import { isTask } from './invariants/rule.ts';
import { runSeed } from './run-seed.ts';
import type { HistoryResult } from './history-result.ts';
import { assumptionsOf } from './history-result.ts';

type Corruption = (history: readonly HistoryEvent[], prng: Prng) => readonly HistoryEvent[] | undefined;

const isClaim = (event: HistoryEvent): event is Applied =>
  event.kind === 'applied' && isTask(event.row) && event.after?.state === 'running' && event.before?.state === 'ready';
const isSettled = (event: HistoryEvent): event is Applied =>
  event.kind === 'applied' && isTask(event.row) && event.before?.state === 'running' && event.after?.state === 'done';

function chosen<T extends HistoryEvent>(
  history: readonly HistoryEvent[],
  prng: Prng,
  isIt: (event: HistoryEvent) => event is T,
): { readonly event: T; readonly index: number } | undefined {
  const found = history.flatMap((event, index) => (isIt(event) ? [{ event, index }] : []));
  return found.length === 0 ? undefined : prng.pick(found);
}

const replaced = (history: readonly HistoryEvent[], index: number, ...by: HistoryEvent[]): readonly HistoryEvent[] =>
  history.toSpliced(index, 1, ...by);

const CORRUPTIONS: Readonly<Record<string, Corruption>> = {
  'two claims swapped': (history, prng) => {
    const first = chosen(history, prng, isClaim);
    const second = history.findIndex(
      (event, index) => first !== undefined && index > first.index && isSettled(event) && event.row === first.event.row,
    );
    if (first === undefined || second < 0) return undefined;
    return history.with(first.index, history[second]!).with(second, first.event);
  },
  'a claim dropped': (history, prng) => {
    const claim = chosen(history, prng, isClaim);
    return claim && replaced(history, claim.index);
  },
  'a completion applied twice': (history, prng) => {
    const settled = chosen(history, prng, isSettled);
    return settled && replaced(history, settled.index, settled.event, settled.event);
  },
  'a claim from a stale row': (history, prng) => {
    const claim = chosen(history, prng, isClaim);
    if (claim === undefined) return undefined;
    const { before, after } = claim.event;
    return replaced(history, claim.index, {
      ...claim.event,
      after: { ...after, leaseCounter: Number(before?.leaseCounter) },
    });
  },
  'a grant while another believes': (history, prng) => {
    const claim = chosen(history, prng, isClaim);
    if (claim === undefined) return undefined;
    const { row, at } = claim.event;
    const early: HistoryEvent = { kind: 'believes', at, process: 'early', row, token: 1, session: 'early' };
    return history.toSpliced(claim.index, 0, early);
  },
  'a grant too many': (history, prng) => {
    const claim = chosen(history, prng, isClaim);
    if (claim === undefined) return undefined;
    const { after } = claim.event;
    const again: Applied = {
      ...claim.event,
      before: after,
      after: { ...after, session: 'another', leaseCounter: Number(after?.leaseCounter) + 1 },
    };
    return history.toSpliced(claim.index + 1, 0, again);
  },
  'an acknowledged write lost': (history, prng) => {
    const confirmed = new Set(
      history.flatMap((event) => (event.kind === 'returned' && event.outcome === 'applied' ? [event.operation] : [])),
    );
    const settled = chosen(
      history,
      prng,
      (event): event is Applied => isSettled(event) && event.operation !== undefined && confirmed.has(event.operation),
    );
    return settled && replaced(history, settled.index);
  },
  'a refusal of what was applied': (history, prng) => {
    const ofTasks = new Set(
      history.flatMap((event) => (event.kind === 'called' && isTask(event.row) ? [event.operation] : [])),
    );
    const told = chosen(
      history,
      prng,
      (event): event is Returned =>
        event.kind === 'returned' && event.outcome === 'applied' && ofTasks.has(event.operation),
    );
    return told && replaced(history, told.index, { ...told.event, outcome: 'refused' });
  },
  'a session expired early': (history, prng) => {
    const renewal = chosen(
      history,
      prng,
      (event): event is Applied =>
        event.kind === 'applied' && event.row.startsWith('session#') && event.after?.status === 'live',
    );
    if (renewal === undefined) return undefined;
    const { after } = renewal.event;
    const early: Applied = {
      ...renewal.event,
      process: 'contender',
      before: after,
      after: { ...after, status: 'invalid', reason: 'expired', invalidatedAt: after?.expiresAt },
    };
    return history.toSpliced(renewal.index + 1, 0, early);
  },
  'an enqueued task gone': (history, prng) => {
    const swept = chosen(history, prng, isClaim);
    if (swept === undefined) return undefined;
    const { row, at, after } = swept.event;
    return history.toSpliced(swept.index + 1, 0, { kind: 'swept', at, process: 'ttl', row, before: after ?? {} });
  },
};

const HISTORIES = 8;

describe('the checker', () => {
  const results: HistoryResult[] = [];

  beforeAll(async () => {
    for (let seed = 1; seed <= HISTORIES; seed++)
      results.push(await runSeed(BigInt(seed), 'network', { keepHistory: true, changes: { leap: false } }));
  });

  test('passes histories that are right', () => {
    for (const { history, profile } of results) expect(judge(history, assumptionsOf(profile))).toEqual([]);
  });

  test.each(Object.entries(CORRUPTIONS))('notices %s, wherever it is', (_name, corrupt) => {
    const prng = new Prng(7n);
    let corrupted = 0;
    for (const { history, profile } of results)
      for (let time = 0; time < 4; time++) {
        const damaged = corrupt(history, prng);
        if (damaged === undefined) continue;
        corrupted++;
        expect(judge(damaged, assumptionsOf(profile))).not.toEqual([]);
      }

    expect(corrupted).toBeGreaterThanOrEqual(2 * HISTORIES);
  });
});
