/** Rechecking when a row has changed: a few times, not forever. */
import { expect, test } from 'vitest';
import { StoreUnavailableError } from '../../../../shared/core/errors.ts';
import { systemRuntime } from '../../../../shared/core/runtime/runtime.ts';
import { ACT, contended, retryContended } from '../../../../shared/core/wait/retry-contended.ts';
import { ScheduleClient } from '../../../../shared/tasks/schedule/schedule-client.ts';
import type { ScheduleStore } from '../../../../shared/tasks/schedule/schedule-store.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

test('tries until an attempt has decided something', async () => {
  const rounds: number[] = [];

  const result = await retryContended('row', ACT, (round) => {
    rounds.push(round);
    return Promise.resolve(round < 3 ? contended() : 'done');
  });

  expect(result).toBe('done');
  expect(rounds).toEqual([1, 2, 3]);
});

test('accepts an absent result as a result', async () => {
  const absent: string | undefined = undefined;

  expect(await retryContended<string | undefined>('row', ACT, () => Promise.resolve(absent))).toBeUndefined();
});

test('gives up on a row that changes with every read, and reports that nothing was done', async () => {
  let looks = 0;

  const trying = retryContended('schedule nightly', ACT, () => {
    looks++;
    return Promise.resolve(contended());
  });

  await expect(trying).rejects.toMatchObject({ name: 'StoreUnavailableError', applied: 'no' });
  await expect(trying).rejects.toThrow('schedule nightly was changed by others in each of 5 attempts');
  expect(looks).toBe(5);
});

test('reports an unknown outcome if a response was lost', async () => {
  const trying = retryContended('row', ACT, (round) =>
    Promise.resolve(contended({ earlierAttempt: round === 2 ? 'unknown' : 'none' })),
  );

  await expect(trying).rejects.toMatchObject({ applied: 'unknown' });
});

test('pauses from the third round on', async () => {
  const clock = new ManualClock('2026-03-01T12:00:00Z');
  const backoff = { clock, random: { next: () => 0.5 }, baseMs: 100, capMs: 500 };
  const at: number[] = [];
  const trying = retryContended('row', { rounds: 5, backoff }, () => {
    at.push(clock.monotonic());
    return Promise.resolve(contended());
  }).catch((error: unknown) => error);

  await clock.advance(1_000);

  expect(await trying).toBeInstanceOf(StoreUnavailableError);
  const [first = 0] = at;
  expect(at.map((moment) => moment - first)).toEqual([0, 0, 100, 300, 550]);
});

test.each([
  ['defined', (client: ScheduleClient) => client.define('nightly', 'work', {}, { cron: '0 3 * * *' })],
  ['removed', (client: ScheduleClient) => client.remove('nightly')],
])('a schedule that others write all the time is not %s, and its caller is told', async (_verb, act) => {
  let looks = 0;
  const refused = { kind: 'refused', current: undefined, earlierAttempt: 'none' } as const;
  const contested: Pick<ScheduleStore, 'get' | 'put' | 'remove'> = {
    get: ({ queue, name }) => {
      looks++;
      return Promise.resolve({
        queue,
        name,
        cron: '* * * * *',
        zone: 'UTC',
        missed: 'last',
        task: 'work',
        input: looks,
        options: {},
        overlap: 'queue',
        toleranceMs: 0,
        jitterMs: 0,
        startAt: undefined,
        endAt: undefined,
        lastAt: undefined,
        pausedAt: undefined,
        leftOut: [],
        definedAt: 0,
        nextAt: looks,
        nonce: `${looks}`,
      } as const);
    },
    put: () => Promise.resolve(refused),
    remove: () => Promise.resolve(refused),
  };
  const client = new ScheduleClient({ schedules: contested as ScheduleStore, runtime: systemRuntime });

  await expect(act(client)).rejects.toThrow(StoreUnavailableError);
  expect(looks).toBe(5);
});
