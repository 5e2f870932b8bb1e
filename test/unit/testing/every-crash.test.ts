/** `kit.everyCrash`: a worker killed at each of its requests, once before the request and once after it. */
import { expect, test } from 'vitest';
import { ConfigurationError } from '../../../shared/core/errors.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import type { CrashRun } from '../../../shared/testing/every-crash.ts';
import { createTestKit } from '../../../shared/testing/kit.ts';

const COUNT = {
  TableName: 'orders',
  Key: { id: 'a-1' },
  UpdateExpression: 'ADD shipped :one',
  ExpressionAttributeValues: { ':one': 1 },
};
const orders = { name: 'orders', partitionKey: 'id' };

test('applies a commit once, wherever its worker is killed', async () => {
  const ship = defineTask({ name: 'ship', run: (_: unknown, task) => task.commit('shipped', [{ Update: COUNT }]) });
  const kit = createTestKit({ tasks: { ship }, tables: [orders] });
  kit.put('orders', { id: 'a-1', shipped: 5 });
  const runs: CrashRun[] = [];

  const report = await kit.everyCrash(ship, null, (run) => {
    runs.push(run);
    expect(kit.rows('orders')).toEqual([{ id: 'a-1', shipped: 6 }]);
    expect(run.task).toMatchObject({ state: 'done', result: 'shipped' });
  });

  expect(report.requests).toEqual(expect.arrayContaining(['session.create', 'task.claim', 'task.commit']));
  expect(report.crashes).toBe(2 * report.requests.length);
  expect(runs.map(({ crash }) => crash?.verb)).toEqual([undefined, ...report.requests.flatMap((verb) => [verb, verb])]);
  // Only a crash between claim and end costs an attempt.
  const twice = runs.filter(({ task }) => task.attempts === 2).map(({ crash }) => `${crash?.outcome} ${crash?.verb}`);
  expect(twice).toContain('unanswered task.claim');
  expect(twice).toContain('unsent task.commit');
  expect(twice).not.toContain('unsent task.claim');
  expect(twice).not.toContain('unanswered task.commit');
});

test('an effect outside of the commit happens twice: the error names the request, and one option repeats it alone', async () => {
  const mails: string[] = [];
  const welcome = defineTask({ name: 'welcome', run: (to: string) => void mails.push(to) });
  const kit = createTestKit({ tasks: { welcome } });
  const before = () => (mails.length = 0);
  const check = () => expect(mails).toEqual(['ann']);

  const failure = await kit.everyCrash(welcome, 'ann', check, { before }).then(() => '', String);

  expect(failure).toMatch(/killed at request (\d+) of \d+ \(task\.complete\), before it was sent: expected/);
  const [, request] = /request: (\d+), outcome: 'unsent'/.exec(failure) ?? [];
  const tried: unknown[] = [];
  const only = { request: Number(request), outcome: 'unsent' } as const;
  await expect(
    kit.everyCrash(
      welcome,
      'ann',
      ({ crash }) => {
        tried.push(crash?.request);
        check();
      },
      { before, only },
    ),
  ).rejects.toThrow('task.complete');
  expect(tried).toEqual([undefined, only.request]);
});

test.each([0, 2])(
  'refuses a task whose step %s differs between its runs, even with that crash alone',
  async (differing) => {
    let runs = 0;
    const open = (isFickle: boolean) => {
      const steps = defineTask({
        name: 'steps',
        async run(_: unknown, task) {
          const isLater = isFickle && runs++ > 0;
          for (let step = 0; step < 3; step++)
            if (isLater && step === differing) await kit.leasehold.locks.get('k');
            else await task.saveProgress(step);
        },
      });
      const kit = createTestKit({ tasks: { steps } });
      return { kit, steps };
    };
    const steady = open(false);
    const { requests } = await steady.kit.everyCrash(steady.steps, null, () => undefined);
    const places = requests.flatMap((verb, at) => (verb === 'task.progress' ? at + 1 : []));
    const request = places[differing]!;

    const { kit, steps } = open(true);
    const only = { request, outcome: 'unsent' } as const;

    await expect(kit.everyCrash(steps, null, () => undefined, { only })).rejects.toThrow(
      `request ${request} was update leasehold, and is now get leasehold`,
    );
  },
);

test('never continues code of a killed worker, and aborts its signal', async () => {
  const seen: string[] = [];
  const signals: AbortSignal[] = [];
  let attempt = 0;
  let killedAtWork = 0;
  const slow = defineTask({
    name: 'slow',
    async run(_: unknown, task) {
      const me = ++attempt;
      signals.push(task.signal);
      await kit.leasehold.rateLimiter('mails', { rate: 100, per: '1m' }).take('all');
      seen.push(`sent ${me}`);
      await kit.clock.sleep(1_000);
      seen.push(`slept ${me}`);
    },
  });
  const kit = createTestKit({ tasks: { slow } });

  await kit.everyCrash(
    slow,
    null,
    ({ crash, task }) => {
      expect(task.state).toBe('done');
      // A crash at the end, which its task hears nothing of, comes after the code.
      const isAtEnd = crash?.verb === 'task.complete';
      expect(seen.filter((line) => line.startsWith('slept'))).toHaveLength(isAtEnd && task.attempts === 2 ? 2 : 1);
      if (attempt < 2 || isAtEnd) return;
      expect(signals[0]?.aborted).toBe(true);
      expect(seen).not.toContain('slept 1');
      killedAtWork++;
    },
    {
      timePasses: true,
      before() {
        seen.length = 0;
        signals.length = 0;
        attempt = 0;
      },
    },
  );
  expect(killedAtWork).toBeGreaterThan(2);
});

test.each([
  [{ only: { request: 0.5, outcome: 'unsent' } }, 'only = '],
  [{ only: { request: 99, outcome: 'unsent' } }, 'only.request = 99: the task made'],
  [{ wait: '1s' }, 'unknown option "wait"'],
])('refuses %j', async (options, message) => {
  const done = defineTask({ name: 'done', run: () => undefined });
  const kit = createTestKit({ tasks: { done } });
  const trying = kit.everyCrash(done, null, () => undefined, options as object);
  await expect(trying).rejects.toThrow(ConfigurationError);
  await expect(trying).rejects.toThrow(message);
});
