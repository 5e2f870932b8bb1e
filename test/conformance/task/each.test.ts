import { expect, test } from 'vitest';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import { spawn } from '../../../shared/tasks/task/task-request.ts';
import { openQueue } from '../../support/queue.ts';
import { describeOnStore } from '../../support/stores.ts';

const SIZE = 16;

describeOnStore('a thousand items', (open) => {
  test('each of 63 tasks costs 0.33 write units', async () => {
    const q = openQueue(open());
    const items = Array.from({ length: 1_000 }, (_, n) => ({
      bucket: 'photos-eu',
      key: `2026/11/21/IMG_${4_000 + n}.jpg`,
    }));
    const seen = new Set<string>();
    const resize = defineTask({
      name: 'resize',
      run: (part: typeof items, task) => task.each(part, ({ key }) => void seen.add(key), { flushInterval: '1h' }),
    });
    const parts = Array.from({ length: Math.ceil(items.length / SIZE) }, (_, n) =>
      items.slice(n * SIZE, (n + 1) * SIZE),
    );
    await q.client.enqueueAll(parts.map((part) => spawn(resize, part)));

    const { settled } = await q.work({ resize });

    expect([parts.length, settled.done, seen.size]).toEqual([63, 63, 1_000]);
    const units = Object.entries(q.units()).flatMap(([verb, spent]) => (verb.startsWith('task.') ? [spent] : []));
    expect(units.reduce((sum, spent) => sum + spent, 0) / items.length).toBeLessThanOrEqual(0.33);
  });
});
