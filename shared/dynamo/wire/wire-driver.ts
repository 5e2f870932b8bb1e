/**
 * The default driver: AWS JSON 1.0, signed by AWS's `SignatureV4` and sent over Node's own HTTP client; one call, one attempt.
 *
 * It does not load the SDK's client, whose `send` takes four times the CPU of a call.
 */
import { defined } from '../../core/defined.ts';
import { ConfigurationError, messageOf } from '../../core/errors.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import { Connections } from '../engine/connections.ts';
import type { DynamoCalls, DynamoDriver, DynamoKind } from '../engine/driver.ts';
import { DynamoFault } from '../engine/driver.ts';
import type { ResponseTiming } from '../engine/skew-gauge.ts';
import { dateOf, readAnswer } from './answer.ts';
import { textOfBody } from './body.ts';
import { Renewal, reconsidered, unlessAborted } from './credentials.ts';
import type { Destination, Target } from './destination.ts';
import { traceHeader } from './aws-environment.ts';
import { HttpLine, MAX_SOCKETS } from './http.ts';
import { TARGETS, bodyOf, firstTable } from './request-body.ts';
import { signedHeaders } from './signature.ts';

interface WireDriverPorts {
  readonly runtime: Pick<Runtime, 'clock' | 'ids'>;
  /** Called once, with the first request, and again after a failure. @throws DynamoFault */
  readonly findDestination: () => Promise<Destination> | Destination;
  /** The SDK's driver, for tables that are named by their ARN. */
  readonly openSdkDriver: () => Promise<DynamoDriver>;
  /** Receives the service's own time with each response. */
  readonly onResponse: (timing: ResponseTiming) => void;
}

interface WireDriver extends DynamoDriver {
  /** Closes idle connections. */
  close(): void;
}

export function createWireDriver(ports: WireDriverPorts): WireDriver {
  return new Wire(ports);
}

/** After a longer time without a request, the process may have been frozen. */
const THAW_MS = 1_000;

class Wire implements WireDriver {
  readonly #ports: WireDriverPorts;
  readonly connections = new Connections(MAX_SOCKETS);
  readonly #line = new HttpLine();
  readonly #renewal = new Renewal(async (options) => (this.#destination ?? (await this.#found())).credentials(options));
  #destination: Destination | undefined;
  #finding: Promise<Destination> | undefined;
  /** Added to this machine's clock for signatures only; whether leases may trust the clock is the gauge's business. */
  #offsetMs = 0;
  #usedAt = -Infinity;

  constructor(ports: WireDriverPorts) {
    this.#ports = ports;
  }

  async attempt<K extends DynamoKind>(
    kind: K,
    input: DynamoCalls[K]['input'],
    signal: AbortSignal,
  ): Promise<DynamoCalls[K]['output']> {
    // The host depends on the account in the ARN, and only the SDK can determine it.
    if (firstTable(input).startsWith('arn:')) return (await this.#ports.openSdkDriver()).attempt(kind, input, signal);
    const body = bodyOf(kind, input, this.#ports.runtime.ids);
    const target = await this.#target(signal);
    await this.#turnAfterFreeze();
    const { clock } = this.#ports.runtime;
    let [sentAt, sentMonotonic] = [0, 0];
    const exchange = {
      place: target.place,
      body,
      headers: () => {
        [sentAt, sentMonotonic] = [clock.now(), clock.monotonic()];
        return Promise.resolve(this.#headersFor(TARGETS[kind], target, body, sentAt));
      },
    };
    const answer = await this.#line.exchange(exchange, signal);
    const receivedAt = clock.now();
    this.#usedAt = clock.monotonic();
    const serverDate = dateOf(answer);
    if (serverDate !== undefined)
      this.#ports.onResponse({ serverDate, sentAt, receivedAt, tookMs: this.#usedAt - sentMonotonic });
    try {
      return readAnswer(kind, answer, textOfBody);
    } catch (fault) {
      throw await reconsidered(
        fault as DynamoFault,
        { answer, receivedAt, signal },
        {
          time: (offsetMs) => {
            this.#offsetMs = offsetMs;
          },
          credentials: () => this.#renewal.finds(target.credentials),
        },
      );
    }
  }

  close(): void {
    this.#line.close();
  }

  /** @throws DynamoFault. If this fails, the request was never sent */
  async #target(signal: AbortSignal): Promise<Target> {
    try {
      this.#destination ??= await unlessAborted(this.#found(), signal);
      const target = this.#destination.current();
      return target instanceof Promise ? await unlessAborted(target, signal) : target;
    } catch (error) {
      if (error instanceof DynamoFault || error instanceof ConfigurationError) throw error;
      throw new DynamoFault('unsent', { code: 'Unresolved', message: messageOf(error), cause: error });
    }
  }

  #found(): Promise<Destination> {
    this.#finding ??= this.#find().finally(() => {
      this.#finding = undefined;
    });
    return this.#finding;
  }

  async #find(): Promise<Destination> {
    return await this.#ports.findDestination();
  }

  /** It takes one turn of the event loop to learn that the other side has closed a connection. */
  async #turnAfterFreeze(): Promise<void> {
    if (this.#ports.runtime.clock.monotonic() - this.#usedAt < THAW_MS) return;
    await new Promise((resolve) => {
      // oxlint-disable-next-line no-restricted-globals -- it waits for nothing: the next turn of the loop comes at once
      setImmediate(resolve);
    });
  }

  #headersFor(target: string, to: Target, body: string, now: number): Record<string, string> {
    const trace = traceHeader();
    const headers = {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': target,
      ...defined({ 'x-amzn-trace-id': trace }),
    };
    return signedHeaders({ ...to.place, headers, body }, { service: 'dynamodb', ...to }, now + this.#offsetMs);
  }
}
