import { describe, expect, inject, test } from 'vitest';
import { BROKEN_CLOCKS, WITHIN_BOUND } from './profile.ts';
import { runChaos } from './run.ts';

const endpoint = inject('dynamodbLocalEndpoint');

describe.skipIf(endpoint === null)('chaos on real processes', () => {
  test.each([
    { profile: WITHIN_BOUND, minutes: 4, seed: 11n },
    { profile: BROKEN_CLOCKS, minutes: 2, seed: 12n },
  ])('keeps every promise with clocks $profile.name, in a run that counts', async ({ profile, minutes, seed }) => {
    // A herd comes 1.7 times a minute, by chance: one time in thirty, two minutes are over without any.
    const longestMinutes = 5 * minutes;
    const result = await runChaos({
      endpoint: endpoint ?? '',
      minutes,
      longestMinutes,
      seed,
      profile,
    });

    expect(Object.entries(result.violations).filter(([, cases]) => cases.length > 0)).toEqual([]);
    expect(result.shortfalls).toEqual([]);
    expect(result.healedSeconds).not.toBeNull();
  });
});
