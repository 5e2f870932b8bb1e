/**
 * The same errands in isolates of several runtimes: contexts of Node and workerd with `leasehold/edge`, and Bun with `leasehold` itself,
 * over its own driver. workerd and Bun come from npm; without them their tests are skipped, with a word.
 */
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { openQueue } from '../../../examples/queue.ts';
import { systemIds } from '../../../shared/core/runtime/ids.ts';
import { binaryOf } from '../../support/runtimes/binaries.ts';
import { startBun } from '../../support/runtimes/bun.ts';
import { startContexts, startContextsHeardTwice } from '../../support/runtimes/contexts.ts';
import type { RuntimeHost } from '../../support/runtimes/host.ts';
import { serveIsolates, startWorkerd } from '../../support/runtimes/workerd.ts';
import { newTables } from '../../support/new-tables.ts';

const endpoint = inject('embeddedEndpoint') ?? inject('dynamodbLocalEndpoint');
const ISOLATES = 20;

const LIMIT = { rate: 1, per: '1d', burst: 30 } as const;

const workerd = await binaryOf('workerd');
const node = { kind: 'there', path: '' } as const;
const RUNTIMES = [
  ['workerd', workerd, startWorkerd, LIMIT.burst],
  ['Bun', await binaryOf('bun'), startBun, LIMIT.burst],
  ['Node', node, startContexts, LIMIT.burst],
  // A take that arrives twice costs up to two tokens: never too many, perhaps too few. Each isolate may lose one whose second arrival
  // finds none left, and the first of all loses one, for its second arrival finds the bucket no longer full.
  ['Node, twice', node, startContextsHeardTwice, Math.floor((LIMIT.burst - ISOLATES - 1) / 2)],
] as const;
for (const [, binary] of RUNTIMES) if (binary.kind === 'missing') console.warn(binary.why);

describe.each(RUNTIMES)('isolates in %s', (name, binary, startHost, leastTaken) => {
  describe.skipIf(endpoint === null || binary.kind === 'missing')('share a table with each other', () => {
    const table = `edge-${systemIds.unique()}`;
    let host: RuntimeHost;
    const start = (isolates: number): Promise<RuntimeHost> =>
      startHost({ binary: binary.kind === 'there' ? binary.path : '', isolates, table, endpoint: endpoint ?? '' });

    beforeAll(async () => {
      await newTables(endpoint ?? '', table);
      host = await start(ISOLATES);
    });
    afterAll(() => host[Symbol.asyncDispose]());

    test('give each tenure its own token', async () => {
      const cycles = { kind: 'cycles', key: 'cycles', rounds: 5 } as const;
      const tokens = (await Promise.all([0, 1, 2, 3].map((isolate) => host.ask(isolate, cycles)))).flat();

      expect(tokens).toHaveLength(20);
      expect(new Set(tokens).size).toBe(20);
    });

    test('a thousand tasks are enqueued once each', async () => {
      expect(await host.ask(0, { kind: 'enqueue', prefix: 'task', count: 1_000 })).toEqual({
        created: 1_000,
        again: false,
        last: { n: 999 },
      });
    });

    test('a rate limit holds among twenty of them', async () => {
      const takes = { kind: 'takes', name: 'calls', rate: LIMIT, count: 3 } as const;
      const all = Array.from({ length: ISOLATES }, (_, isolate) => host.ask(isolate, takes));
      const kinds = (await Promise.all(all)).flat();

      expect(kinds).toHaveLength(60);
      const taken = kinds.filter((kind) => kind === 'taken').length;
      expect(taken).toBeLessThanOrEqual(LIMIT.burst);
      expect(taken).toBeGreaterThanOrEqual(leastTaken);
    });

    test('take over the lock of a killed isolate, and the fence refuses its late writes', async () => {
      const victims = await start(1);
      const lost = await victims.hold(0, 'killed');
      await victims.kill(0);
      const heir = await host.ask(0, { kind: 'inherit', key: 'killed' });

      expect(heir.token).toBeGreaterThan(lost.token);
      expect(heir.standing).toBe('valid');
      expect(await host.ask(1, { kind: 'send', write: lost.write })).toBe('refused');
      expect(await host.ask(1, { kind: 'verify', sequencer: lost.sequencer })).toBe('superseded');
      await victims[Symbol.asyncDispose]();
    });

    // In Bun its heartbeat continues, as in every process.
    test.runIf(name === 'workerd')(
      'a lock that a request has left behind is free when its TTL has passed',
      async () => {
        const left = await host.ask(0, { kind: 'hold', key: 'left' });
        const next = await host.ask(1, { kind: 'inherit', key: 'left' });

        expect(next.token).toBeGreaterThan(left.token);
        expect(await host.ask(0, { kind: 'send', write: left.write })).toBe('refused');
      },
    );
  });
});

describe.skipIf(endpoint === null || workerd.kind === 'missing')('in workerd', () => {
  const binary = workerd.kind === 'there' ? workerd.path : '';

  test('the example limits its callers, enqueues, and answers with the result', async () => {
    await using queue = await openQueue('edge-example', endpoint ?? undefined);
    await using vendor = await listening((request, response) => {
      if (request.headers.authorization === 'Bearer secret')
        response.end('{"accessKeyId":"local","secretAccessKey":"local"}');
      else response.writeHead(403).end();
    });
    const env = {
      TABLE: queue.leasehold.table,
      QUEUE: queue.name,
      REGION: 'us-east-1',
      ENDPOINT: endpoint ?? '',
      CREDENTIALS_URL: vendor.address,
      CREDENTIALS_SECRET: 'secret',
    };
    const program = path.resolve('examples/edge/worker.ts');
    const server = await serveIsolates({ binary, program, isolates: 1, env });
    const caller = systemIds.unique();
    const ask = (): Promise<Response> =>
      fetch(`${server.address}/0`, {
        method: 'POST',
        headers: { 'x-caller': caller },
        body: '{"item":"tea","count":2}',
      });
    queue.start(new URL('../../../examples/edge/tasks.ts', import.meta.url));

    const answers = [await ask(), await ask(), await ask(), await ask()];
    // The first may have been too early for its worker; its response then reports that.
    const { id } = (await answers[0]!.json()) as { readonly id: string };
    const outcome = await queue.leasehold.tasks.result(id);

    expect(answers.slice(0, 3).map(({ status }) => [200, 202].includes(status))).toEqual([true, true, true]);
    expect(answers[3]?.status).toBe(429);
    expect(outcome).toMatchObject({ kind: 'done', result: { item: 'tea', total: 8 } });
    await server.kill();
  });

  test('a redirect is not followed, and takes no signature anywhere', async () => {
    let led = 0;
    await using elsewhere = await listening((_, response) => {
      led++;
      response.end('{}');
    });
    await using redirecting = await listening((_, response) => {
      response.writeHead(307, { location: elsewhere.address }).end();
    });
    const host = await startWorkerd({ binary, isolates: 1, table: 'any', endpoint: redirecting.address });

    await expect(host.ask(0, { kind: 'takes', name: 'calls', rate: LIMIT, count: 1 })).rejects.toThrow(/302|307/);
    expect(led).toBe(0);
    await host[Symbol.asyncDispose]();
  });
});

async function listening(answer: RequestListener): Promise<AsyncDisposable & { readonly address: string }> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
  };
}
