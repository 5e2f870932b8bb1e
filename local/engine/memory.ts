/**
 * The engine in memory: the test kit's exact table behind a small HTTP server that speaks DynamoDB's JSON, in this process.
 *
 * It runs wherever Node runs, and its data ends with it. It supports the row operations that Leasehold sends, for tables with any keys
 * and global indexes, and creating, describing, deleting and scanning tables, and reading their streams. It refuses batch writes and
 * PartiQL by name. It does not check signatures. It listens on loopback, and refuses web pages as every engine does (see `front.ts`).
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { ScanCommandInput } from '@aws-sdk/lib-dynamodb';
import { buffer } from 'node:stream/consumers';
import { defined } from '../../shared/core/defined.ts';
import type { CancellationReason } from '../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../shared/dynamo/engine/driver.ts';
import { messageOf } from '../../shared/core/errors.ts';
import { LOOPBACK, close } from '../../shared/core/listen.ts';
import type { Clock } from '../../shared/core/runtime/clock.ts';
import { systemClock } from '../../shared/core/runtime/clock.ts';
import { KEEP_ALIVE_MS, refusalOf } from './front.ts';
import { listenOnLoopback } from './listen.ts';
import type { Members } from './memory-requests.ts';
import {
  ROW_OPERATIONS,
  decodeDocuments,
  decodeInput,
  encodeItem,
  encodeOutput,
  recordOf,
  rejected,
} from './memory-requests.ts';
import { MemoryTables } from './memory-tables.ts';
import { WriteCount } from './write-count.ts';

export interface MemoryEngine {
  readonly endpoint: string;
  stop(): Promise<void>;
}

/** The service takes a day or two; a person at a laptop wants to see it. */
const SWEEP_EVERY_MS = 60_000;

/**
 * @param port without one, a free one is taken
 * @throws ConfigurationError when the port is taken
 */
export async function startMemoryEngine(port: number | undefined, clock: Clock = systemClock): Promise<MemoryEngine> {
  const tables = new MemoryTables(clock);
  const writes = new WriteCount();
  const server = createServer((request, response) => {
    response.on('close', () => writes.note(request.headers));
    answer({ tables, writes }, request, response).catch((error: unknown) => {
      // The client is gone, or our own mistake is: it sees a broken answer, which says that nothing is known.
      response.destroy(error instanceof Error ? error : undefined);
    });
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  const endpoint = `http://${LOOPBACK}:${await listenOnLoopback(server, port)}`;
  const stopped = new AbortController();
  const sweeping = sweep(tables, clock, stopped.signal);
  return {
    endpoint,
    async stop() {
      stopped.abort();
      await Promise.all([close(server), sweeping]);
    },
  };
}

async function sweep(tables: MemoryTables, clock: Clock, stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    await clock.sleep(SWEEP_EVERY_MS, stopped);
    tables.store.sweepExpired();
  }
}

interface State {
  readonly tables: MemoryTables;
  readonly writes: WriteCount;
}

async function answer({ tables, writes }: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await buffer(request);
  const added = refusalOf(request.headers) === undefined ? await writes.hold(request.headers, response) : [];
  const { status, content } = reply(tables, request, body);
  response.writeHead(status, ['content-type', 'application/x-amz-json-1.0', ...added]);
  response.end(JSON.stringify(content));
}

interface Reply {
  readonly status: number;
  readonly content: Members;
}

function reply(tables: MemoryTables, { headers }: IncomingMessage, body: Buffer): Reply {
  try {
    const refusal = refusalOf(headers);
    if (refusal !== undefined) throw rejected('AccessDeniedException', refusal);
    const target = String(headers['x-amz-target'] ?? '');
    return {
      status: 200,
      content: perform(tables, target.replace(/^DynamoDB(Streams)?_20120810\./, ''), membersOf(body)),
    };
  } catch (error) {
    if (error instanceof DynamoFault) return { status: 400, content: faultContent(error) };
    return { status: 500, content: { __type: `${SERVICE}#InternalServerError`, message: messageOf(error) } };
  }
}

function perform(tables: MemoryTables, operation: string, members: Members): Members {
  const kind = Object.hasOwn(ROW_OPERATIONS, operation) ? ROW_OPERATIONS[operation] : undefined;
  if (kind !== undefined)
    return encodeOutput(
      tables.store.apply(
        kind,
        serialized(() => decodeInput(kind, members)),
      ),
    );
  if (operation === 'Scan')
    return encodeOutput(
      tables.store.scanPage(serialized(() => decodeDocuments(members)) as unknown as ScanCommandInput),
    );
  const onTables = Object.hasOwn(tables.operations, operation) ? tables.operations[operation] : undefined;
  if (onTables !== undefined) return onTables(members);
  throw rejected(
    'UnknownOperationException',
    `the engine in memory has no ${operation === '' ? 'operation without the header x-amz-target' : operation}: ` +
      `it has ${[...Object.keys(ROW_OPERATIONS), 'Scan', ...Object.keys(tables.operations)].join(', ')}`,
  );
}

function membersOf(body: Buffer): Members {
  return serialized(() => recordOf(JSON.parse(body.toString())));
}

/** Unreadable input is the client's mistake. */
function serialized<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw rejected('SerializationException', messageOf(error));
  }
}

const SERVICE = 'com.amazonaws.dynamodb.v20120810';

function faultContent({ code, message, item, reasons }: DynamoFault): Members {
  const space = code === 'ValidationException' ? 'com.amazon.coral.validate' : SERVICE;
  return {
    __type: `${space}#${code}`,
    message,
    ...defined({ Item: item && encodeItem(item) }),
    ...(code === 'TransactionCanceledException' ? { CancellationReasons: reasons.map(reasonContent) } : {}),
  };
}

function reasonContent({ code, message, item }: CancellationReason): Members {
  return {
    Code: code,
    ...defined({ Message: message, Item: item && encodeItem(item) }),
  };
}
