/**
 * A proxy before DynamoDB that does to requests what networks, proxies and services do.
 *
 * Each request meets one fate, drawn from a seeded stream;
 * the machine decides which request gets which draw, so two runs of a seed have similar faults, not equal ones.
 * Requests name their sender by the application id in their User-Agent; one without a name is the harness's own, and is spared.
 * A request that was accepted here is forwarded even when its sender has hung up or died: that is what makes late writes.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request as sendRequest } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Prng } from '../../test/support/machines/prng.ts';
import type { Fate } from './profile.ts';
import { FATES, LENGTHS_MS } from './profile.ts';

interface ProxyOptions {
  /** The engine's endpoint. */
  readonly upstream: string;
  readonly random: Prng;
}

/** `request`: at its arrival, before it is forwarded. `response`: once it was applied, before it is answered. */
export type Moment = 'request' | 'response';

interface Ambush {
  readonly moment: Moment;
  readonly strike: () => void;
}

interface Partition {
  readonly untilMs: number;
  /** Whether requests still arrive, and only their answers are lost. */
  readonly oneWay: boolean;
}

interface Reply {
  readonly status: number;
  readonly headers: Record<string, string | string[]>;
  readonly body: Buffer;
}

interface Exchange {
  readonly sender: string;
  readonly verb: string;
  readonly isWrite: boolean;
  readonly request: IncomingMessage;
  readonly body: Buffer;
  readonly response: ServerResponse;
}

const WRITES = new Set(['PutItem', 'UpdateItem', 'DeleteItem', 'TransactWriteItems']);
const ERROR_PREFIX = 'com.amazonaws.dynamodb.v20120810#';
/** A duplicate comes at any time within this. */
const DUPLICATE_WITHIN_MS = 5_000;

export class FaultProxy {
  readonly tally = new Map<Fate, number>();
  /** Writes whose sender got no response. */
  ambiguous = 0;
  readonly #options: ProxyOptions;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #server = createServer((request, response) => {
    void this.#serve(request, response).catch(() => response.destroy());
  });
  readonly #stopping = new AbortController();
  readonly #partitions = new Map<string, Partition>();
  readonly #ambushes = new Map<string, Ambush>();
  readonly #halfOpen = new WeakSet<Socket>();
  #isHealthy = false;

  constructor(options: ProxyOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Cuts a sender off from the store for a while. */
  partition(sender: string, lengthMs: number, options: { readonly oneWay: boolean }): void {
    this.#partitions.set(sender, { untilMs: performance.now() + lengthMs, ...options });
  }

  /** Strikes at the next write of that sender. */
  ambush(sender: string, moment: Moment, strike: () => void): void {
    this.#ambushes.set(sender, { moment, strike });
  }

  /** From now on every request is forwarded and answered. */
  heal(): void {
    this.#isHealthy = true;
    this.#partitions.clear();
    this.#ambushes.clear();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
    this.#agent.destroy();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const verb = String(request.headers['x-amz-target'] ?? '').replace(/^.*\./, '');
    const sender = /\bapp\/([\w-]+)/.exec(request.headers['user-agent'] ?? '')?.[1] ?? '';
    const exchange = { sender, verb, isWrite: WRITES.has(verb), request, body: Buffer.concat(chunks), response };
    this.#strike(exchange, 'request');
    if (await this.#isCutOff(exchange)) return;
    await this.#meet(this.#draw(exchange), exchange);
  }

  /** Swallows the request when its sender is cut off, or its connection is half open. */
  async #isCutOff(exchange: Exchange): Promise<boolean> {
    const isHalfOpen = this.#halfOpen.has(exchange.request.socket) && !this.#isHealthy;
    const partition = this.#partitions.get(exchange.sender);
    const isPartitioned = partition !== undefined && performance.now() < partition.untilMs;
    if (!isHalfOpen && !isPartitioned) return false;
    if (partition?.oneWay === true) await this.#forward(exchange);
    this.#strike(exchange, 'response');
    this.#count(exchange);
    return true;
  }

  #draw({ sender }: Exchange): Fate | 'none' {
    if (this.#isHealthy || sender === '') return 'none';
    let draw = this.#options.random.next();
    for (const [fate, { share }] of Object.entries(FATES) as [Fate, (typeof FATES)[Fate]][]) {
      draw -= share;
      if (draw >= 0) continue;
      this.tally.set(fate, (this.tally.get(fate) ?? 0) + 1);
      return fate;
    }
    return 'none';
  }

  async #meet(fate: Fate | 'none', exchange: Exchange): Promise<void> {
    const { random } = this.#options;
    const { arrives, senderSees } = fate === 'none' ? ({ arrives: true, senderSees: 'answer' } as const) : FATES[fate];
    if (fate === 'delay') await this.#wait(random.logarithmic(LENGTHS_MS.delay.low, LENGTHS_MS.delay.high));
    if (fate === 'halfOpen') this.#halfOpen.add(exchange.request.socket);
    const reply = arrives ? await this.#forward(exchange) : undefined;
    if (fate === 'duplicate')
      void this.#wait(random.between(0, DUPLICATE_WITHIN_MS))
        .then(() => this.#forward(exchange))
        .catch(() => undefined);
    if (senderSees === 'answer') {
      if (reply !== undefined) this.#answer(exchange, reply);
      return;
    }
    if (senderSees === 'throttled') {
      this.#reply(exchange, errorReply(400, 'ProvisionedThroughputExceededException'));
      return;
    }
    this.#count(exchange);
    if (senderSees === 'nothing') this.#strike(exchange, 'response');
    if (senderSees === 'error') this.#reply(exchange, errorReply(500, 'InternalServerError'));
    if (senderSees === 'reset') exchange.request.socket.resetAndDestroy();
  }

  async #forward({ request, body }: Exchange): Promise<Reply> {
    const { host: _host, connection: _connection, ...headers } = request.headers;
    const { hostname, port } = new URL(this.#options.upstream);
    const forwarded = sendRequest({
      hostname,
      port,
      method: request.method,
      path: request.url,
      headers,
      agent: this.#agent,
      signal: this.#stopping.signal,
    });
    forwarded.end(body);
    const [reply] = (await once(forwarded, 'response')) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of reply) chunks.push(chunk as Buffer);
    const { connection: _, 'transfer-encoding': __, ...kept } = reply.headers;
    return {
      status: reply.statusCode ?? 500,
      headers: kept as Reply['headers'],
      body: Buffer.concat(chunks),
    };
  }

  #answer(exchange: Exchange, reply: Reply): void {
    this.#strike(exchange, 'response');
    // Its sender may have given up, or died, while the request was under way.
    if (exchange.response.destroyed || exchange.request.socket.destroyed) this.#count(exchange);
    this.#reply(exchange, reply);
  }

  #reply({ response }: Exchange, { status, headers, body }: Reply): void {
    response.writeHead(status, { ...headers, 'content-length': body.length });
    response.end(body);
  }

  #count({ isWrite, sender }: Exchange): void {
    if (isWrite && sender !== '') this.ambiguous++;
  }

  #strike({ sender, isWrite }: Exchange, moment: Moment): void {
    const ambush = this.#ambushes.get(sender);
    if (!isWrite || ambush?.moment !== moment) return;
    this.#ambushes.delete(sender);
    ambush.strike();
  }

  async #wait(ms: number): Promise<void> {
    if (!this.#isHealthy) await sleep(ms, undefined, { signal: this.#stopping.signal, ref: false });
  }
}

function errorReply(status: number, type: string): Reply {
  return {
    status,
    headers: { 'content-type': 'application/x-amz-json-1.0' },
    body: Buffer.from(JSON.stringify({ __type: `${ERROR_PREFIX}${type}`, message: 'by order of the chaos proxy' })),
  };
}
