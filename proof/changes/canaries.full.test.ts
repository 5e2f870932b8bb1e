/** A sample of the seeded bugs; `npm run changes -- seeded` hunts them all. */
import { describe, expect, test } from 'vitest';
import { hunt } from './judge.ts';
import { MUTANTS } from './seeded/all.ts';

/** The canaries: one for each layer, quick to die. */
const CANARIES = ['M1', 'M9', 'M14', 'M21', 'M41'];

describe('a seeded bug', () => {
  test.each(CANARIES)('%s is killed by the invariant named for it', async (id) => {
    const { killer } = await hunt(
      MUTANTS.find((mutant) => mutant.id === id),
      100,
    );

    expect(killer).not.toBeNull();
  });
});
