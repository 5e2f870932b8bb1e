/**
 * Consul's HTTP API for sessions and keys, over the library: no protocol of its own.
 * A gateway keeps nothing but polls of what is waited for: any number of them on one table are one service. See docs/consul.md.
 */
import { Hono } from 'hono';
import type { Leasehold } from '../shared/leasehold.ts';
import type { Runtime } from '../shared/runtime/runtime.ts';
import { agentSelf, statusLeader, statusPeers } from './agent.ts';
import {
  deregisterNode,
  healthState,
  listDatacenters,
  listNodes,
  noServices,
  nodeHealth,
  registerNode,
} from './catalog.ts';
import { agentChecks, deregisterCheck, registerCheck, reportAs, updateCheck } from './checks.ts';
import type { Endpoint } from './exchange.ts';
import { serve } from './exchange.ts';
import type { Gateway, GatewaySettings } from './gateway.ts';
import { deleteKeys, readKeys, writeKey } from './kv.ts';
import { Polls } from './polls.ts';
import { PrefixIndexes } from './prefix-index.ts';
import { createSession, destroySession, listSessions, nodeSessions, renewSession, sessionInfo } from './sessions.ts';
import type { TokenRules } from './tokens.ts';
import { TokenBook } from './tokens.ts';
import { runTransaction } from './txn.ts';

export interface GatewayOptions {
  readonly leasehold: Leasehold;
  readonly runtime: Runtime;
  readonly settings: GatewaySettings;
  /** Absent: nobody is asked for a token. */
  readonly tokens: readonly TokenRules[] | undefined;
  /** Aborts when the gateway closes. */
  readonly closing: AbortSignal;
}

/** By path; one that ends in a slash is followed by a name. */
const ENDPOINTS: Readonly<Record<string, Readonly<Record<string, Endpoint>>>> = {
  '/v1/session/create': { PUT: createSession },
  '/v1/session/destroy/': { PUT: destroySession },
  '/v1/session/renew/': { PUT: renewSession },
  '/v1/session/info/': { GET: sessionInfo },
  '/v1/session/node/': { GET: nodeSessions },
  '/v1/session/list': { GET: listSessions },
  '/v1/kv/': { GET: readKeys, PUT: writeKey, DELETE: deleteKeys },
  '/v1/txn': { PUT: runTransaction },
  '/v1/agent/self': { GET: agentSelf },
  '/v1/agent/checks': { GET: agentChecks },
  '/v1/agent/check/register': { PUT: registerCheck },
  '/v1/agent/check/deregister/': { PUT: deregisterCheck },
  '/v1/agent/check/pass/': { PUT: reportAs('passing') },
  '/v1/agent/check/warn/': { PUT: reportAs('warning') },
  '/v1/agent/check/fail/': { PUT: reportAs('critical') },
  '/v1/agent/check/update/': { PUT: updateCheck },
  '/v1/status/leader': { GET: statusLeader },
  '/v1/status/peers': { GET: statusPeers },
  '/v1/catalog/register': { PUT: registerNode },
  '/v1/catalog/deregister': { PUT: deregisterNode },
  '/v1/catalog/nodes': { GET: listNodes },
  '/v1/catalog/datacenters': { GET: listDatacenters },
  '/v1/health/node/': { GET: nodeHealth },
  '/v1/health/state/': { GET: healthState },
  '/v1/health/checks/': { GET: noServices },
  '/v1/health/service/': { GET: noServices },
};

export function createConsulApp({ leasehold, runtime, settings, tokens, closing }: GatewayOptions): Hono {
  const gateway: Gateway = {
    ...{ leasehold, runtime, settings, closing },
    tokens: new TokenBook(tokens),
    indexes: new PrefixIndexes(),
    polls: new Polls(runtime),
  };
  const app = new Hono();
  for (const [path, methods] of Object.entries(ENDPOINTS))
    app.all(path.endsWith('/') ? `${path}*` : path, serve(gateway, path, methods));
  app.get('/', (context) => context.text('Consul Agent'));
  app.notFound((context) => context.body(null, 404));
  return app;
}
