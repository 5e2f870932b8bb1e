/** Scans of foreign shards for the tasks of crashed workers. */
import { expect, test } from 'vitest';
import { IDLE_QUEUE, openIdleWorld } from '../../../../bench/idle-world.ts';
import { ForeignShards } from '../../../../shared/tasks/picker/foreign-shards.ts';
import { Partitions } from '../../../../shared/tasks/picker/partitions.ts';
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
