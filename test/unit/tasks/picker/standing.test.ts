/** When a worker that has seen a task under a live session finds that the session is over, whatever became of it. */
import { expect, test } from 'vitest';
import { Rows } from '../../../../shared/tasks/picker/rows.ts';
import { stampOf } from '../../../../shared/core/lease/write.ts';
import type { ReadyTask } from '../../../../shared/tasks/task/task.ts';
import { passTime } from '../../../support/coordination.ts';
import { pickerPorts } from '../../../support/picker-ports.ts';
import { Story } from '../../../support/story.ts';

type Held = Awaited<ReturnType<Story['there']['leasehold']['session']>>;
type Fate = (story: Story, session: Held) => unknown;

const QUEUE = 'default';
const WATCHED_SECONDS = 24;

const ends: Fate = (_, session) => session.end();
const isDestroyed: Fate = ({ here }, session) => here.leasehold.sessions.destroy(session.id);
const dies: Fate = ({ there }) => {
  there.driver.isDown = true;
};
const isDeleted: Fate = ({ world, there }, session) => {
  there.driver.isDown = true;
  const { pk, sk } = world.rows().find((row) => row.sk === 'session' && String(row.pk).includes(session.id)) ?? {};
  const request = { TableName: world.table, Key: { pk, sk } } as never;
  return world.driver.attempt('delete', request, new AbortController().signal);
};

/** Seconds after which each of two tasks of the session is offered as abandoned. The second one is met later. */
async function offeredAt(fate: Fate, afterSeconds: number, ttl: number | null): Promise<readonly unknown[]> {
  const story = new Story();
  const { here, there, world } = story;
  const session = await passTime(world, there.leasehold.session({ ttl, lockDelay: 0 }));
  for (const id of ['a', 'b']) {
    await passTime(world, here.leasehold.tasks.enqueue('work', 1, { id }));
    const row = (await there.ports.tasks.get({ queue: QUEUE, id })) as ReadyTask;
    await passTime(world, there.ports.tasks.claim(row, session.id, stampOf(there.runtime)));
  }
  const settings = { queue: QUEUE, maxClockSkewMs: here.maxClockSkewMs, heartbeatMs: 1_000 };
  const rows = new Rows('mine', settings, pickerPorts({ runtime: here.runtime, stores: here.ports }));
  const offered: Record<string, number> = {};
  for (let second = 0; second <= WATCHED_SECONDS; second++) {
    if (second === afterSeconds) await passTime(world, Promise.resolve(fate(story, session)));
    for (const id of second < 3 ? ['a'] : ['a', 'b']) {
      const key = { queue: QUEUE, id, readyAt: 0 };
      if (!rows.isWorthReading(key)) continue;
      const { found } = await passTime(world, rows.choose([key]));
      if (found.some(({ kind }) => kind === 'abandoned')) offered[id] ??= second;
    }
    rows.forget();
    await story.pass(1_000);
  }
  return [offered.a, offered.b];
}

// A task is read again after two seconds, or after half of its running time.
test.each([
  ['lives on', () => undefined, 5, 10_000, [undefined, undefined]],
  ['ends', ends, 5, 10_000, [6, 8]],
  ['ends before it is met', ends, 0, 10_000, [0, 3]],
  // Its holder trusts it until it would have expired.
  ['is destroyed', isDestroyed, 5, 10_000, [15, 15]],
  ['has no TTL, and is destroyed', isDestroyed, 5, null, [6, 8]],
  ['has no TTL, and dies', dies, 5, null, [undefined, undefined]],
  ['dies', dies, 5, 10_000, [15, 15]],
  ['is deleted', isDeleted, 5, 10_000, [6, 8]],
] as const)('a session which %s', async (_which, fate, afterSeconds, ttl, offered) => {
  expect(await offeredAt(fate, afterSeconds, ttl)).toEqual(offered);
});

test('a task that is named twice, or at the same time, is offered once: a second run would be under the same claim', async () => {
  const { here, world } = new Story();
  await passTime(world, here.leasehold.tasks.enqueue('work', 1, { id: 'a' }));
  const settings = { queue: QUEUE, maxClockSkewMs: here.maxClockSkewMs, heartbeatMs: 1_000 };
  const rows = new Rows('mine', settings, pickerPorts({ runtime: here.runtime, stores: here.ports }));
  const key = { queue: QUEUE, id: 'a' };

  const choices = await passTime(world, Promise.all([rows.choose([key, key]), rows.choose([key])]));

  expect(choices.flatMap(({ found }) => found)).toHaveLength(1);
});
