import { expect, test } from 'vitest';
import { KeyTurns } from '../../../../shared/coordination/lock/key-turns.ts';

test('work on one key goes one after the other, and work on another key at once, also after a failure', async () => {
  const turns = new KeyTurns();
  const told: string[] = [];
  const work = (name: string, steps: number) => async () => {
    told.push(`${name} begins`);
    for (let step = 0; step < steps; step++) await Promise.resolve();
    told.push(`${name} ends`);
    if (name === 'first') throw new Error('it failed');
    return name;
  };

  const all = await Promise.allSettled([
    turns.run(['a'], work('first', 20)),
    turns.run(['a', 'b'], work('second', 10)),
    turns.run(['c'], work('beside', 1)),
    turns.run(['b'], work('third', 1)),
  ]);

  expect(all.map((one) => (one.status === 'fulfilled' ? one.value : one.status))).toEqual([
    'rejected',
    'second',
    'beside',
    'third',
  ]);
  expect(told).toEqual([
    ...['first begins', 'beside begins', 'beside ends', 'first ends'],
    ...['second begins', 'second ends', 'third begins', 'third ends'],
  ]);
});
