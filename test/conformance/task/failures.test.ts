import { beforeEach, expect, test } from 'vitest';
import { itemSizeBytes } from '../../../shared/dynamo/engine/capacity.ts';
import { putFailure } from '../../../shared/tasks/rows/failure-statements.ts';
import { DoNotRetry } from '../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import type { Claim } from '../../../shared/tasks/task/task.ts';
import type { QueueUnderTest } from '../../support/queue.ts';
import { openQueue } from '../../support/queue.ts';
import { describeOnStore } from '../../support/stores.ts';
import { stamp } from '../../support/tasks.ts';

describeOnStore('where attempts failed', (open) => {
  let q: QueueUnderTest;
  beforeEach(() => {
    q = openQueue(open());
  });

  const failure = () => q.tasks.getFailure({ queue: q.queue, id: 't' });

  test('keeps the failure of a retried and of a final attempt, for at most two units', async () => {
    let attempts = 0;
    const kept: (Awaited<ReturnType<typeof failure>> | undefined)[] = [];
    const fails = defineTask({
      name: 'fails',
      retry: { backoff: 1 },
      run: async function chargeTheCard() {
        kept.push(await failure());
        if (++attempts === 1) throw new Error('first', { cause: new Error('below it') });
        throw new DoNotRetry(`second ${'x'.repeat(9_000)}`);
      },
    });
    await q.client.enqueue(fails, {}, { id: 't' });

    while ((await q.client.get('t'))?.state !== 'dead') await q.work({ fails });

    const [before, first] = kept;
    const task = await q.client.get('t');
    expect(before).toBeUndefined();
    expect(first?.stack).toMatch(/^Error: first\n *at .*chargeTheCard.*failures\.test\.ts/);
    expect(first?.stack).toContain('caused by Error: below it');
    expect(await failure()).toMatchObject({
      stack: expect.stringMatching(/^\w*: second x/) as string,
      leaseCounter: task?.leaseCounter,
    });
    expect(q.units()['failure.keep']).toBeLessThanOrEqual(2 + 2);
  });

  test('does not replace a failure by an older one', async () => {
    const claim: Claim = { queue: q.queue, id: 't', priority: 'normal', session: 's', leaseCounter: 7 };

    await q.tasks.keepFailure({ ...claim, leaseCounter: 8 }, 'later', stamp());
    await q.tasks.keepFailure(claim, 'earlier', stamp());

    expect(await failure()).toEqual({ stack: 'later', leaseCounter: 8 });
  });

  test('fits into two units, whatever its task is called and its text is made of', () => {
    for (const id of ['t', 'a'.repeat(900)])
      for (const text of ['x', 'ä', '😀']) {
        const claim = { queue: 'q', id, session: 's', leaseCounter: 1_795_000_000_000 } as Claim;
        const { Item } = putFailure('leasehold', claim, text.repeat(4_000), stamp()).input;
        const bytes = itemSizeBytes(Item ?? {});

        expect(bytes).toBeLessThanOrEqual(2_048);
        expect(bytes).toBeGreaterThan(2_040);
        expect(String(Item?.text)).toMatch(new RegExp(`^(?:${text})+$`, 'u'));
      }
  });
});
