/** Each option of a client at the edge, and of its sessions, changes its writes; its answers equal the answers of the client for Node. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { MemoryEngine } from '../../../../local/engine/memory.ts';
import { startMemoryEngine } from '../../../../local/engine/memory.ts';
import type { EdgeOptions } from '../../../../shared/client/edge/edge-connection.ts';
import { connect } from '../../../../shared/client/edge/edge-connection.ts';
import { createLeasehold } from '../../../../shared/client/edge/edge-leasehold.ts';
import { enqueuer, getTask } from '../../../../shared/client/edge/enqueuer.ts';
import { createWorker } from '../../../../shared/client/create-worker.ts';
import type { Leasehold } from '../../../../shared/client/leasehold.ts';
import { createLeasehold as createForNode } from '../../../../shared/client/leasehold.ts';
import { formatSequencer } from '../../../../shared/core/lease/sequencer.ts';
import { systemRuntime } from '../../../../shared/core/runtime/runtime.ts';
import { shardOf, taskKey } from '../../../../shared/dynamo/engine/keys.ts';
import { getStatement } from '../../../../shared/dynamo/engine/statement.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { silent } from '../../../../shared/testing/silent-log.ts';
import { STATIC_CREDENTIALS } from '../../../support/drivers.ts';

let engine: MemoryEngine;
let node: Leasehold;
beforeAll(async () => {
  engine = await startMemoryEngine(undefined);
  node = createForNode({ endpoint: engine.endpoint });
  await node.createTable();
});
afterAll(async () => {
  node.close();
  await engine.stop();
});

const optionsOf = (more: Partial<EdgeOptions> = {}): EdgeOptions => ({
  table: 'leasehold',
  region: 'local',
  credentials: STATIC_CREDENTIALS,
  endpoint: engine.endpoint,
  ...more,
});
const open = (more: Partial<EdgeOptions> = {}) => createLeasehold(optionsOf(more));

test('a sequencer is verified as the client for Node does it: of a lock and of a task, by kind', async () => {
  const edge = open();
  const session = await edge.session();
  const lock = await session.lock('edge/verify');
  const { sequencer } = lock;

  const verdicts = [await edge.verify(sequencer), await node.verify(sequencer)];
  expect(verdicts[0]).toMatchObject({ kind: 'valid' });
  expect(verdicts[1]).toEqual(verdicts[0]);
  await lock.release();
  expect(await edge.verify(sequencer)).toEqual(await node.verify(sequencer));
  expect(await edge.verify(sequencer)).not.toMatchObject({ kind: 'valid' });
  const seen: unknown[] = [];
  const verify = defineTask({
    name: 'verify',
    run: async (_: unknown, { sequencer: own }) => {
      seen.push(await edge.verify(own), await node.verify(own), own);
    },
  });
  await node.tasks.enqueue(verify, null);
  await createWorker({ verify }, { endpoint: engine.endpoint, untilDrained: true, log: silent }).run();
  expect(seen).toMatchObject([{ kind: 'valid' }, seen[0], expect.any(String)]);
  expect(await edge.verify(seen[2] as string)).toEqual(await node.verify(seen[2] as string));
  const ofPermit = {
    table: 'leasehold',
    kind: 'semaphore',
    key: 'permits',
    leaseCounter: 1,
    session: session.id,
  } as const;
  await expect(edge.verify(formatSequencer(ofPermit))).rejects.toThrow('pass its token to semaphores.verify');
  await session.end();
});

test('callers wait for a lock, a semaphore and a rate limit of one name without waiting for each other', async () => {
  const edge = open();
  const session = await edge.session();
  const limiter = edge.rateLimiter('same', { rate: 1, per: '1h' });
  const lock = await session.lock('same');
  const permit = await session.permit('same', { limit: 1 });

  expect(await limiter.tryTake('same')).toMatchObject({ kind: 'taken' });
  const giving = new AbortController();
  const waiting = [
    session.permit('same', { limit: 1, wait: '1h', signal: giving.signal }),
    limiter.take('same', { wait: '1h', signal: giving.signal }),
  ].map((wait) => wait.catch((error: unknown) => error));
  await permit.release();
  expect(await waiting[0]).toMatchObject({ semaphore: 'same' });
  giving.abort(new Error('enough'));
  expect(await waiting[1]).toMatchObject({ message: 'enough' });
  await lock.release();
  await session.end();
});

test('tasks go to the queue and the shards of the connection, and observer and fetch see each request', async () => {
  const verbs: string[] = [];
  let fetched = 0;
  const options = {
    queue: 'mail',
    shards: 2,
    observer: {
      onAttempt: ({ statement }: { readonly statement: { readonly verb: string } }) => void verbs.push(statement.verb),
    },
    fetch: ((...call) => {
      fetched++;
      return fetch(...call);
    }) as typeof fetch,
  };
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  for (const id of ids) await open(options).tasks.enqueue('send', null, { id: `whole-${id}` });
  for (const id of ids) await enqueuer(connect(optionsOf(options))).enqueue('send', null, { id: `small-${id}` });
  const connection = connect(optionsOf(options));

  expect(await getTask(connection, 'small-a')).toMatchObject({ queue: 'mail', id: 'small-a' });
  expect(await getTask(connection, 'small-a', { queue: 'default' })).toBeUndefined();
  expect(await node.tasks.get('whole-a', 'mail')).toMatchObject({ queue: 'mail' });
  expect(verbs.length).toBe(fetched);
  expect(new Set(verbs)).toEqual(new Set(['task.enqueue', 'task.get']));
  for (const id of ids.flatMap((each) => [`whole-${each}`, `small-${each}`])) {
    const { Item } = await connection.sender.read(getStatement('task.get', 'leasehold', taskKey('mail', id)));
    expect(Item?.readyKey).toBe(`mail#normal#${shardOf(id, 2)}`);
  }
});

test('a clock that the service proves wrong opens no session', async () => {
  const clock = { ...systemRuntime.clock, now: () => systemRuntime.clock.now() + 60_000 };
  const edge = createLeasehold(optionsOf(), { ...systemRuntime, clock });
  await edge.tasks.get('none');

  await expect(edge.session()).rejects.toMatchObject({ name: 'ClockSkewError' });
});
