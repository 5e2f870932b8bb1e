/** Each option of `createWorker` changes what the worker does. The compiler refuses this table without one of them. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { MemoryEngine } from '../../../local/engine/memory.ts';
import { startMemoryEngine } from '../../../local/engine/memory.ts';
import type { WorkerOptions } from '../../../shared/client/create-worker.ts';
import { createWorker } from '../../../shared/client/create-worker.ts';
import type { Leasehold } from '../../../shared/client/leasehold.ts';
import { createLeasehold } from '../../../shared/client/leasehold.ts';
import { createStores } from '../../../shared/client/stores.ts';
import { DEFAULT_TTL_MS } from '../../../shared/core/lease/timing.ts';
import { ConfigurationError } from '../../../shared/core/errors.ts';
import { shardOf } from '../../../shared/dynamo/engine/keys.ts';
import { connectDynamo } from '../../../shared/dynamo/connect.ts';
import { systemRuntime } from '../../../shared/core/runtime/runtime.ts';
import { workerName } from '../../../shared/tasks/dispatch/live-workers.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import { PAYLOAD_ROW_LIMIT_BYTES } from '../../../shared/tasks/task/payload.ts';
import type { PayloadStore } from '../../../shared/tasks/task/payload.ts';
import { STATIC_CREDENTIALS } from '../../support/drivers.ts';
import { serviceError, startFaultServer } from '../../support/fault-server.ts';
import { recordSpans } from '../../support/spans.ts';
import { whenAborted } from '../../support/when-aborted.ts';
import { silent } from '../../../shared/testing/silent-log.ts';

const TABLE = 'leasehold';
const HOUR_MS = 3_600_000;
const clients: Leasehold[] = [];

let engine: MemoryEngine;
let other: MemoryEngine;

beforeAll(async () => {
  engine = await startMemoryEngine(undefined);
  other = await startMemoryEngine(undefined);
  for (const { endpoint } of [engine, other])
    for (const table of [TABLE, 'another']) {
      using leasehold = createLeasehold({ endpoint, table });
      await leasehold.createTable();
    }
});
afterAll(async () => {
  for (const client of clients) client.close();
  await engine.stop();
  await other.stop();
});

/** Calls of an option's callbacks. */
const told: string[] = [];
const tell = (what: string) => () => void told.push(what);

const kept = new Map<string, string>();
const payloads: PayloadStore = {
  put: (name, text) => Promise.resolve(kept.set(name, text)).then(() => name),
  get: (name) => Promise.resolve(kept.get(name)),
  delete: (name) => Promise.resolve(kept.delete(name)).then(ignore),
};

interface Option<Value> {
  readonly value: () => Value;
  /** Runs a worker with these options. */
  readonly see: (options: WorkerOptions, queue: string) => Promise<unknown>;
  /** The observation with the value, and without it. */
  readonly seen: readonly [withIt: unknown, withoutIt: unknown];
}

const OPTIONS: { readonly [Name in keyof WorkerOptions]-?: Option<WorkerOptions[Name]> } = {
  table: { value: () => 'another', see: found, seen: [0, 1] },
  queue: { value: () => 'another', see: found, seen: [0, 1] },
  endpoint: { value: () => other.endpoint, see: found, seen: [0, 1] },
  allowHttp: { value: () => true, see: acceptsHttp, seen: [true, false] },
  clientConfig: { value: () => ({ endpoint: other.endpoint, ...OF_OTHER }), see: found, seen: [0, 1] },
  client: { value: () => new DynamoDBClient({ endpoint: other.endpoint, ...OF_OTHER }), see: found, seen: [0, 1] },
  region: { value: () => 'eu-west-1', see: regionOf, seen: ['eu-west-1', 'local'] },
  shards: {
    value: () => 2,
    async see(options, queue) {
      const id = ['a', 'b', 'c', 'd', 'e', 'f'].find((one) => shardOf(one, 2) === 1) ?? '';
      using leasehold = createLeasehold({ endpoint: engine.endpoint, queue, shards: 2 });
      await leasehold.tasks.enqueue(noop, null, { id });
      return (await drained(options, { noop })).done;
    },
    seen: [1, 0],
  },
  maxClockSkew: {
    value: () => '2h',
    async see(options, queue) {
      await abandonAnHourAgo(queue);
      return (await drained(options, { noop })).done;
    },
    seen: [0, 1],
  },
  payloads: {
    value: () => payloads,
    async see(options, queue) {
      using leasehold = createLeasehold({ endpoint: engine.endpoint, queue, shards: 1, payloads });
      await leasehold.tasks.enqueue(noop, 'x'.repeat(PAYLOAD_ROW_LIMIT_BYTES));
      return (await drained(options, { noop })).done;
    },
    seen: [1, 0],
  },
  concurrency: {
    value: () => 1,
    async see(options, queue) {
      let running = 0;
      let most = 0;
      const two = Promise.withResolvers<undefined>();
      const work = defineTask({
        name: 'work',
        run: async () => {
          most = Math.max(most, ++running);
          if (running === 2) two.resolve(undefined);
          await Promise.race([two.promise, wait(options.concurrency === 1 ? 100 : 60_000, undefined, { ref: false })]);
          running--;
        },
      });
      for (const id of ['a', 'b']) await at(queue).tasks.enqueue(work, null, { id });
      await drained(options, { work });
      return most;
    },
    seen: [1, 2],
  },
  sessionTtl: { value: () => '1h', see: sessionsWith('ttlMs'), seen: [[HOUR_MS], [DEFAULT_TTL_MS]] },
  grace: {
    value: () => 0,
    async see(options, queue) {
      const begun = Promise.withResolvers<undefined>();
      const work = defineTask({
        name: 'work',
        run: async (_: unknown, { signal }) => {
          begun.resolve(undefined);
          await whenAborted(signal);
          await wait(200);
        },
      });
      await at(queue).tasks.enqueue(work, null);
      const worker = createWorker({ work }, options);
      const running = worker.run();
      await begun.promise;
      worker.stop();
      return (await running).done;
    },
    seen: [0, 1],
  },
  untilDrained: {
    value: () => true,
    async see(options) {
      const worker = createWorker({ noop }, options);
      const running = worker.run();
      const patience = wait(options.untilDrained === true ? 60_000 : 1_000, 'waits', { ref: false });
      const seen = await Promise.race([running.then(() => 'ends'), patience]);
      worker.stop();
      await running;
      return seen;
    },
    seen: ['ends', 'waits'],
  },
  logEnds: {
    value: () => true,
    async see(options, queue) {
      const lines: string[] = [];
      await found({ ...options, log: { ...silent, info: (message: string) => void lines.push(message) } }, queue);
      return lines.includes('task settled');
    },
    seen: [true, false],
  },
  codeVersion: { value: () => 'a1b2c3', see: sessionsWith('codeVersion'), seen: [['a1b2c3'], [undefined]] },
  listFinished: {
    value: () => true,
    async see(options, queue) {
      await found(options, queue);
      try {
        for await (const { kind } of at(queue).operator.ended()) return kind;
      } catch (error) {
        return error instanceof ConfigurationError && 'no list';
      }
      return 'no entry';
    },
    seen: ['ended', 'no list'],
  },
  attemptSpans: {
    value: () => 'link',
    async see(options, queue) {
      using recorded = recordSpans();
      await found(options, queue);
      return recorded.take().find(({ name }) => name === `process ${queue}`)?.links.length;
    },
    seen: [1, 0],
  },
  observer: { value: () => ({ onAttempt: tell('sent') }), see: toldOf('sent'), seen: [true, false] },
  log: { value: () => ({ ...silent, info: tell('said') }), see: toldOf('said'), seen: [true, false] },
  events: { value: () => ({ onSettled: tell('settled') }), see: toldOf('settled'), seen: [true, false] },
  middleware: {
    value: () => [{ before: tell('around') }],
    see: toldOf('around'),
    seen: [true, false],
  },
};

const OF_OTHER = { region: 'local', credentials: STATIC_CREDENTIALS };
const noop = defineTask({ name: 'work', run: (_: unknown, { log }) => log.info('said') });

test.concurrent.each(Object.entries(OPTIONS))('%s', async (name, { value, see, seen }) => {
  const isAddress = name === 'client' || name === 'clientConfig';
  const byDefault = (queue: string): WorkerOptions => ({ queue, endpoint: engine.endpoint, shards: 1, log: silent });

  const withoutIt = await see(byDefault(`without-${name}`), `without-${name}`);
  const given = { ...byDefault(`with-${name}`), ...(isAddress && { endpoint: undefined }), [name]: value() };

  expect([await see(given, `with-${name}`), withoutIt]).toEqual(seen);
});

/** Ends of tasks in a worker that exits when the queue is empty. */
function drained(options: WorkerOptions, definitions: Readonly<Record<string, unknown>>) {
  return createWorker(definitions, { ...options, untilDrained: true }).run();
}

/** Whether it would send to another machine without TLS. */
async function acceptsHttp(options: WorkerOptions): Promise<boolean> {
  const open = async () => connectDynamo({ ...options, endpoint: 'http://db.example' }, systemRuntime);
  return open().then(
    (connection) => {
      connection.close();
      return true;
    },
    () => false,
  );
}

/** The number of times that a worker finds one waiting task. */
async function found(options: WorkerOptions, queue: string): Promise<number> {
  await at(queue).tasks.enqueue(noop, null);
  return (await drained(options, { noop })).done;
}

/** The session of the worker while a task runs. */
function sessionsWith(fact: 'ttlMs' | 'codeVersion'): Option<unknown>['see'] {
  return async (options, queue) => {
    const seen: unknown[] = [];
    const work = defineTask({
      name: 'work',
      run: async () => {
        for await (const session of at(queue).sessions.list(workerName(queue))) seen.push(session[fact]);
      },
    });
    await at(queue).tasks.enqueue(work, null);
    await drained(options, { work });
    return seen;
  };
}

function toldOf(what: string): Option<unknown>['see'] {
  return async (options, queue) => {
    await found(options, queue);
    return told.includes(what);
  };
}

/** The region that the worker's first request is signed for. */
async function regionOf(options: WorkerOptions): Promise<string | undefined> {
  await using server = await startFaultServer();
  server.behave(serviceError('AccessDeniedException'));
  await expect(drained({ ...options, endpoint: server.endpoint }, { noop })).rejects.toThrow('AccessDenied');
  return server.received[0]?.header('authorization')?.split('/')[2];
}

/** A task of a worker that crashed, and whose session expired about an hour ago. */
async function abandonAnHourAgo(queue: string): Promise<void> {
  const { sender } = connectDynamo({ endpoint: engine.endpoint }, systemRuntime);
  const { tasks, sessions } = createStores(sender, { table: TABLE, shards: 1 });
  const stamp = () => ({ now: systemRuntime.clock.now() - HOUR_MS, nonce: systemRuntime.ids.unique() });
  const id = systemRuntime.ids.unique();
  const facts = { name: workerName(queue), node: 'gone', ttlMs: DEFAULT_TTL_MS, lockDelayMs: 0 };
  await sessions.create({ id, behaviour: 'release', ...facts, ...stamp() });
  await at(queue).tasks.enqueue(noop, null, { id: 'abandoned' });
  const task = await tasks.get({ queue, id: 'abandoned' });
  if (task?.state !== 'ready') throw new Error('not ready');
  expect((await tasks.claim(task, id, { ...stamp(), now: systemRuntime.clock.now() })).kind).toBe('applied');
}

/** A client of the queue. */
function at(queue: string): Leasehold {
  const leasehold = createLeasehold({ endpoint: engine.endpoint, queue, shards: 1 });
  clients.push(leasehold);
  return leasehold;
}

function ignore(): undefined {
  return undefined;
}
