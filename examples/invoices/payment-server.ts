/**
 * A payment service that fails: of its calls 5 % get no answer, 15 % are refused as busy, and 15 % charge and then answer with an error.
 * It charges once for each idempotency key. A card takes one charge at a time: two at once are counted as a collision.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Charge {
  readonly key: string;
  readonly card: string;
  /** By key: must be 1. */
  charges: number;
  calls: number;
}

export interface PaymentServer extends AsyncDisposable {
  readonly url: string;
  /** In the order in which they were charged. */
  readonly charges: readonly Charge[];
  readonly collisions: number;
  /** While it is true, no call gets an answer. */
  isHanging: boolean;
}

const WORKS_FOR_MS = 5;

export async function startPaymentServer(random: () => number = Math.random): Promise<PaymentServer> {
  const seen = new Map<string, Charge>();
  const charged: Charge[] = [];
  const busy = new Set<string>();
  const state = { isHanging: false, collisions: 0 };
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      const { card } = JSON.parse(body) as { readonly card: string };
      const key = String(request.headers['idempotency-key']);
      const charge = seen.get(key) ?? { key, card, charges: 0, calls: 0 };
      seen.set(key, charge);
      charge.calls++;
      if (busy.has(card)) state.collisions++;
      busy.add(card);
      response.on('close', () => {
        busy.delete(card);
      });
      const dice = random();
      if (state.isHanging || dice < 0.05) return;
      setTimeout(() => {
        if (dice < 0.2) return void response.writeHead(503).end('busy');
        if (charge.charges === 0) {
          charge.charges++;
          charged.push(charge);
        }
        if (dice < 0.35) return void response.writeHead(500).end('lost after charging');
        response.end('charged');
      }, WORKS_FOR_MS);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(state, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    charges: charged,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  });
}
