/**
 * The driver over `fetch` and WebCrypto, for runtimes without Node: one call, one attempt.
 *
 * Limits of `fetch`, and our answers:
 *   - It never reports whether a request was sent, and a refused connection looks like a lost response. So only failures before the call
 *   are
 *     `unsent`. Every other failure is `unanswered`, and resolved by the nonce of the write.
 *   - Some runtimes send a request twice by themselves. Our writes tolerate that, because each is guarded, or is a transaction with a
 *   token.
 *   - It follows redirects with body and signature, so we turn that off.
 *   - It decompresses responses by itself, so that the checksum no longer matches. We request uncompressed responses.
 *   - An isolate serves many requests, which must not wait for each other's work.
 *     So requests share only keys and credentials that are available.
 *   - Isolates have a limit on concurrent connections and on the total number of requests. Further requests wait for a connection, or
 *   are refused before they are sent.
 */
import { ConfigurationError, errorOf, messageOf } from '../../core/errors.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import { Connections } from '../engine/connections.ts';
import type { DynamoCalls, DynamoDriver, DynamoKind } from '../engine/driver.ts';
import { DynamoFault } from '../engine/driver.ts';
import type { ResponseTiming } from '../engine/skew-gauge.ts';
import type { Answer } from './answer.ts';
import { dateOf, readAnswer } from './answer.ts';
import { reconsidered, unlessAborted } from './credentials.ts';
import type { CredentialProvider, TemporaryCredentials } from './kept-credentials.ts';
import { KeptCredentials } from './kept-credentials.ts';
import { validHeader } from './header-value.ts';
import { TARGETS, bodyOf } from './request-body.ts';
import { bytesOfFetched, textOfFetched } from './web-body.ts';
import { signForWeb } from './web-signature.ts';

export interface FetchDriverPorts {
  readonly runtime: Pick<Runtime, 'clock' | 'ids'>;
  readonly endpoint: string;
  readonly region: string;
  readonly credentials: TemporaryCredentials | CredentialProvider;
  readonly fetch: typeof fetch;
  /** Maximum concurrent requests. Further ones wait. */
  readonly maxInFlight: number;
  /** Maximum total requests. Further ones are refused without sending them. */
  readonly maxRequests: number;
  /** Receives the service's own time with each response. */
  readonly onResponse: (timing: ResponseTiming) => void;
}

export function createFetchDriver(ports: FetchDriverPorts): DynamoDriver {
  return new FetchDriver(ports);
}

class FetchDriver implements DynamoDriver {
  readonly connections: Connections;
  readonly #ports: FetchDriverPorts;
  readonly #url: URL;
  readonly #credentials: KeptCredentials;
  #sent = 0;
  /** Added to this machine's clock for signatures only; whether leases may trust the clock is the gauge's business. */
  #offsetMs = 0;

  constructor(ports: FetchDriverPorts) {
    const { clock } = ports.runtime;
    this.#ports = ports;
    this.#url = new URL(ports.endpoint);
    if (!this.#url.pathname.endsWith('/')) this.#url.pathname += '/';
    this.#credentials = new KeptCredentials(ports.credentials, () => clock.now() + this.#offsetMs);
    this.connections = new Connections(ports.maxInFlight);
  }

  async attempt<K extends DynamoKind>(
    kind: K,
    input: DynamoCalls[K]['input'],
    signal: AbortSignal,
  ): Promise<DynamoCalls[K]['output']> {
    const body = bodyOf(kind, input, this.#ports.runtime.ids);
    const { clock } = this.#ports.runtime;
    const { credentials, headers, sentAt, sentMonotonic } = await this.#signed(TARGETS[kind], body, signal);
    if (signal.aborted) throw unsent('TimeoutError', 'the request was given up before it was sent');
    this.#countOne();
    const answer = await this.#fetched({ headers, body, signal });
    const receivedAt = clock.now();
    const serverDate = dateOf(answer);
    if (serverDate !== undefined)
      this.#ports.onResponse({ serverDate, sentAt, receivedAt, tookMs: clock.monotonic() - sentMonotonic });
    try {
      return readAnswer(kind, answer, textOfFetched);
    } catch (fault) {
      throw await reconsidered(
        fault as DynamoFault,
        { answer, receivedAt, signal },
        {
          time: (offsetMs) => {
            this.#offsetMs = offsetMs;
          },
          credentials: () => this.#credentials.areOthersThan(credentials),
        },
      );
    }
  }

  /** @throws DynamoFault. If this fails, the request was never sent */
  async #signed(target: string, body: string, signal: AbortSignal) {
    const { clock } = this.#ports.runtime;
    const { host, pathname: path } = this.#url;
    try {
      const credentials = await unlessAborted(this.#credentials.current(), signal);
      const sentAt = clock.now();
      const request = { host, path, target, body };
      const { host: _, ...headers } = await signForWeb(
        request,
        credentials,
        this.#ports.region,
        sentAt + this.#offsetMs,
      );
      ensureSendable(headers);
      return { credentials, headers, sentAt, sentMonotonic: clock.monotonic() };
    } catch (error) {
      if (error instanceof ConfigurationError) throw error;
      throw unsent('NoCredentials', `there are no credentials: ${messageOf(error)}`, error);
    }
  }

  #countOne(): void {
    const { maxRequests } = this.#ports;
    if (this.#sent >= maxRequests)
      throw new DynamoFault('rejected', {
        code: 'RequestLimit',
        message:
          `maxRequests = ${maxRequests} have been sent, and this one was not: raise it ` +
          'as far as the runtime allows, or do less in one request',
      });
    this.#sent++;
  }

  /** @throws DynamoFault `unanswered`, because from here on the request may have been sent */
  async #fetched({ headers, body, signal }: { headers: Record<string, string>; body: string; signal: AbortSignal }) {
    const exchange = async (): Promise<Answer> => {
      const response = await this.#ports.fetch(this.#url, {
        method: 'POST',
        headers: { ...headers, 'accept-encoding': 'identity' },
        body,
        redirect: 'manual',
        signal,
      });
      // A browser reveals only the existence of a redirect.
      const status = response.type === 'opaqueredirect' ? REDIRECTED : response.status;
      return { status, headers: Object.fromEntries(response.headers), body: await bytesOfFetched(response) };
    };
    try {
      // A caller's own `fetch` may ignore the signal.
      return await unlessAborted(exchange(), signal);
    } catch (error) {
      const { name, message, code = name, cause } = errorOf(error) as FetchError;
      const details = cause?.message === undefined ? message : `${message}: ${cause.message}`;
      throw new DynamoFault('unanswered', {
        code: signal.aborted ? 'TimeoutError' : (cause?.code ?? String(code)),
        message: signal.aborted ? 'there was no answer in time' : details,
        cause: error,
      });
    }
  }
}

/**
 * `fetch` would quote the value in its error, which looks like a failed request.
 * @throws ConfigurationError
 */
function ensureSendable(headers: Readonly<Record<string, string>>): void {
  try {
    for (const name in headers) validHeader(name, headers[name] ?? '');
  } catch (error) {
    throw new ConfigurationError(
      `credentials: ${messageOf(error)}; nothing was sent: is there a line break in a key or a token?`,
    );
  }
}

interface FetchError extends Error {
  readonly code?: string | number;
  readonly cause?: { readonly code?: string; readonly message?: string };
}

const REDIRECTED = 302;

function unsent(code: string, message: string, cause?: unknown): DynamoFault {
  return new DynamoFault('unsent', { code, message, cause });
}
