import { beforeEach, expect, test } from 'vitest';
import { ConfigurationError } from '../../../shared/core/errors.ts';
import type { EnqueueOptions } from '../../../shared/tasks/queue/task-client.ts';
import type { ReadyTask } from '../../../shared/tasks/task/task.ts';
import type { QueueUnderTest } from '../../support/queue.ts';
import { openQueue } from '../../support/queue.ts';
import { describeOnStore } from '../../support/stores.ts';
import { stamp } from '../../support/tasks.ts';

describeOnStore('listing what is ready and running', (open) => {
  let q: QueueUnderTest;

  beforeEach(() => {
    q = openQueue(open());
  });

  const enqueue = (id: string, options: EnqueueOptions = {}) => q.client.enqueue('work', {}, { id, ...options });
  const list = async (options: { priorities?: readonly ('high' | 'normal' | 'low')[] } = {}) => {
    const found = [];
    for await (const { id, state } of q.operator.open({ shards: 2, ...options })) found.push(`${id} ${state}`);
    return found.sort();
  };

  test('shows each task once, with or without a tenant, due or delayed, and no ended task', async () => {
    await enqueue('plain');
    await enqueue('later', { delay: '1h' });
    await enqueue('of a tenant', { tenant: 'acme' });
    await enqueue('urgent', { priority: 'high' });
    await enqueue('cancelled');
    await q.operator.cancel('cancelled');
    await q.tasks.claim((await q.tasks.get({ queue: q.queue, id: 'plain' })) as ReadyTask, 'somebody', stamp());

    expect(await list()).toEqual(['later ready', 'of a tenant ready', 'plain running', 'urgent ready']);
    expect(await list({ priorities: ['high'] })).toEqual(['urgent ready']);
  });

  test('walks through pages of plain tasks and of tenants', async () => {
    const asked = Array.from({ length: 240 }, (_, n) =>
      q.client.validate('work', { n }, n % 2 === 0 ? {} : { tenant: `t${n % 6}` }),
    );
    await q.client.enqueueAll(await Promise.all(asked));

    expect(await list()).toHaveLength(240);
  });

  test('refuses an unknown priority', () => {
    expect(() => q.operator.open({ shards: 2, priorities: ['urgent' as 'high'] })).toThrow(ConfigurationError);
  });
});
