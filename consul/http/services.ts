/** Empty lists of services and events. Common clients request them at startup. */
import { OWN_ADDRESS } from './agent.ts';
import { blockingRead } from './blocking.ts';
import type { Answer, Endpoint, Exchange } from './exchange.ts';
import { snapshotOf } from './polls.ts';
import { catalogNode } from './shapes.ts';

/** Blocking queries always time out, because the result never changes. */
async function answerNothing(exchange: Exchange, json: unknown): Promise<Answer> {
  exchange.rights.ensure('nodes', 'read');
  const { index } = await blockingRead(exchange, 'services', () => Promise.resolve(snapshotOf(null, [], 0)));
  return { json, index };
}

export const emptyList: Endpoint = (exchange) => answerNothing(exchange, []);
export const emptyMap: Endpoint = (exchange) => answerNothing(exchange, {});

/** A node, and its services; `null` for a node that is not the gateway's own. */
export const nodeServices: Endpoint = (exchange) => {
  const { node, datacenter } = exchange.gateway.settings;
  const known = { Node: catalogNode(node, OWN_ADDRESS, datacenter), Services: {} };
  return answerNothing(exchange, exchange.rest === node ? known : null);
};
