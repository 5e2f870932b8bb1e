/** Scans of foreign shards for the tasks of crashed workers. */
import { expect, test } from 'vitest';
import { IDLE_QUEUE, openIdleWorld } from '../../../../bench/idle-world.ts';
import { noSkewGauge } from '../../../../shared/core/lease/skew.ts';
import { ForeignShards } from '../../../../shared/tasks/picker/foreign-shards.ts';
import { Partitions } from '../../../../shared/tasks/picker/partitions.ts';

const thrown = (error: unknown): never => {
  throw error;
};

test('a scan takes no waiting task, so it does not count as a poll before the worker exits', async () => {
  const idle = openIdleWorld();
  const { runtime, stores } = idle.placeOf('worker');
  const settings = {
    queue: IDLE_QUEUE,
    shards: 2,
    homeShards: [0],
    exitsWhenEmpty: true,
    hasDispatcher: true,
    heartbeatMs: 1_000,
  };
  const ports = {
    ...stores,
    runtime,
    gauge: noSkewGauge,
    onDamaged: thrown,
    onSkewed: thrown,
    isTriedAlone: () => false,
    lanes: () => undefined,
    shards: () => undefined,
  };
  const partitions = new Partitions(settings, ports);
  const foreign = new ForeignShards(settings, ports, partitions);
  const lanes = partitions.foreign();

  await idle.world.run(async () => {
    for (const source of lanes) await foreign.scan(source, () => true);
  });

  expect(lanes.filter(({ lane }) => lane.isOfTenants)).toHaveLength(3);
  expect(lanes.filter(({ seenChanges }) => seenChanges >= 0)).toEqual([]);
});
