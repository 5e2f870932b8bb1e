/**
 * Lambda's Invoke operation over HTTP, close enough for the real SDK client.
 * Not supported: response streaming, `LogType: Tail`, and every operation other than Invoke.
 * @see https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { messageOf } from '../../../shared/core/errors.ts';
import { refusalOf } from '../../../local/engine/front.ts';
import {
  ASYNCHRONOUS_PAYLOAD_LIMIT_BYTES,
  InvokeFault,
  SYNCHRONOUS_PAYLOAD_LIMIT_BYTES,
  functionNotFound,
  invalidParameter,
  invalidRequestContent,
  notFromHere,
  requestTooLarge,
  unknownOperation,
} from './faults.ts';
import type { FunctionReference } from './function-name.ts';
import { parseFunctionReference } from './function-name.ts';

export type InvocationType = 'RequestResponse' | 'Event' | 'DryRun';

export interface InvokeRequest {
  readonly reference: FunctionReference;
  readonly type: InvocationType;
  /** JSON text. */
  readonly payload: string;
}

export interface InvokeResponse {
  readonly status: 200 | 202 | 204;
  readonly requestId: string;
  /** JSON text: the handler's result, or the error if `functionError` is set. */
  readonly payload?: string;
  readonly functionError?: 'Unhandled';
}

type Invoke = (request: InvokeRequest) => Promise<InvokeResponse>;

const INVOKE_PATH = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/;
/** Clients pool connections, and closing one just before reuse looks like an outage. */
const KEEP_ALIVE_MS = 120_000;

export function createInvokeServer(invoke: Invoke): Server {
  const server = createServer((request, response) => {
    const refusal = refusalOf(request.headers);
    if (refusal === undefined) return void answer(request, response, invoke);
    request.resume();
    sendFault(response, notFromHere(refusal));
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  return server;
}

async function answer(request: IncomingMessage, response: ServerResponse, invoke: Invoke): Promise<void> {
  try {
    sendResult(response, await invoke(await readRequest(request)));
  } catch (error) {
    if (error instanceof InvokeFault) sendFault(response, error);
    else if (request.destroyed) response.destroy(); // The client left in the middle of its request.
    else throw error;
  }
}

async function readRequest(request: IncomingMessage): Promise<InvokeRequest> {
  const url = parsed(request.url ?? '/', (text) => new URL(text, 'http://localhost'));
  const named = INVOKE_PATH.exec(url.pathname)?.[1];
  if (named === undefined || request.method !== 'POST') {
    throw unknownOperation(`${request.method ?? ''} ${url.pathname}`);
  }
  const text = parsed(named, decodeURIComponent);
  const reference = parseFunctionReference(text);
  if (reference === undefined) throw functionNotFound(text);
  const type = parseType(request.headers['x-amz-invocation-type']);
  const limit = type === 'Event' ? ASYNCHRONOUS_PAYLOAD_LIMIT_BYTES : SYNCHRONOUS_PAYLOAD_LIMIT_BYTES;
  const payload = parsePayload(await readBody(request, limit));
  const qualifier = url.searchParams.get('Qualifier') ?? reference.qualifier;
  return { reference: { name: reference.name, qualifier }, type, payload };
}

/** Unreadable input is the sender's fault. */
function parsed<T>(text: string, parse: (text: string) => T): T {
  try {
    return parse(text);
  } catch (error) {
    throw invalidParameter(`${JSON.stringify(text)} cannot be read: ${messageOf(error)}`);
  }
}

function parseType(header: string | string[] | undefined): InvocationType {
  switch (header) {
    case undefined:
    case 'RequestResponse':
      return 'RequestResponse';
    case 'Event':
    case 'DryRun':
      return header;
    default:
      throw invalidParameter(`invocation type ${String(header)} is none of RequestResponse, Event, DryRun`);
  }
}

/** Reads an oversized body to its end as well: a client that is still writing would miss the refusal. */
async function readBody(request: IncomingMessage, limitBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= limitBytes) chunks.push(chunk);
  }
  if (size > limitBytes) throw requestTooLarge(limitBytes);
  return Buffer.concat(chunks).toString('utf8');
}

/** No payload at all is an empty event. */
function parsePayload(text: string): string {
  if (text === '') return '{}';
  try {
    JSON.parse(text);
    return text;
  } catch (error) {
    throw invalidRequestContent((error as SyntaxError).message);
  }
}

function sendResult(response: ServerResponse, result: InvokeResponse): void {
  response.writeHead(result.status, {
    'x-amzn-requestid': result.requestId,
    ...(result.status === 200 && { 'content-type': 'application/json', 'x-amz-executed-version': '$LATEST' }),
    ...(result.functionError !== undefined && { 'x-amz-function-error': result.functionError }),
  });
  response.end(result.payload);
}

function sendFault(response: ServerResponse, fault: InvokeFault): void {
  response.writeHead(fault.status, {
    'content-type': 'application/json',
    'x-amzn-errortype': fault.code,
    ...(fault.status === 429 && { 'retry-after': '1' }),
  });
  response.end(JSON.stringify(fault.body));
}
