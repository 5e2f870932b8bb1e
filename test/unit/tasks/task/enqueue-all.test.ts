/** Many tasks at once, and a store that becomes unavailable between them: once a caller gets the error, no further request is sent. */
import { setImmediate as drained } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import { MismatchError } from '../../../../shared/core/errors.ts';
import { InvalidInputError } from '../../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import type { NewTask } from '../../../../shared/tasks/task/task-store.ts';
import type { MemoryQueue } from '../../../support/memory-queue.ts';
import { openMemoryQueue } from '../../../support/memory-queue.ts';

const IN_FLIGHT = 4;
const MANY = 200;
const work = defineTask({ name: 'work', run: () => undefined });

describe('when the store goes away', () => {
  let queue: MemoryQueue;
  let sent = 0;
  let underWay = 0;
  /** Requests that are still answered. */
  let answers: number;

  beforeEach(() => {
    [sent, underWay, answers] = [0, 0, 10];
    queue = openMemoryQueue(leaving);
  });

  /** Answers late, and in sequence: a caller that does not wait for all gets the first failure while others are in flight. */
  function leaving(driver: DynamoDriver): DynamoDriver {
    return {
      async attempt(kind, input, signal) {
        const number = ++sent;
        underWay++;
        try {
          for (let turn = 0; turn < number % IN_FLIGHT; turn++) await drained();
          if (number > answers) throw new DynamoFault('rejected', { code: 'AccessDenied', message: 'not any more' });
          return await driver.attempt(kind, input, signal);
        } finally {
          underWay--;
        }
      },
    };
  }

  async function refusal(work: Promise<unknown>): Promise<unknown> {
    const error = await work.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    const [sentBefore, underWayBefore] = [sent, underWay];
    for (let turn = 0; turn < 50; turn++) await drained();
    expect({ underWay: underWayBefore, sentAfterwards: sent - sentBefore }).toEqual({ underWay: 0, sentAfterwards: 0 });
    return error;
  }

  const tasks = (options: (n: number) => Record<string, unknown>): Promise<NewTask[]> =>
    Promise.all(
      Array.from({ length: MANY }, (_, n) => queue.client.validate(work, {}, { id: `t${n}`, ...options(n) })),
    );

  test.each([
    ['tasks', () => ({})],
    ['tasks of a few lines', (n: number) => ({ key: `k${n % 3}`, ordered: true })],
  ])('%s beyond those under way are not sent, and those are waited for', async (_what, options) => {
    const enqueuing = queue.client.enqueueAll(await tasks(options), { inFlight: IN_FLIGHT });

    expect(String(await refusal(enqueuing))).toContain('not any more');
    expect(sent).toBeLessThanOrEqual(answers + 2 * IN_FLIGHT);
  });

  test('sends all tasks while the store is available', async () => {
    answers = Infinity;

    const enqueued = await queue.client.enqueueAll(await tasks(() => ({})), { inFlight: IN_FLIGHT });

    expect(enqueued.filter((outcome) => 'created' in outcome && outcome.created)).toHaveLength(MANY);
  });
});

test('takes requests made by spawn and validated ones like enqueue, and answers in order', async () => {
  const queue = openMemoryQueue();
  const noted = defineTask({ name: 'noted', input: z.object({ n: z.number() }), run: () => undefined });

  const answers = await queue.client.enqueueAll([
    spawn(noted, { n: 1 }, { id: 'a', priority: 'high' }),
    await queue.client.validate(work, null, { id: 'b' }),
    spawn('work', null, { id: 'b' }),
    spawn(work),
    spawn('noted', { n: 1 }, { id: 'b' }),
  ]);

  expect(answers.slice(0, 3)).toMatchObject([
    { id: 'a', created: true },
    { id: 'b', created: true },
    { id: 'b', created: false },
  ]);
  expect(answers[3]).toMatchObject({ created: true });
  expect(answers[4]).toBeInstanceOf(MismatchError);
  expect(await queue.client.get('a')).toMatchObject({ priority: 'high', input: { n: 1 } });
});

test('names the position of one bad item among many, and writes nothing', async () => {
  const queue = openMemoryQueue();
  const noted = defineTask({ name: 'noted', input: z.object({ n: z.number() }), run: () => undefined });
  const tasks = [spawn(noted, { n: 1 }, { id: 'a' }), spawn(noted, { n: 'two' } as never, { id: 'b' })];

  const enqueuing = queue.client.enqueueAll(tasks);

  await expect(enqueuing).rejects.toThrow(InvalidInputError);
  await expect(enqueuing).rejects.toThrow('enqueueAll: item 2: the input of task b does not fit the schema of noted');
  expect(await queue.client.get('a')).toBeUndefined();
});

test('names the first unusable task of the list, also if the check of a later one fails sooner', async () => {
  const queue = openMemoryQueue();
  const refusedAfter = (turns: number) =>
    z.unknown().refine(async () => {
      for (let turn = 0; turn < turns; turn++) await drained();
      return false;
    });
  const slow = defineTask({ name: 'slow', input: refusedAfter(5), run: () => undefined });
  const quick = defineTask({ name: 'quick', input: refusedAfter(0), run: () => undefined });

  await expect(queue.client.enqueueAll([spawn(slow, {}), spawn(quick, {})])).rejects.toThrow('item 1: ');
});
