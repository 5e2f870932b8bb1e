/** Looking again when a row has changed: a few times, and not for ever. */
import { expect, test } from 'vitest';
import { StoreUnavailableError } from '../../../shared/errors.ts';
import { systemRuntime } from '../../../shared/runtime/runtime.ts';
import { insist } from '../../../shared/task/insist.ts';
import { ScheduleClient } from '../../../shared/task/schedule-client.ts';
import type { ScheduleStore } from '../../../shared/task/schedule-store.ts';

test('looks until acting has decided something', async () => {
  const reports = [undefined, undefined, 'done'];
  let looks = 0;

  expect(await insist('row', () => Promise.resolve(reports[looks++]))).toBe('done');
  expect(looks).toBe(3);
});

test('gives up on a row that changes with every look, and says that nothing was done', async () => {
  let looks = 0;

  const insisting = insist('schedule nightly', () => {
    looks++;
    return Promise.resolve(undefined);
  });

  await expect(insisting).rejects.toMatchObject({ name: 'StoreUnavailableError', applied: 'no' });
  await expect(insisting).rejects.toThrow('schedule nightly changed 5 times');
  expect(looks).toBe(5);
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
        ...{ queue, name, cron: '* * * * *', zone: 'UTC', missed: 'last', task: 'work', input: looks },
        ...{ priority: 'normal', toleranceMs: 0, nextAt: looks, nonce: `${looks}` },
      } as const);
    },
    put: () => Promise.resolve(refused),
    remove: () => Promise.resolve(refused),
  };
  const client = new ScheduleClient({ schedules: contested as ScheduleStore, runtime: systemRuntime });

  await expect(act(client)).rejects.toThrow(StoreUnavailableError);
  expect(looks).toBe(5);
});
