/** Each setting of a worker is varied by the default mix, or has a reason. */
import { expect, test } from 'vitest';
import type { WorkerSettings } from '../../shared/tasks/worker/run-worker.ts';
import type { SessionTiming } from '../../shared/core/lease/timing.ts';
import type { Profile } from './profile.ts';
import { profileOf } from './run-seed.ts';

/** The part of the profile that varies it, or why nothing must. The compiler asks for a new setting. */
const SETTINGS = {
  queue: 'one queue, because a worker reads no other',
  shards: ['shards'],
  homeShards: ['shards'],
  slice: ['fansOut'],
  named: ['fansOut'],
  concurrency: ['concurrency'],
  pollMs: ['stays'],
  idlePollMs: ['idlePollMs'],
  lingerMs: ['lingerMs'],
  hasDispatcher: ['stays'],
  graceMs: ['invocationMs'],
  deadlineMonotonicMs: ['invocationMs'],
  startWithinMs: 'planning hints alone depend on it, and W1 to W3 judge them at two seconds',
  ttlMs: ['ttlMs'],
  heartbeatMs: ['ttlMs'],
  holderMarginMs: ['ttlMs'],
  lockDelayMs: ['lockDelayMs'],
  maxClockSkewMs: ['maxClockSkewMs'],
} as const satisfies Record<keyof WorkerSettings | keyof SessionTiming, string | readonly (keyof Profile)[]>;

/** Only the lasting world `fanout` starts workers for bursts. */
const WORLDS = ['mix', 'fanout'] as const;

test.each(Object.entries(SETTINGS).filter(([, by]) => typeof by !== 'string'))('%s is varied', (_setting, by) => {
  const profiles = WORLDS.flatMap((world) => Array.from({ length: 100 }, (_, seed) => profileOf(BigInt(seed), world)));

  for (const name of by as readonly (keyof Profile)[])
    expect(new Set(profiles.map((profile) => profile[name])).size).toBeGreaterThan(1);
});

test('the skew gauge is varied', () => {
  const drawn = Array.from({ length: 100 }, (_, seed) => profileOf(BigInt(seed), 'mix').gauged);

  expect(new Set(drawn)).toEqual(new Set([true, false]));
});
