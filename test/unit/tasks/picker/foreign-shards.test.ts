/** Scans of foreign shards for the tasks of crashed workers. */
import { expect, test } from 'vitest';
import { IDLE_QUEUE, openIdleWorld } from '../../../../bench/idle-world.ts';
import { ForeignShards } from '../../../../shared/tasks/picker/foreign-shards.ts';
import { Partitions } from '../../../../shared/tasks/picker/partitions.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { openMemoryQueue } from '../../../support/memory-queue.ts';
import { pickerPorts } from '../../../support/picker-ports.ts';

test('a scan takes no waiting task, so it does not count as a poll before the worker exits', async () => {
  const idle = openIdleWorld();
  const settings = {
    queue: IDLE_QUEUE,
    shards: 2,
    homeShards: [0],
    exitsWhenEmpty: true,
    hasDispatcher: true,
    heartbeatMs: 1_000,
  };
  const ports = pickerPorts(idle.placeOf('worker'));
  const partitions = new Partitions(settings, ports);
  const foreign = new ForeignShards(settings, ports, partitions);
  const lanes = partitions.foreign();

  await idle.world.run(async () => {
    for (const source of lanes) await foreign.scan(source, { isWorthReading: () => true });
  });

  expect(lanes.filter(({ lane }) => lane.isOfGroups)).toHaveLength(3);
  expect(lanes.filter(({ seenChanges }) => seenChanges >= 0)).toEqual([]);
});

test.each([
  ['of high priority', { priority: 'high' }],
  ['of a tenant', { tenant: 'acme' }],
] as const)('scans leave turns for own tasks %s beside a backlog of long plain ones', async (_what, options) => {
  const q = openMemoryQueue((driver) => ({
    ...driver,
    attempt: async (verb, input, signal) => {
      await q.clock.sleep(5);
      return driver.attempt(verb, input, signal);
    },
  }));
  const enqueued = Promise.all(Array.from({ length: 60 }, (_, n) => q.client.enqueue('long', {}, { id: `t${n}` })));
  await q.clock.runUntil(enqueued, () => true);
  const begun: string[] = [];
  const long = defineTask({
    name: 'long',
    async run(_input, { id }) {
      begun.push(id);
      if (begun.length === 10) await q.client.enqueue('long', {}, { id: 'other', ...options });
      await q.clock.sleep(10_000);
    },
  });

  await q.work({ long }, { shards: 8, homeShards: [0] });

  expect(begun.slice(0, 25)).toContain('other');
});
