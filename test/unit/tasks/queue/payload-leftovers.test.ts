/** Inputs in the user's store after each outcome of a request: a task that exists, or may exist, finds its input. */
import { expect, test, vi } from 'vitest';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import { TaskClient } from '../../../../shared/tasks/queue/task-client.ts';
import type { EnqueueOptions } from '../../../../shared/tasks/queue/task-client.ts';
import { PAYLOAD_ROW_LIMIT_BYTES } from '../../../../shared/tasks/task/payload.ts';
import { MemoryPayloads } from '../../../../shared/testing/memory-payloads.ts';
import { passTime } from '../../../support/coordination.ts';
import { Story, shown } from '../../../support/story.ts';

const LARGE = 'x'.repeat(PAYLOAD_ROW_LIMIT_BYTES);
const away = (): Promise<never> =>
  Promise.reject(new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' }));
const refused = (): Promise<never> =>
  Promise.reject(new DynamoFault('rejected', { code: 'AccessDeniedException', message: 'not allowed' }));
const READS: ReadonlySet<string> = new Set(['get', 'batchGet', 'query']);

const failing =
  (fail: () => Promise<never>, isApplied: boolean) =>
  (driver: DynamoDriver): void => {
    const attempt = driver.attempt.bind(driver);
    driver.attempt = async (kind, input, signal) => {
      if (READS.has(kind)) return attempt(kind, input, signal);
      if (isApplied) await attempt(kind, input, signal).catch(() => undefined);
      return fail();
    };
  };

test.each<[string, EnqueueOptions, unknown, ((driver: DynamoDriver) => void) | undefined, string, number]>([
  ['a new task', { id: 'new' }, LARGE, undefined, 'created: true', 2],
  ['the same task', { id: 't' }, LARGE, undefined, 'created: false', 1],
  ['a task that is kept', { id: 't', onDuplicate: 'keep' }, `${LARGE}y`, undefined, 'created: false', 1],
  ['other work', { id: 't' }, `${LARGE}y`, undefined, 'MismatchError', 1],
  ['other work that replaces it', { id: 't', onDuplicate: 'replace' }, `${LARGE}y`, undefined, 'replaced: true', 1],
  ['a new task in an outage', { id: 'new' }, LARGE, failing(away, false), 'StoreUnavailableError', 2],
  ['a new task without an answer', { id: 'new' }, LARGE, failing(away, true), 'StoreUnavailableError', 2],
  ['a new task that is refused', { id: 'new' }, LARGE, failing(refused, false), 'not allowed', 2],
])('%s', async (_what, options, input, accident, answer, left) => {
  const story = new Story();
  const { here, there, world } = story;
  const payloads = new MemoryPayloads();
  const clientOf = ({ ports, runtime }: typeof here) => new TaskClient({ store: ports.tasks, runtime }, { payloads });
  await clientOf(there).enqueue('work', LARGE, { id: 't' });
  accident?.(here.driver);

  const told = await passTime(
    world,
    clientOf(here)
      .enqueue('work', input, options)
      .catch((error: unknown) => error),
    1_000,
  );

  expect(shown(told)).toContain(answer);
  expect(payloads.references.length).toBe(left);
});

test('a store that refuses removals hides no outcome', async () => {
  const { ports, runtime } = new Story().here;
  const payloads = new MemoryPayloads();
  const client = new TaskClient({ store: ports.tasks, runtime }, { payloads });
  await client.enqueue('work', LARGE, { id: 't' });
  const refusing = vi.spyOn(payloads, 'delete').mockRejectedValue(new Error('AccessDenied'));

  const replacing = client.enqueue('work', `${LARGE}y`, { id: 't', onDuplicate: 'replace' });

  expect(await replacing).toMatchObject({ created: false, replaced: true });
  expect(refusing).toHaveBeenCalledOnce();
});
