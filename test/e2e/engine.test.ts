import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { afterEach, describe, expect, inject, onTestFinished, test, vi } from 'vitest';
import type { EngineOptions } from '../../local/engine.ts';
import { startEngine } from '../../local/engine.ts';
import { ConfigurationError } from '../../shared/core/errors.ts';
import { expectGone, isRunning } from '../support/processes.ts';

const hasEmbedded = inject('embeddedEndpoint') !== null;
const hasJava = inject('dynamodbLocalEndpoint') !== null;

afterEach(() => vi.unstubAllEnvs());

async function start(options: EngineOptions) {
  const engine = await startEngine(options);
  onTestFinished(() => engine.stop());
  return engine;
}

async function refusal(options: EngineOptions): Promise<string> {
  const outcome = await startEngine(options).then(
    async (engine) => {
      await engine.stop();
      return undefined;
    },
    (error: unknown) => error,
  );
  expect(outcome).toBeInstanceOf(ConfigurationError);
  return (outcome as ConfigurationError).message;
}

async function listTables(endpoint: string): Promise<string[] | undefined> {
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  const client = new DynamoDBClient({ endpoint, region: 'us-east-1', credentials });
  try {
    return (await client.send(new ListTablesCommand({}))).TableNames;
  } finally {
    client.destroy();
  }
}

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Asked {
  readonly status: number | undefined;
  readonly body: string;
  /** The origins that may read the answer. */
  readonly allowed: string | undefined;
}

/** Lists tables with headers that `fetch` lets no caller choose; a browser sends them by itself. */
function askAs(endpoint: string, headers: Readonly<Record<string, string>>, method = 'POST'): Promise<Asked> {
  return new Promise((resolve, reject) => {
    const asking = request(endpoint, { method, headers: { ...LISTING, ...headers } }, (response) => {
      text(response).then(
        (body) =>
          resolve({ status: response.statusCode, body, allowed: response.headers['access-control-allow-origin'] }),
        reject,
      );
    });
    asking.on('error', reject).end('{}');
  });
}

const LISTING = {
  'content-type': 'application/x-amz-json-1.0',
  'x-amz-target': 'DynamoDB_20120810.ListTables',
  'x-amz-date': '20260101T000000Z',
  authorization:
    'AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0',
};

/** Puts our own fake `java` on the PATH, and no other. */
function fakeJava(script: string | undefined): void {
  const folder = mkdtempSync(path.join(tmpdir(), 'leasehold-java-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  vi.stubEnv('PATH', folder);
  if (script === undefined) return;
  const java = path.join(folder, 'java');
  writeFileSync(java, `#!/bin/sh\n${script}\n`);
  chmodSync(java, 0o755);
}

describe.skipIf(!hasEmbedded)('the embedded engine', () => {
  test('answers as DynamoDB as soon as it has started', async () => {
    const engine = await start({ kind: 'embedded' });

    expect(await listTables(engine.endpoint)).toEqual([]);
  });

  test('ends its process when it is stopped', async () => {
    const engine = await start({ kind: 'embedded' });
    const wasRunning = isRunning(engine.pid!);

    await engine.stop();

    expect({ wasRunning, isRunning: isRunning(engine.pid!) }).toEqual({ wasRunning: true, isRunning: false });
  });

  test('takes a free port each time, so that several run side by side', async () => {
    const engines = await Promise.all([start({ kind: 'embedded' }), start({ kind: 'embedded' })]);

    expect(new Set(engines.map(({ endpoint }) => endpoint)).size).toBe(2);
  });

  test('refuses a port that another process uses', async () => {
    const { port } = new URL(await serve((_, response) => void response.end()));

    expect(await refusal({ kind: 'embedded', port: Number(port) })).toBe(
      `port ${port} of 127.0.0.1 cannot be used (EADDRINUSE): choose another, or 0 for a free one`,
    );
  });
});

describe('DynamoDB Local', () => {
  test.skipIf(!hasJava)('answers as DynamoDB and ends its process when it is stopped', async () => {
    const engine = await start({ kind: 'dynamodb-local' });
    const tables = await listTables(engine.endpoint);

    await engine.stop();

    expect({ tables, isRunning: isRunning(engine.pid!) }).toEqual({ tables: [], isRunning: false });
  });

  test('says what to install when there is no Java', async () => {
    fakeJava(undefined);

    expect(await refusal({ kind: 'dynamodb-local' })).toMatch(
      /^DynamoDB Local needs Java 17 or newer, and there is none on the PATH: install one .*apt-get install/,
    );
  });

  test('says what to install when Java is too old', async () => {
    fakeJava('echo "java.lang.UnsupportedClassVersionError: compiled by a more recent version" >&2; exit 1');

    expect(await refusal({ kind: 'dynamodb-local' })).toMatch(
      /^DynamoDB Local needs Java 17 or newer, and the java on the PATH is older: install one/,
    );
  });

  test('repeats the last words of an engine that ends before it is ready', async () => {
    fakeJava('echo "Error: could not reserve enough space" >&2; exit 3');

    expect(await refusal({ kind: 'dynamodb-local' })).toBe(
      'DynamoDB Local ended before it was ready (exit code 3); it said: Error: could not reserve enough space',
    );
  });
});

describe.each([
  ['embedded', hasEmbedded],
  ['memory', true],
  ['dynamodb-local', hasJava],
] as const)('the front of the engine %s', (kind, isThere) => {
  test.skipIf(!isThere)('answers programs of this machine, and neither a web page nor a foreign name', async () => {
    const { endpoint } = await start({ kind });

    expect(await askAs(endpoint, {})).toMatchObject({ status: 200, body: '{"TableNames":[]}' });
    expect(await askAs(endpoint, { host: 'localhost:8000' })).toMatchObject({ status: 200 });
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: endpoint },
      { 'sec-fetch-site': 'cross-site' },
      { host: 'evil.example' },
      { host: '127.0.0.1.evil.example:8000' },
    ]) {
      const answer = await askAs(endpoint, headers);

      expect(answer, JSON.stringify(headers)).toMatchObject({ status: 400 });
      expect(answer.body).toMatch(/AccessDeniedException.*this server answers programs of this machine/);
      expect(answer.allowed).toBeUndefined();
    }
  });

  test.skipIf(!isThere)('gives no page leave to ask', async () => {
    const { endpoint } = await start({ kind });

    const answer = await askAs(endpoint, { origin: 'https://evil.example' }, 'OPTIONS');

    expect(answer).toMatchObject({ status: 400, allowed: undefined });
  });
});

describe('an endpoint of the user', () => {
  test.skipIf(!hasEmbedded)('is used as it is and left running', async () => {
    const endpoint = inject('embeddedEndpoint')!;
    const engine = await start({ kind: 'endpoint', endpoint });

    await engine.stop();

    expect(engine.endpoint).toBe(endpoint);
    expect(await listTables(endpoint)).toBeDefined();
  });

  test('is refused when it is the real service, which does not talk to strangers', async () => {
    const endpoint = await serve((_, response) => {
      response.writeHead(400).end('{"__type":"com.amazon.coral.service#UnrecognizedClientException"}');
    });

    expect(await refusal({ kind: 'endpoint', endpoint })).toBe(
      `endpoint ${endpoint} refused unknown credentials (UnrecognizedClientException): pass a DynamoDB that takes any credentials, as emulators do`,
    );
  });

  test('is refused by name when no server listens', async () => {
    // A port that is never assigned.
    const endpoint = 'http://127.0.0.1:2';

    expect(await refusal({ kind: 'endpoint', endpoint })).toBe(
      `endpoint ${endpoint} did not answer (ECONNREFUSED): check host and port, and that it is running`,
    );
  });

  test('is refused by name when something else listens', async () => {
    const endpoint = await serve((_, response) => void response.writeHead(404).end('<h1>not here</h1>'));

    expect(await refusal({ kind: 'endpoint', endpoint })).toBe(
      `endpoint ${endpoint} answered (HTTP 404), but not like DynamoDB: check host and port`,
    );
  });

  test.each(['127.0.0.1:8000', 'localhost:8000', 'ftp://localhost', ''])(
    'is refused when it is no web address: "%s"',
    async (endpoint) => {
      expect(await refusal({ kind: 'endpoint', endpoint })).toContain('is not a URL');
    },
  );
});

describe.skipIf(!hasEmbedded)('processes of a platform', () => {
  const program = path.join(import.meta.dirname, '../support/programs/platform.ts');

  test.each(['exit', 'SIGINT', 'SIGTERM', 'SIGKILL'] as const)('ends with it: %s', async (end) => {
    const parent = execFile(process.execPath, [program, end]);
    onTestFinished(() => void parent.kill('SIGKILL'));
    const [line] = (await once(parent.stdout!, 'data')) as [string];
    const pids = JSON.parse(line) as number[];

    if (end !== 'exit') parent.kill(end);

    expect(pids).toHaveLength(4);
    await expectGone(pids);
  });
});
