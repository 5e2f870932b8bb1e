/** The queue of a Leasehold is the queue of whatever names none. */
import { expect, test } from 'vitest';
import type { Leasehold } from '../../../shared/client/leasehold.ts';
import { schedulesOf } from '../../../shared/client/schedules-of.ts';
import { simulatedWorld } from '../../support/coordination.ts';

const QUEUES: Readonly<Record<string, (leasehold: Leasehold) => Promise<string | undefined>>> = {
  'a task': async ({ tasks }) => (await tasks.enqueue('work', null)).queue,
  'a task that is read': async ({ tasks }) => {
    await tasks.enqueue('work', null, { id: 't', queue: 'own' });
    return (await tasks.get('t'))?.queue;
  },
  'a schedule': async (leasehold) =>
    (await schedulesOf(leasehold).define('s', 'work', null, { cron: '0 * * * *' })).queue,
  'a list of schedules': async (leasehold) => {
    const schedules = schedulesOf(leasehold);
    await schedules.define('s', 'work', null, { cron: '0 * * * *', queue: 'own' });
    for await (const { queue } of schedules.list()) return queue;
    return undefined;
  },
  'an operator’s act': async ({ operator }) => (await operator.pause()).queue,
};

test.each(Object.entries(QUEUES))('%s', async (_what, queueOf) => {
  expect(await queueOf(simulatedWorld().start({ queue: 'own' }).leasehold)).toBe('own');
});
