/**
 * Each invariant notices some damage under its own name, so no other can stand in for it.
 * Some reporting lines have no such damage: the seeded bugs reach more of them.
 */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { Prng } from '../../test/support/machines/prng.ts';
import { judge } from './checker.ts';
import { CORRUPTIONS } from './corruptions.ts';
import type { Profile } from './profile.ts';
import { runSeed } from './run-seed.ts';
import type { HistoryResult } from './history-result.ts';
import { assumptionsOf } from './history-result.ts';

/** Everything that the workloads can do, in each history. */
const EVERYTHING: Partial<Profile> = {
  leap: false,
  staleMs: 0,
  lockShare: 0.2,
  coordinationShare: 0.3,
  tasks: 45,
  concurrency: 3,
  payloadShare: 0.3,
  bucket: true,
  dedupShare: 0.4,
  tenants: true,
  chains: true,
  orders: 4,
  rivals: 12,
  durables: 8,
};
/** Between them they have all that is damaged: members that end, runs of a schedule that follow one another. */
const SEEDS = [3, 5, 7, 9];
/** Drawn in each history, because a rule must notice damage wherever it is. */
const PLACES = 3;

/** The rules as their files name them. */
function rulesInSource(): ReadonlySet<string> {
  const folder = path.join(import.meta.dirname, 'invariants');
  const text = readdirSync(folder).map((file) => readFileSync(path.join(folder, file), 'utf8'));
  const names = text.flatMap((source) => [...source.matchAll(/\b(?:report|mustBeHolder)\(\s*'([^']+)'/g)]);
  return new Set(names.map(([, name = '']) => name));
}

describe('the checker', () => {
  const results: HistoryResult[] = [];

  beforeAll(async () => {
    for (const seed of SEEDS)
      results.push(await runSeed(BigInt(seed), 'network', { keepHistory: true, changes: EVERYTHING }));
  });

  test('passes histories that are right', () => {
    for (const { history, profile } of results) expect(judge(history, assumptionsOf(profile))).toEqual([]);
  });

  test('has a corrupted history for each invariant that it names', () => {
    expect([...rulesInSource()].sort()).toEqual(Object.keys(CORRUPTIONS).sort());
  });

  const cases = Object.entries(CORRUPTIONS).flatMap(([rule, all]) =>
    Object.entries(all).map(([what, corrupt]) => [rule, what, corrupt] as const),
  );
  test.each(cases)('%s notices %s', (rule, _what, corrupt) => {
    const prng = new Prng(11n);
    let corrupted = 0;
    for (const { history, profile } of results)
      for (let place = 0; place < PLACES; place++) {
        const damaged = corrupt(history, prng);
        if (damaged === undefined) continue;
        corrupted++;
        expect(judge(damaged, assumptionsOf(profile)).map(({ invariant }) => invariant)).toContain(rule);
      }

    expect(corrupted).toBeGreaterThan(0);
  });
});
