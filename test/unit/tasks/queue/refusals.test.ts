/**
 * A request that the service refuses, for example without a permission, ends each act of a client or an operator with that error,
 * whichever of its requests it is. It is not treated as an outage, a missing row, or a faster writer.
 */
import { expect, test } from 'vitest';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import { StoreUnavailableError } from '../../../../shared/core/errors.ts';
import { enqueueDueSlots } from '../../../../shared/tasks/dispatch/recur.ts';
import { INPUT_LIMIT_BYTES } from '../../../../shared/tasks/task/task.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import { passTime } from '../../../support/coordination.ts';
import { Story } from '../../../support/story.ts';
import type { Scene, Step } from './race-scenes.ts';
import { SCENES } from './race-scenes.ts';

const LARGE = 'x'.repeat(INPUT_LIMIT_BYTES);
const HOUR_MS = 3_600_000;
const put =
  (id: string, input: unknown = 1, options: object = {}): Step =>
  ({ there }) =>
    there.leasehold.tasks.enqueue('work', input, { id, ...options });

const OTHERS: Readonly<Record<string, Pick<Scene, 'before' | 'act'>>> = {
  'enqueue with a payload': { act: ({ here }) => here.leasehold.tasks.enqueue('work', LARGE, { id: 't' }) },
  'enqueue to replace a payload': {
    before: put('t', LARGE),
    act: ({ here }) => here.leasehold.tasks.enqueue('work', `${LARGE}y`, { id: 't', onDuplicate: 'replace' }),
  },
  'enqueue into a line': {
    before: put('t', 1, { key: 'k', ordered: true }),
    act: ({ here }) => here.leasehold.tasks.enqueue('work', 1, { id: 'u', key: 'k', ordered: true }),
  },
  'enqueue of several': {
    act: ({ here }) => here.leasehold.tasks.enqueueAll([spawn('work', 1, { id: 't' }), spawn('work', 1, { id: 'u' })]),
  },
  'a result': { before: put('t'), act: ({ here }) => here.leasehold.tasks.result('t', { wait: '1s' }) },
  'a result that there is not': { act: ({ here }) => here.leasehold.tasks.result('t', { wait: '1s' }).catch(rethrown) },
  'the open tasks': {
    before: put('t'),
    act: ({ here }) => Array.fromAsync(here.leasehold.operator.open({ shards: 8 })),
  },
  'the dead tasks': { act: ({ here }) => Array.fromAsync(here.leasehold.operator.dead()) },
  'several keys': {
    before: put('t', 1, { key: 'k' }),
    act: ({ here }) => here.leasehold.operator.keys(['k', 'l'], { shards: 8 }),
  },
  'the schedules': {
    before: ({ there }) => there.leasehold.schedules.define('s', 'report', 1, { cron: '0 * * * *' }),
    act: ({ here }) => Array.fromAsync(here.leasehold.schedules.list()),
  },
  'the due schedules': {
    before: async ({ there, world }) => {
      await there.leasehold.schedules.define('s', 'report', 1, { cron: '0 * * * *' });
      world.clock.step(HOUR_MS);
    },
    act: ({ here }) =>
      enqueueDueSlots('default', here.ports, (error) => {
        throw error;
      }),
  },
};

/** That there is no such task is an answer here. */
function rethrown(error: unknown): unknown {
  if (String(error).includes('there is no task')) return 'none';
  throw error;
}

/** Refuses the request at this place. Returns what is sent. */
function refuse(driver: DynamoDriver, place: number): string[] {
  const attempt = driver.attempt.bind(driver);
  const sent: string[] = [];
  driver.attempt = (kind, input, signal) =>
    sent.push(kind) - 1 === place
      ? Promise.reject(new DynamoFault('rejected', { code: 'AccessDeniedException', message: 'not allowed' }))
      : attempt(kind, input, signal);
  return sent;
}

async function run({ before, act }: Pick<Scene, 'before' | 'act'>, place: number) {
  const story = new Story();
  if (before !== undefined) await passTime(story.world, before(story));
  const sent = refuse(story.here.driver, place);
  const answer = await passTime(story.world, act(story), 1_000).catch((error: unknown) => error);
  return { sent, answer };
}

test('each act ends with the error of its request, whichever it is', async () => {
  const silent: string[] = [];
  for (const [name, scene] of Object.entries({ ...SCENES, ...OTHERS })) {
    const { sent } = await run(scene, -1);
    for (const [at, kind] of sent.entries()) {
      // Queries that follow each other read one shard each.
      if (kind === 'query' && sent[at - 1] === 'query') continue;
      const { answer } = await run(scene, at);
      const place = `${name}: request ${at + 1} of ${sent.length} (${kind})`;
      const isTold = answer instanceof Error && answer.message.includes('not allowed');
      if (!isTold || answer instanceof StoreUnavailableError) silent.push(`${place}: ${String(answer)}`);
    }
  }
  expect(silent).toEqual([]);
});
