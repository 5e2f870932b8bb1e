/**
 * Consul's HTTP API for sessions and keys, on top of the library, without its own protocol.
 * A gateway keeps only the polls of its waiting requests, so any number of gateways on one table act as one service. See consul/README.md.
 */
import { agentMembers, agentSelf, statusLeader, statusPeers } from './agent.ts';
import { deregisterNode, healthState, listDatacenters, listNodes, nodeHealth, registerNode } from './catalog.ts';
import { agentChecks, deregisterCheck, registerCheck, reportAs, updateCheck } from './checks.ts';
import type { Endpoint } from './exchange.ts';
import { serve, textResponse } from './exchange.ts';
import type { Gateway } from './gateway.ts';
import { deleteKeys, readKeys, writeKey } from './kv.ts';
import { Polls } from './polls.ts';
import { PrefixIndexes } from './prefix-index.ts';
import { routeOf } from './route.ts';
import { emptyList, emptyMap, nodeServices } from './services.ts';
import { createSession, destroySession, listSessions, nodeSessions, renewSession, sessionInfo } from './sessions.ts';
import type { TokenRules } from './tokens.ts';
import { TokenBook } from './tokens.ts';
import { runTransaction } from './txn.ts';
import { Waits } from './waits.ts';

/** Options of a gateway. It creates its other parts itself. */
export interface GatewayOptions extends Omit<Gateway, 'tokens' | 'indexes' | 'polls' | 'waits'> {
  /** Absent: no caller is asked for a token. */
  readonly tokens: readonly TokenRules[] | undefined;
}

type Methods = Readonly<Record<string, Endpoint>>;

/** By path. A path that ends in a slash is followed by a name. */
const ENDPOINTS: ReadonlyMap<string, Methods> = new Map<string, Methods>([
  ['/', { GET: () => Promise.resolve(new Response('Consul Agent')) }],
  ['/v1/session/create', { PUT: createSession }],
  ['/v1/session/destroy/', { PUT: destroySession }],
  ['/v1/session/renew/', { PUT: renewSession }],
  ['/v1/session/info/', { GET: sessionInfo }],
  ['/v1/session/node/', { GET: nodeSessions }],
  ['/v1/session/list', { GET: listSessions }],
  ['/v1/kv/', { GET: readKeys, PUT: writeKey, DELETE: deleteKeys }],
  ['/v1/txn', { PUT: runTransaction }],
  ['/v1/agent/self', { GET: agentSelf }],
  ['/v1/agent/members', { GET: agentMembers }],
  ['/v1/agent/services', { GET: emptyMap }],
  ['/v1/agent/checks', { GET: agentChecks }],
  ['/v1/agent/check/register', { PUT: registerCheck }],
  ['/v1/agent/check/deregister/', { PUT: deregisterCheck }],
  ['/v1/agent/check/pass/', { PUT: reportAs('passing') }],
  ['/v1/agent/check/warn/', { PUT: reportAs('warning') }],
  ['/v1/agent/check/fail/', { PUT: reportAs('critical') }],
  ['/v1/agent/check/update/', { PUT: updateCheck }],
  ['/v1/status/leader', { GET: statusLeader }],
  ['/v1/status/peers', { GET: statusPeers }],
  ['/v1/catalog/register', { PUT: registerNode }],
  ['/v1/catalog/deregister', { PUT: deregisterNode }],
  ['/v1/catalog/nodes', { GET: listNodes }],
  ['/v1/catalog/node/', { GET: nodeServices }],
  ['/v1/catalog/services', { GET: emptyMap }],
  ['/v1/catalog/service/', { GET: emptyList }],
  ['/v1/catalog/datacenters', { GET: listDatacenters }],
  ['/v1/event/list', { GET: emptyList }],
  ['/v1/health/node/', { GET: nodeHealth }],
  ['/v1/health/state/', { GET: healthState }],
  ['/v1/health/checks/', { GET: emptyList }],
  ['/v1/health/service/', { GET: emptyList }],
]);

/** Facts about a request that the `Request` object does not give: it resolves the dots in its URL. */
interface Bindings {
  /** The path and query as they were sent. */
  readonly target?: string | undefined;
  /** Node's own, from a server. */
  readonly incoming?: {
    readonly url?: string | undefined;
    readonly socket?: { readonly remoteAddress?: string | undefined };
  };
}

interface ConsulApp {
  readonly fetch: (request: Request, bindings?: Bindings) => Promise<Response>;
}

export function createConsulApp({ tokens, ...given }: GatewayOptions): ConsulApp {
  const gateway: Gateway = {
    ...given,
    tokens: new TokenBook(tokens),
    indexes: new PrefixIndexes(),
    polls: new Polls(given.runtime),
    waits: new Waits(given.settings.waits),
  };
  return {
    async fetch(request, { target, incoming } = {}) {
      const route = routeOf(target ?? incoming?.url ?? request.url, ENDPOINTS);
      if (route.kind === 'moved') return new Response(null, { status: 301, headers: { Location: route.location } });
      if (route.kind === 'refused')
        return route.text === ''
          ? new Response(null, { status: route.status })
          : textResponse(route.status, route.text);
      return serve(gateway, request, { ...route, address: incoming?.socket?.remoteAddress });
    },
  };
}
