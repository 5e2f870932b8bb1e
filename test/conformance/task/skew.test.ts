import { expect, test } from 'vitest';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import { openQueue } from '../../support/queue.ts';
import { describeOnStore } from '../../support/stores.ts';
import { claimed } from '../../support/tasks.ts';

const noop = defineTask({ name: 'work', run: () => undefined });

describeOnStore('a worker whose clock is proven wrong by more than the bound', (open) => {
  test('expires no session, reports that once, and claims tasks without a holder', async () => {
    const q = openQueue(open());
    const dying = await q.session();
    const held = await claimed(q.tasks, dying.id, { queue: q.queue });
    await dying.end();
    const expired = await q.sessions.get(dying.id);
    const { id } = await q.client.enqueue(noop, {});
    const said: string[] = [];
    const log = { debug() {}, info() {}, warn() {}, error: (message: string) => void said.push(message) };
    // A session whose row is live, but whose renewal is long overdue.
    const sessions = {
      ...q.sessions,
      getMany: () => Promise.resolve(new Map([[dying.id, { ...expired!, status: 'live' as const, expiresAt: 1 }]])),
    };

    const report = await q.work({ noop }, { ports: { sessions, gauge: { provenSkewMs: () => 60_000 }, log } });

    expect(report).toMatchObject({ ended: 'drained', claimed: 1, takenOver: 0 });
    expect(said).toEqual(['takeovers stopped: clock skew']);
    expect(await q.tasks.get({ queue: q.queue, id })).toMatchObject({ state: 'done' });
    expect(await q.tasks.get(held)).toMatchObject({ state: 'running', session: dying.id });
  });
});
