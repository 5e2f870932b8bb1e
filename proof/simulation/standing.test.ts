/** A row that grows is noticed. The other rules of stalls have seeded bugs (`rules.test.ts`). */
import { expect, test } from 'vitest';
import { Prng } from '../../test/support/machines/prng.ts';
import { Asks } from './asks.ts';
import { drawProfile } from './draw-profile.ts';
import { EPOCH_MS } from './invariants/sessions.ts';
import { Standing } from './standing.ts';

test.each([
  [300, ['L15']],
  [10, []],
])('L15: a session with %i revocations', (count, rules) => {
  const revoked = Array.from({ length: count }, (_, index) => `lock/some-key/${index}`);
  const session = { id: 's', name: 'user', status: 'live', expiresAt: EPOCH_MS + 1e9, lockDelayMs: 0, revoked };
  const found: string[] = [];
  const standing = new Standing(drawProfile(new Prng(1n), 'calm'), {
    recorder: {
      rows: new Map([['session#s', session]]),
      believers: [],
      takenByCopies: new Set<string>(),
      askAll: () => undefined,
    },
    asks: new Asks(() => 0),
    report: (rule) => void found.push(rule),
    measure: () => undefined,
    now: () => 0,
  });

  standing.healed();
  standing.sample();

  expect(found).toEqual(rules);
});
