import { describe, expect, test } from 'vitest';
import { ENV, parseDispatchEnv, parseWorkEnv, schedulesText } from '../../functions/env.ts';
import { ConfigurationError } from '../../shared/core/errors.ts';
import { defineSchedule } from '../../shared/tasks/schedule/declaration.ts';
import { defineTask } from '../../shared/tasks/task/definition.ts';

const worker = { LEASEHOLD_TABLE: 'leases' };
const dispatcher = { LEASEHOLD_TABLE: 'leases', LEASEHOLD_WORKER_FUNCTION: 'work' };

describe('parseWorkEnv', () => {
  test('fills in the defaults', () => {
    expect(parseWorkEnv(worker)).toEqual({
      table: 'leases',
      queue: 'default',
      continuation: false,
      attemptSpans: 'parent',
      logEnds: false,
      codeVersion: undefined,
      timedNames: [],
      startWithinMs: 10_000,
      shards: 8,
      maxWorkers: 10,
      endpoint: undefined,
      concurrency: 10,
      timing: { ttlMs: 30_000, heartbeatMs: 10_000, holderMarginMs: 1_000, lockDelayMs: 0, maxClockSkewMs: 1_000 },
      deadlineMarginMs: 10_000,
      lingerMs: 0,
    });
  });

  test('derives the heartbeat from the TTL when only that is given', () => {
    const { timing } = parseWorkEnv({ ...worker, LEASEHOLD_SESSION_TTL_MS: '9000' });

    expect(timing).toMatchObject({ ttlMs: 9_000, heartbeatMs: 3_000 });
  });

  test('accepts valid settings', () => {
    const env = parseWorkEnv({
      ...worker,
      LEASEHOLD_QUEUE: 'media',
      LEASEHOLD_SHARDS: '16',
      LEASEHOLD_MAX_WORKERS: '50',
      LEASEHOLD_CONCURRENCY: '1',
      LEASEHOLD_LOCK_DELAY_MS: '0',
      LEASEHOLD_LINGER_MS: '20000',
      LEASEHOLD_ENDPOINT: 'http://127.0.0.1:8000',
    });

    expect(env).toMatchObject({ queue: 'media', shards: 16, maxWorkers: 50, concurrency: 1, lingerMs: 20_000 });
    expect(env).toMatchObject({ endpoint: 'http://127.0.0.1:8000', timing: { lockDelayMs: 0 } });
  });

  test('accepts names to time up to 2,000 characters of JSON', () => {
    const timed = (characters: number) => {
      const names = Array.from({ length: 10 }, (_, n) => `${n}`.padEnd(190, 'x'));
      const last = 'y'.repeat(characters - JSON.stringify([...names, '']).length);
      return parseWorkEnv({ ...worker, LEASEHOLD_TIMED_NAMES: JSON.stringify([...names, last]) }).timedNames;
    };

    expect(timed(2_000)).toHaveLength(11);
    expect(() => timed(2_001)).toThrow('timedNames has 2001 characters as JSON: at most 2000 are allowed');
  });

  test.each([
    [{ LEASEHOLD_TABLE: undefined }, 'LEASEHOLD_TABLE is not set: the stack sets it for its functions'],
    [{ LEASEHOLD_TABLE: '' }, 'LEASEHOLD_TABLE is empty: the stack sets it for its functions'],
    [{ LEASEHOLD_QUEUE: '' }, 'LEASEHOLD_QUEUE is empty: must have at least one character'],
    [{ LEASEHOLD_CONCURRENCY: '0' }, 'LEASEHOLD_CONCURRENCY = "0": must be a whole number from 1 to 1000'],
    [{ LEASEHOLD_CONCURRENCY: 'ten' }, 'LEASEHOLD_CONCURRENCY = "ten": must be a whole number from 1 to 1000'],
    [{ LEASEHOLD_CONCURRENCY: '' }, 'LEASEHOLD_CONCURRENCY = "": must be a whole number from 1 to 1000'],
    [{ LEASEHOLD_LINGER_MS: '900001' }, 'LEASEHOLD_LINGER_MS = "900001": must be a whole number from 0 to 900000'],
    [{ LEASEHOLD_SHARDS: '-1' }, 'LEASEHOLD_SHARDS = "-1": must be a whole number from 1 to 256'],
    [{ LEASEHOLD_SHARDS: '1e2' }, 'LEASEHOLD_SHARDS = "1e2": must be a whole number from 1 to 256'],
    [{ LEASEHOLD_SESSION_TTL_MS: '30s' }, 'LEASEHOLD_SESSION_TTL_MS = "30s": must be a whole number of 0 or more'],
    [
      { LEASEHOLD_SESSION_TTL_MS: '10000', LEASEHOLD_HEARTBEAT_MS: '5000' },
      'ttl = 10000 ms is less than three times heartbeat = 5000 ms',
    ],
    [
      { LEASEHOLD_ENDPOINT: 'localhost' },
      'LEASEHOLD_ENDPOINT = "localhost": must be a URL such as http://127.0.0.1:8000',
    ],
  ])('refuses %o', (wrong, message) => {
    const parse = (): unknown => parseWorkEnv({ ...worker, ...wrong });

    expect(parse).toThrow(ConfigurationError);
    expect(parse).toThrow(message);
  });
});

describe('parseDispatchEnv', () => {
  test('fills in the defaults', () => {
    expect(parseDispatchEnv(dispatcher)).toEqual({
      table: 'leases',
      queue: 'default',
      shards: 8,
      maxWorkers: 10,
      endpoint: undefined,
      workerFunction: 'work',
      startWithinMs: 10_000,
      concurrency: 10,
      maxClockSkewMs: 1_000,
      schedules: [],
    });
  });

  test('finds the schedules that the stack wrote, each with the name of its task', () => {
    const report = defineTask({ name: 'report', run: (_: { readonly kind: string }) => undefined });
    const nightly = defineSchedule('nightly', report, { kind: 'sales' }, { cron: '0 3 * * *' });

    const { schedules } = parseDispatchEnv({ ...dispatcher, [ENV.schedules]: schedulesText([nightly]) });

    expect(schedules).toEqual([{ ...nightly, task: 'report' }]);
    expect(() => parseDispatchEnv({ ...dispatcher, [ENV.schedules]: '{}' })).toThrow('is not what the stack writes');
  });

  test('needs to know whom to invoke', () => {
    expect(() => parseDispatchEnv(worker)).toThrow('LEASEHOLD_WORKER_FUNCTION is not set');
  });
});
