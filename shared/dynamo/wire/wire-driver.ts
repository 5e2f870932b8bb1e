/**
 * The driver without the SDK: AWS JSON 1.0 over connections and with signatures of our own; one call, one attempt.
 *
 * It spends about a third of the SDK's CPU a call, and loads in a fraction of its time.
 * No emulator checks signatures. So an answer that refuses the form of one, of which nothing was applied,
 * hands all further requests of this driver to the SDK's, which is loaded then, with one warning.
 */
import { ConfigurationError, messageOf } from '../../core/errors.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { DynamoCalls, DynamoDriver, DynamoKind } from '../engine/driver.ts';
import { DynamoFault } from '../engine/driver.ts';
import type { ResponseTiming } from '../engine/skew-gauge.ts';
import type { Answer } from './answer.ts';
import { dateOf, readAnswer } from './answer.ts';
import { textOfBody } from './body.ts';
import type { Credentials } from './credentials.ts';
import { Renewal, areRenewed, offsetFor, refusalOf, unlessAborted } from './credentials.ts';
import type { Destination, Target } from './destination.ts';
import { traceHeader } from './aws-environment.ts';
import { HttpLine } from './http.ts';
import { TARGETS, bodyOf, firstTable } from './request-body.ts';
import { RequestSigner } from './signature.ts';

export interface WireDriverPorts {
  readonly runtime: Pick<Runtime, 'clock' | 'ids'>;
  /** Asked once, with the first request; asked again after it has failed. @throws DynamoFault */
  readonly findDestination: () => Promise<Destination> | Destination;
  /** The SDK's driver, for what this one cannot do. */
  readonly openSdkDriver: () => Promise<DynamoDriver>;
  /** Learns the service's own time with each response. */
  readonly onResponse: (timing: ResponseTiming) => void;
  /** Told once, when the SDK's driver takes over. */
  readonly warn: (message: string) => void;
}

export interface WireDriver extends DynamoDriver {
  /** Closes idle connections. */
  close(): void;
}

export function createWireDriver(ports: WireDriverPorts): WireDriver {
  return new Wire(ports);
}

/** Longer than this without a request, and the process may have been frozen. */
const THAW_MS = 1_000;

class Wire implements WireDriver {
  readonly #ports: WireDriverPorts;
  readonly #line = new HttpLine();
  readonly #signer = new RequestSigner();
  readonly #renewal = new Renewal(async (options) => (this.#destination ?? (await this.#found())).credentials(options));
  #destination: Destination | undefined;
  #finding: Promise<Destination> | undefined;
  #successor: DynamoDriver | undefined;
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
    if (this.#successor !== undefined) return this.#successor.attempt(kind, input, signal);
    // Its host is the one of the account that the ARN names.
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
        return this.#headersFor(TARGETS[kind], target, body, sentAt);
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
      throw await this.#reconsidered(fault as DynamoFault, { answer, receivedAt, signal }, target.credentials);
    }
  }

  close(): void {
    this.#line.close();
  }

  /** @throws DynamoFault: whatever fails here was never sent */
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
    this.#finding ??= Promise.resolve(this.#ports.findDestination()).finally(() => {
      this.#finding = undefined;
    });
    return this.#finding;
  }

  /** Connections that the other side has closed meanwhile are known to be closed only after one turn of the loop. */
  async #turnAfterFreeze(): Promise<void> {
    if (this.#ports.runtime.clock.monotonic() - this.#usedAt < THAW_MS) return;
    await new Promise((resolve) => {
      // oxlint-disable-next-line no-restricted-globals -- it waits for nothing: the next turn of the loop comes at once
      setImmediate(resolve);
    });
  }

  #headersFor(target: string, to: Target, body: string, now: number): Readonly<Record<string, string>> {
    const request = { host: to.host, path: to.place.path, target, body };
    const headers = this.#signer.sign(request, to.credentials, to.region, now + this.#offsetMs);
    const trace = traceHeader();
    return trace === undefined ? headers : { ...headers, 'x-amzn-trace-id': trace };
  }

  /** Refused before it was looked at: with better credentials, another time or another driver it may be tried again. */
  async #reconsidered(
    fault: DynamoFault,
    { answer, receivedAt, signal }: { answer: Answer; receivedAt: number; signal: AbortSignal },
    refused: Credentials,
  ): Promise<DynamoFault> {
    switch (refusalOf(fault, answer, receivedAt)) {
      case undefined:
        return fault;
      case 'time':
        this.#offsetMs = offsetFor(answer, receivedAt);
        return new DynamoFault('unverified', fault);
      case 'credentials':
        if (await areRenewed(this.#renewal.finds(refused), signal)) return new DynamoFault('unverified', fault);
        return fault.code.startsWith('Expired') ? fault : this.#handedOver(fault);
      case 'signature':
        return this.#handedOver(fault);
    }
  }

  async #handedOver(fault: DynamoFault): Promise<DynamoFault> {
    try {
      const successor = await this.#ports.openSdkDriver();
      if (this.#successor === undefined)
        this.#ports.warn(
          `DynamoDB refused a signature (${fault.code}: ${fault.message}); the AWS SDK signs from ` +
            'now on. Should it be refused too, the credentials are wrong',
        );
      this.#successor = successor;
      return new DynamoFault('unverified', fault);
    } catch {
      return fault; // There is no SDK here: the refusal stands.
    }
  }
}
