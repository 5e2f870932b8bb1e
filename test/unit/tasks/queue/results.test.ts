/** What a wait for a result leaves behind. */
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openMemoryQueue } from '../../../support/memory-queue.ts';

test('a wait for a result that is given up leaves no timer behind', async () => {
  const { client, clock } = openMemoryQueue();
  await client.enqueue('t', {}, { id: 'a' });
  const timers = new Set<object>();
  const after = clock.after.bind(clock);
  clock.after = (ms, call) => {
    const timer = {};
    timers.add(timer);
    const cancel = after(ms, () => {
      timers.delete(timer);
      call();
    });
    return () => {
      timers.delete(timer);
      cancel();
    };
  };
  const stop = new AbortController();

  const waiting = client.result('a', { wait: '1h', signal: stop.signal });
  await setImmediate();
  expect(timers.size).toBeGreaterThan(0);
  stop.abort(new Error('changed my mind'));

  await expect(waiting).rejects.toThrow('changed my mind');
  await setImmediate();
  expect(timers.size).toBe(0);
});
