/** How often and how long a task is tried: given settings, defaults, and deaths counted in addition to failures. */
import { expect, test } from 'vitest';
import { defined } from '../../../../shared/core/defined.ts';
import { ConfigurationError } from '../../../../shared/core/errors.ts';
import { RetryAfter } from '../../../../shared/tasks/task/control.ts';
import type { RetryOptions } from '../../../../shared/tasks/task/definition.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import type { TestKit } from '../../../../shared/testing/kit.ts';
import { createTestKit } from '../../../../shared/testing/kit.ts';

const HOUR_MS = 3_600_000;

function policyOf(retry?: RetryOptions) {
  return defineTask({ name: 't', ...defined({ retry }), run: () => undefined });
}

/** Lets time pass from attempt to attempt until the task has ended; how long that took. */
async function untilEnded(kit: TestKit, id: string): Promise<number> {
  const begun = kit.clock.now();
  for (let attempt = 0; attempt < 100; attempt++) {
    await kit.drain();
    const task = await kit.tasks.get(id);
    if (task?.state !== 'ready') break;
    await kit.advance(Math.max(1, task.readyAt - kit.clock.now()));
  }
  return kit.clock.now() - begun;
}

test('allows 25 attempts with delays from 2 seconds to 4 hours, and five deaths, by default', () => {
  expect(policyOf().retry).toEqual({
    maxAttempts: 25,
    maxDeaths: 5,
    backoff: { baseMs: 2_000, capMs: 4 * HOUR_MS },
  });
});

test.each<[RetryOptions, object]>([
  [{ maxAttempts: 1 }, { maxAttempts: 1, maxDeaths: 1 }],
  [{ maxAttempts: 40 }, { maxAttempts: 40, maxDeaths: 40 }],
  [
    { maxAttempts: 3, maxDeaths: 2 },
    { maxAttempts: 3, maxDeaths: 2 },
  ],
  [{ maxDeaths: 2 }, { maxAttempts: 25, maxDeaths: 2 }],
  [
    { backoff: '1s', backoffCap: '1m' },
    { maxAttempts: 25, maxDeaths: 5, backoff: { baseMs: 1_000, capMs: 60_000 } },
  ],
])('what is given stays: %j', (given, expected) => {
  expect(policyOf(given).retry).toMatchObject(expected);
  expect(policyOf(given).retryInLine).toMatchObject({ ...expected, maxAttempts: given.maxAttempts ?? 5 });
});

test.each([0, 1.5, 1_001, Number.NaN])('maxDeaths = %s is refused', (maxDeaths) => {
  expect(() => policyOf({ maxDeaths })).toThrow(ConfigurationError);
});

test('survives an outage of an hour, and dies after about a day', async () => {
  let isOut = true;
  const calls = defineTask({
    name: 'calls',
    run: () => {
      if (isOut) throw new Error('no connection to the database');
    },
  });
  const kit = createTestKit({ tasks: { calls } });
  await kit.tasks.enqueue(calls, null, { id: 'short' });
  for (let passed = 0; passed < HOUR_MS; passed += 60_000) {
    await kit.drain();
    await kit.advance('1m');
  }
  isOut = false;
  await kit.advance('1h');
  await kit.drain();
  isOut = true;
  await kit.tasks.enqueue(calls, null, { id: 'long' });
  const lastedMs = await untilEnded(kit, 'long');

  expect(await kit.tasks.get('short')).toMatchObject({ state: 'done' });
  expect(await kit.tasks.get('long')).toMatchObject({ state: 'dead', attempts: 25, deaths: 0 });
  // A random half of each wait, like the kit's draws.
  expect(lastedMs).toBeGreaterThan(20 * HOUR_MS);
  expect(lastedMs).toBeLessThan(28 * HOUR_MS);
});

test('marks a task dead after it has crashed five workers, even with attempts left', async () => {
  const kills = defineTask({ name: 'kills', run: () => undefined });
  const kit = createTestKit({ tasks: { kills } });
  await kit.tasks.enqueue(kills, null, { id: 't' });

  for (let death = 1; death <= 5; death++) {
    await kit.crash('beforeRun');
    await kit.advance('2m');
    expect(await kit.tasks.get('t')).toMatchObject({ state: 'running', attempts: death, deaths: death - 1 });
  }
  await kit.drain();

  const task = await kit.tasks.get('t');
  expect(task).toMatchObject({ state: 'dead', attempts: 5, deaths: 5 });
  expect(task?.lastError).toMatchObject({ name: 'WorkerDied' });
  expect(task?.lastError?.message).toContain('died 5 times');
});

test('counts deaths and failures separately, and resets both when a task is retried', async () => {
  let isOut = true;
  const work = defineTask({
    name: 'work',
    retry: { maxAttempts: 10, maxDeaths: 2 },
    run: () => {
      if (isOut) throw new RetryAfter(1_000, 'not now');
    },
  });
  const kit = createTestKit({ tasks: { work } });
  await kit.tasks.enqueue(work, null, { id: 't' });
  for (let failure = 1; failure <= 3; failure++) {
    await kit.runOnce();
    await kit.advance('1s');
  }
  await kit.crash('beforeRun');
  await kit.advance('2m');
  await kit.crash('beforeRun');
  await kit.advance('2m');
  await kit.drain();

  expect(await kit.tasks.get('t')).toMatchObject({ state: 'dead', attempts: 5, deaths: 2 });
  expect((await kit.tasks.get('t'))?.lastError?.message).toMatch(/died 2 times .*; it was attempted 5 times/);
  isOut = false;
  await kit.operator.retry('t');
  await kit.crash('beforeRun');
  await kit.advance('2m');
  await kit.drain();
  expect(await kit.tasks.get('t')).toMatchObject({ state: 'done', attempts: 2, deaths: 1, failingSince: undefined });
});
