/** Causes that break a request off, and their proof: `unsent` only if no server can have read it. */
import { createServer } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { AddressInfo, Server, Socket } from 'node:net';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import { LOOPBACK_CERTIFICATE, OTHER_CERTIFICATE } from '../../../support/certificates.ts';
import type { TestDriver } from '../../../support/drivers.ts';
import { DRIVERS, openWireDriver } from '../../../support/drivers.ts';
import type { Behaviour, FaultServer } from '../../../support/fault-server.ts';
import { answer, answerBytes, startFaultServer } from '../../../support/fault-server.ts';

const PUT = { TableName: 'table', Item: { pk: 'a', nonce: 'mine' }, ConditionExpression: 'attribute_not_exists(pk)' };
const WHOLE = answerBytes({ body: '{"Attributes":{"pk":{"S":"a"}}}' });
const PATIENCE_MS = 20_000;

const hangUp: Behaviour = (socket) => {
  socket.end();
};
/** Over TLS: without a farewell, which is all that can be done there. */
const reset = (socket: Socket): void => {
  if (socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
};
const silence: Behaviour = () => undefined;

/** Aborts once the server has read the request, so that tests do not depend on the machine's speed. */
function abortedByServer(server: FaultServer, then: Behaviour = silence): AbortSignal {
  const attempt = new AbortController();
  server.behave((socket, request) => {
    then(socket, request);
    setImmediate(() => {
      attempt.abort();
    });
  });
  return attempt.signal;
}

async function outcome(driver: TestDriver, signal = AbortSignal.timeout(PATIENCE_MS)): Promise<unknown> {
  try {
    return await driver.attempt('put', PUT, signal);
  } catch (fault) {
    if (!(fault instanceof DynamoFault)) throw fault;
    return fault.kind;
  }
}

describe.each(DRIVERS)('the %s driver', (name, open) => {
  /** The client and `fetch` do not always know whether a request left: then it counts as unanswered, which is safe. */
  const UNSENT: readonly unknown[] = name === 'wire' ? ['unsent'] : ['unsent', 'unanswered'];
  afterEach(() => {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  });

  describe.each([
    ['plain', undefined],
    ['TLS', LOOPBACK_CERTIFICATE],
  ] as const)('over %s', (_protocol, certificate) => {
    describe.each(['a fresh', 'a used'])('%s connection', (age) => {
      let server: FaultServer;
      let driver: TestDriver;
      beforeEach(async () => {
        process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
        server = await startFaultServer(certificate);
        driver = open({ endpoint: server.endpoint });
        if (age === 'a used') {
          server.behave(answer());
          await driver.attempt('put', PUT, AbortSignal.timeout(PATIENCE_MS));
        }
      });
      afterEach(async () => {
        delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
        driver[Symbol.dispose]();
        await server[Symbol.asyncDispose]();
      });

      test.each([
        ['hangs up', hangUp],
        ['resets it', reset],
        ['answers in no HTTP', (socket: Socket) => void socket.write('220 mail.example ESMTP\r\n\r\n')],
        [
          'begins an endless head',
          (socket: Socket) => void socket.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(20_000)}`),
        ],
        [
          'promises a negative length',
          (socket: Socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n{}'),
        ],
        [
          'answers with length and chunks',
          (socket: Socket) => {
            socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n');
          },
        ],
        [
          'cuts a chunk',
          (socket: Socket) => {
            socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"a"');
          },
        ],
        [
          'promises more than it sends',
          (socket: Socket) => {
            socket.end('HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{}');
          },
        ],
        [
          'promises less than it sends',
          (socket: Socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n{}'),
        ],
        [
          'promises nothing, and sends half an answer',
          (socket: Socket) => {
            socket.end('HTTP/1.1 200 OK\r\n\r\n{"Attributes":{"pk":');
          },
        ],
      ] satisfies [string, Behaviour][])(
        'leaves open what became of a request when the server reads it and %s',
        async (_what, behaviour) => {
          server.behave(behaviour);
          const from = server.received.length;

          expect(await outcome(driver)).toBe('unanswered');
          expect(server.received.length).toBe(from + 1);
        },
      );

      test.each([
        ['says nothing', silence],
        ['sends a part of the answer', (socket: Socket) => void socket.write(WHOLE.subarray(0, 40))],
      ] satisfies [string, Behaviour][])(
        'leaves it open when the time is over after the server %s',
        async (_what, behaviour) => {
          const signal = abortedByServer(server, behaviour);

          expect(await outcome(driver, signal)).toBe('unanswered');
        },
      );

      test('accepts only the whole answer', async () => {
        const kinds: unknown[] = [];
        for (let length = 0; length <= WHOLE.length; length += length < WHOLE.length - 8 ? 7 : 1) {
          server.behave((socket) => {
            socket.write(WHOLE.subarray(0, length), () => {
              if (length < WHOLE.length) reset(socket);
            });
          });
          kinds.push(await outcome(driver));
        }

        expect(kinds.pop()).toEqual({ Attributes: { pk: 'a' } });
        expect(new Set(kinds)).toEqual(new Set(['unanswered']));
      });
    });

    // `fetch` opens another connection by itself.
    test.skipIf(name === 'fetch').each([
      ['ended', (socket: Socket) => void socket.destroy()],
      ['was reset', reset],
    ])('is never told as applied on a connection that %s unseen, for the loop was held', async (_what, end) => {
      process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
      await using server = await startFaultServer(certificate);
      using driver = open({ endpoint: server.endpoint });
      const sockets: Socket[] = [];
      server.behave((socket) => {
        sockets.push(socket);
        answer()(socket, server.received[0]!);
      });
      await outcome(driver);

      // No event-loop turn lies between the two: the driver cannot have noticed.
      for (const socket of sockets) end(socket);
      const fault = await driver
        .attempt('put', PUT, AbortSignal.timeout(PATIENCE_MS))
        .catch((error: unknown) => error as DynamoFault & { readonly cause: { readonly syscall?: string } });

      // Which of the two is seen first is the system's choice: the write that it refused, or the end that it read.
      const isRefusedWrite = certificate === undefined && 'cause' in fault && fault.cause.syscall === 'write';
      expect(fault).toMatchObject({ kind: name === 'wire' && isRefusedWrite ? 'unsent' : 'unanswered' });
      expect(server.received).toHaveLength(1);
      expect(await outcome(driver)).toEqual({});
    });

    test('is unsent when its time is over before it was connected', async () => {
      const protocol = certificate === undefined ? 'http' : 'https';
      // An address of a network reserved for examples: no host answers there, or no route exists.
      using driver = open({ endpoint: `${protocol}://192.0.2.1:8000` });
      const attempt = new AbortController();
      setImmediate(() => {
        attempt.abort();
      });

      expect(UNSENT).toContain(await outcome(driver, attempt.signal));
    });

    test('is unsent where the connection is refused', async () => {
      const server = await startFaultServer(certificate);
      await server[Symbol.asyncDispose]();
      using driver = open({ endpoint: server.endpoint });

      expect(UNSENT).toContain(await outcome(driver));
    });

    test('is unsent when the name is not found', async () => {
      const protocol = certificate === undefined ? 'http' : 'https';
      using driver = open({ endpoint: `${protocol}://nowhere.invalid:8000` });

      expect(UNSENT).toContain(await outcome(driver));
    });

    // `fetch` does not show its connections; the driver has its own limit: see `fetch-driver.test.ts`.
    test.skipIf(name === 'fetch')(
      'is unsent while it waits for one of the connections, all of which are in use',
      async () => {
        process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
        await using server = await startFaultServer(certificate);
        using driver = open({ endpoint: server.endpoint });
        const all = Promise.withResolvers<undefined>();
        let reached = 0;
        server.behave(() => {
          if (++reached === 50) all.resolve(undefined);
        });
        const [others, last] = [new AbortController(), new AbortController()];
        const waiting = Array.from({ length: 50 }, () => outcome(driver, others.signal));
        await all.promise;

        const queued = outcome(driver, last.signal);
        setImmediate(() => {
          last.abort();
        });
        expect(UNSENT).toContain(await queued);
        others.abort();
        expect(new Set(await Promise.all(waiting))).toEqual(new Set(['unanswered']));
        expect(server.received).toHaveLength(50);
      },
    );
  });

  describe('a TLS handshake', () => {
    test.each([
      ['with a certificate that signs itself', LOOPBACK_CERTIFICATE],
      ['with a certificate of another name', OTHER_CERTIFICATE],
    ])('%s sends nothing', async (_what, certificate) => {
      await using server = await startFaultServer(certificate);
      server.behave(answer());
      using driver = open({ endpoint: server.endpoint });

      expect(UNSENT).toContain(await outcome(driver));
      expect(server.received).toEqual([]);
    });

    async function met(meet: (socket: Socket) => void, signal?: AbortSignal): Promise<unknown> {
      const server: Server = createServer((socket) => {
        socket.on('error', () => undefined);
        meet(socket);
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      using driver = open({ endpoint: `https://127.0.0.1:${(server.address() as AddressInfo).port}` });
      try {
        return await outcome(driver, signal);
      } finally {
        server.close();
      }
    }

    test('sends nothing through a handshake that is reset, or to a server without TLS', async () => {
      expect(UNSENT).toContain(await met((socket) => void socket.resetAndDestroy()));
      expect(UNSENT).toContain(await met((socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')));
    });

    test('sends nothing through a handshake that is never answered', async () => {
      const attempt = new AbortController();
      const sockets: Socket[] = [];
      const kind = await met((socket) => {
        sockets.push(socket);
        socket.once('data', () => {
          attempt.abort();
        });
      }, attempt.signal);
      for (const socket of sockets) socket.destroy();

      expect(UNSENT).toContain(kind);
    });
  });
});

test('an attempt whose time is over while credentials are looked for sends nothing', async () => {
  await using server = await startFaultServer();
  const attempt = new AbortController();
  using driver = openWireDriver({
    endpoint: server.endpoint,
    credentials: () => {
      setImmediate(() => {
        attempt.abort();
      });
      return Promise.withResolvers<never>().promise;
    },
  });

  expect(await outcome(driver, attempt.signal)).toBe('unsent');
  expect(server.connections).toBe(0);
});

test('sends nothing for an attempt that is aborted before it begins', async () => {
  await using server = await startFaultServer();
  using driver = openWireDriver({ endpoint: server.endpoint });

  expect(await outcome(driver, AbortSignal.abort())).toBe('unsent');
  expect(server.connections).toBe(0);
});
