/**
 * The driver over a client of the AWS SDK, often the user's own: its transport, credentials and signatures; one call, one request.
 *
 * The client's middleware stack runs unchanged except for its retries. The sender retries instead, because it checks
 * before each attempt whether it may still send. So our commands remove the retry middleware, and any other middleware
 * that sends a request again gets the first response again. The client itself is not changed.
 * Our own code encodes values and reads responses, as in the other drivers,
 * because the SDK treats a response without content as a success and ignores the checksum.
 */
import type { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import type { Clock } from '../../core/runtime/clock.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { Connections } from '../engine/connections.ts';
import type { DynamoCalls, DynamoDriver, DynamoKind } from '../engine/driver.ts';
import { DynamoFault } from '../engine/driver.ts';
import { MAX_SOCKETS } from './http.ts';
import type { Sdk } from './sdk.ts';
import { loadSdk } from './sdk.ts';
import type { ResponseTiming } from '../engine/skew-gauge.ts';
import { unstorableFault } from './unstorable.ts';
import type { Answer } from './answer.ts';
import { dateOf, readAnswer } from './answer.ts';
import { textOfBody } from './body.ts';
import { asBytes } from './attribute-value.ts';
import type { Identity } from './credentials.ts';
import { Renewal, reconsidered } from './credentials.ts';
import { encodeInput } from './documents.ts';
import { errorOf } from '../../core/errors.ts';
import type { SystemError } from './system-error.ts';
import { systemFault } from './system-error.ts';

/** @param observer.onResponse receives the service's own time with each response */
export function createSdkDriver(
  client: DynamoDBClient,
  observer: SdkDriverObserver = { clock: systemClock },
): DynamoDriver {
  const renewal = new Renewal((options) => client.config.credentials(options));
  const { connections = new Connections(MAX_SOCKETS) } = observer;
  return {
    connections,
    async attempt<K extends DynamoKind>(
      kind: K,
      input: DynamoCalls[K]['input'],
      signal: AbortSignal,
    ): Promise<DynamoCalls[K]['output']> {
      const command = commandOf(await loadSdk(), kind, input);
      const exchange = watched(command, signal, observer);
      let error: unknown;
      try {
        await client.send(command, { abortSignal: signal });
      } catch (thrown) {
        error = thrown;
      }
      const sockets = socketsOf(client);
      if (sockets !== undefined && sockets !== connections.limit) connections.limit = sockets;
      const { answer, signedWith } = exchange;
      if (answer === undefined) throw exchange.isSent ? brokenOff(error) : neverSent(error);
      try {
        return readAnswer(kind, answer, textOfBody);
      } catch (thrown) {
        throw await reconsidered(
          thrown as DynamoFault,
          { answer, receivedAt: observer.clock.now(), signal },
          {
            time: () => undefined, // The client corrects its time by itself, with every answer.
            credentials: () => renewal.finds(signedWith),
          },
        );
      }
    },
  };
}

/** How many sockets the agent of the client's handler has for one host. Absent: not yet known, without a limit, or another handler. */
function socketsOf(client: DynamoDBClient): number | undefined {
  const handler = client.config.requestHandler as HandlerWithAgents;
  const { httpAgent, httpsAgent } = handler.httpHandlerConfigs?.() ?? {};
  const least = Math.min(httpAgent?.maxSockets ?? Infinity, httpsAgent?.maxSockets ?? Infinity);
  return least >= 1 && least < Infinity ? least : undefined;
}

interface HandlerWithAgents {
  httpHandlerConfigs?(): {
    readonly httpAgent?: { readonly maxSockets?: number };
    readonly httpsAgent?: { readonly maxSockets?: number };
  };
}

interface SdkDriverObserver {
  readonly clock: Clock;
  readonly onResponse?: ((timing: ResponseTiming) => void) | undefined;
  /** The client's. Default: as many as clients have by default. */
  readonly connections?: Connections | undefined;
}

/** The outcome of one request, as it came over the network. */
interface Exchange {
  isSent: boolean;
  signedWith: Identity;
  answer: Answer | undefined;
}

interface HttpRequest {
  readonly headers: Readonly<Record<string, string | undefined>>;
}

interface HttpResponse {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  body: AsyncIterable<Uint8Array> | Uint8Array | Blob | undefined;
}

/** Innermost in the client's stack: a request that fails before this was never sent. */
function watched(command: AnyCommand, signal: AbortSignal, { clock, onResponse }: SdkDriverObserver): Exchange {
  const exchange: Exchange = { isSent: false, signedWith: { accessKeyId: '' }, answer: undefined };
  let sending: Promise<unknown> | undefined;
  command.middlewareStack.add((next) => next, {
    name: 'retryMiddleware',
    step: 'finalizeRequest',
    priority: 'high',
    override: true,
  });
  command.middlewareStack.add(
    (next) => {
      const send: typeof next = async (args) => {
        signal.throwIfAborted();
        exchange.isSent = true;
        exchange.signedWith = identityIn((args.request as HttpRequest).headers);
        const [sentAt, sentMonotonic] = [clock.now(), clock.monotonic()];
        const result = await next(args);
        const [receivedAt, tookMs] = [clock.now(), clock.monotonic() - sentMonotonic];
        const response = result.response as HttpResponse;
        response.body = await bytesOf(response.body);
        exchange.answer = { status: response.statusCode, headers: inLowerCase(response.headers), body: response.body };
        const serverDate = dateOf(exchange.answer);
        if (serverDate !== undefined) onResponse?.({ serverDate, sentAt, receivedAt, tookMs });
        return result;
      };
      return (args) => (sending ??= send(args)) as ReturnType<typeof send>;
    },
    { step: 'deserialize', name: 'leaseholdAnswer', priority: 'low' },
  );
  return exchange;
}

function identityIn(headers: HttpRequest['headers']): Identity {
  return {
    accessKeyId: /Credential=([^/]*)/.exec(headers.authorization ?? '')?.[1] ?? '',
    sessionToken: headers['x-amz-security-token'],
  };
}

function inLowerCase(headers: HttpResponse['headers']): Answer['headers'] {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

async function bytesOf(body: HttpResponse['body']): Promise<Uint8Array> {
  if (body === undefined || body instanceof Uint8Array) return body ?? new Uint8Array();
  if (body instanceof Blob) return new Uint8Array(await body.arrayBuffer());
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** @throws DynamoFault for a value that cannot be stored */
function commandOf<K extends DynamoKind>(sdk: Sdk, kind: K, input: DynamoCalls[K]['input']): AnyCommand {
  try {
    const Command = sdk[COMMANDS[kind]] as new (input: never) => unknown;
    return new Command(encodeInput(kind, input, asBytes) as never) as AnyCommand;
  } catch (error) {
    throw unstorableFault(error);
  }
}

/** Both kinds of client send commands in the same way. */
type AnyCommand = Pick<GetItemCommand, keyof GetItemCommand>;

const COMMANDS = {
  get: 'GetItemCommand',
  batchGet: 'BatchGetItemCommand',
  query: 'QueryCommand',
  put: 'PutItemCommand',
  update: 'UpdateItemCommand',
  delete: 'DeleteItemCommand',
  transactWrite: 'TransactWriteItemsCommand',
} as const;

/** The SDK's messages for missing settings that a retry cannot fix, and our messages for them. */
const NO_REGION = 'Region is missing';
const NO_REGION_IS_KNOWN = 'no AWS region is known: set AWS_REGION, or give a region or an endpoint';

/** A retry may find missing credentials, but never a missing region or endpoint. */
function neverSent(thrown: unknown): DynamoFault {
  const error = errorOf(thrown) as SystemError;
  const isSetting = error.message === NO_REGION || error.name === 'EndpointError';
  return new DynamoFault(isSetting ? 'rejected' : 'unsent', {
    code: error.code ?? error.name,
    message: error.message === NO_REGION ? NO_REGION_IS_KNOWN : error.message,
    cause: thrown,
  });
}

function brokenOff(thrown: unknown): DynamoFault {
  const error = errorOf(thrown) as SystemError;
  return systemFault(isUnconnected(error) ? 'unsent' : 'unanswered', error);
}

/** Whether the request certainly did not reach a server, or the server did not prove its identity. */
function isUnconnected({ code = '', syscall, message, errors = [] }: SystemError): boolean {
  if (errors.length > 0) return errors.every(isUnconnected);
  return syscall === 'connect' || syscall === 'getaddrinfo' || UNCONNECTED.has(code) || BEFORE_TLS.test(message);
}

const UNCONNECTED = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL'],
  // Certificates are checked before anything is written.
  ...['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ...['SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_GET_ISSUER_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
  ...['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'ERR_SSL_WRONG_VERSION_NUMBER'],
]);
const BEFORE_TLS = /before secure TLS connection was established|:wrong version number:/;
