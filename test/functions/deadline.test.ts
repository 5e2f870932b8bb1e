/** No timer outlives its invocation: a frozen process would fire it in a later one. */
import middy from '@middy/core';
import { expect, test } from 'vitest';
import { deadline, deadlineOf } from '../../functions/middleware/deadline.ts';
import type { Context } from '../../functions/middleware/lambda-context.ts';
import { CountingClock } from '../support/manual-clock.ts';

const clock = new CountingClock('2026-03-01T12:00:00Z');
const signals: AbortSignal[] = [];

function invoke(work: () => Promise<unknown>): Promise<unknown> {
  const handler = middy(async (_event: unknown, context: Context) => {
    signals.push(deadlineOf(context).signal);
    return work();
  }).use(deadline({ marginMs: 10_000, clock }));
  return handler({}, { getRemainingTimeInMillis: () => 60_000 } as Context);
}

test.each([
  ['returns', () => Promise.resolve('done')],
  ['throws', () => Promise.reject(new Error('no'))],
])('ends its timer when the handler %s', async (_how, work) => {
  await invoke(work).catch(() => undefined);
  await clock.advance(0);

  expect(clock.sleeping).toBe(0);
  await clock.advance(60_000);
  expect(signals.at(-1)?.aborted).toBe(false);
});

test('aborts at the deadline less the margin', async () => {
  const atWork = Promise.withResolvers<undefined>();
  const invoked = invoke(() => atWork.promise);
  await clock.advance(49_999);
  expect(signals.at(-1)?.aborted).toBe(false);
  await clock.advance(1);
  expect(signals.at(-1)?.reason).toMatchObject({ name: 'HandedBackError' });
  atWork.resolve(undefined);
  await invoked;
});
