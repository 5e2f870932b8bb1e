/** `/v1/catalog` and `/v1/health`, as far as sessions need them: nodes, and their checks. There are no services. */
import { validName } from '../../shared/core/validate/options.ts';
import type { CheckRecord } from '../health/health.ts';
import { NODE_CHECK } from '../health/health.ts';
import { OWN_ADDRESS } from './agent.ts';
import { blockingRead } from './blocking.ts';
import { checkIdOf, noteOf, statusOf } from './checks.ts';
import type { Endpoint, Exchange } from './exchange.ts';
import { parseGoDuration } from './go-duration.ts';
import type { Snapshot } from './polls.ts';
import { snapshotOf } from './polls.ts';
import { badRequest } from './problem.ts';
import { catalogNode, healthCheck } from './shapes.ts';

/** Registers a node, and the checks that come with it. */
export const registerNode: Endpoint = async (exchange) => {
  exchange.rights.ensure('nodes', 'write');
  const body = await exchange.body();
  const node = body.text('Node');
  if (node === '' || body.text('Address') === '') throw badRequest('Must provide node and address');
  const { health } = exchange.gateway.remote;
  await health.registerNode(validName('node', node), { note: noteOf(body.text('Address')) });
  const single = body.object('Check');
  for (const check of [...(single === undefined ? [] : [single]), ...body.list('Checks')]) {
    const id = check.text('CheckID') || check.text('Name');
    if (id === '') throw badRequest('Must provide a check id or name');
    const ttlMs = parseGoDuration(check.object('Definition')?.text('TTL') ?? '') ?? 0;
    await health.register(node, checkIdOf(id), {
      ...(ttlMs > 0 ? { ttl: ttlMs } : {}),
      note: noteOf(check.text('Output')),
      status: statusOf(check.text('Status') || 'critical'),
    });
    if (check.text('Status') === 'critical')
      await (await health.check(node, checkIdOf(id)))?.fail(noteOf(check.text('Output')));
  }
  return { json: true };
};

/** Deregisters a check, or a node with all its checks. Sessions bound to them end. */
export const deregisterNode: Endpoint = async (exchange) => {
  exchange.rights.ensure('nodes', 'write');
  const body = await exchange.body();
  const node = body.text('Node');
  if (node === '') throw badRequest('Must provide node');
  const { health } = exchange.gateway.remote;
  const check = body.text('CheckID');
  if (check === '') await health.deregisterNode(validName('node', node));
  else await (await health.check(validName('node', node), checkIdOf(check)))?.deregister();
  return { json: true };
};

export const listNodes: Endpoint = async (exchange) => {
  exchange.rights.ensure('nodes', 'read');
  const { settings } = exchange.gateway;
  const { value, index } = await blockingRead(exchange, 'nodes', checksRead(exchange, undefined));
  const nodes = new Map([[settings.node, OWN_ADDRESS]]);
  for (const check of value) if (check.id === NODE_CHECK) nodes.set(check.node, check.note);
  return { json: [...nodes].map(([name, address]) => catalogNode(name, address, settings.datacenter)), index };
};

export const listDatacenters: Endpoint = ({ gateway }) => Promise.resolve({ json: [gateway.settings.datacenter] });

export const nodeHealth: Endpoint = (exchange) => {
  if (exchange.rest === '') throw badRequest('Missing node name');
  return health(exchange, `checks of ${exchange.rest}`, exchange.rest, () => true);
};

export const healthState: Endpoint = (exchange) => {
  const state = exchange.rest;
  if (state === '') throw badRequest('Missing check state');
  return health(exchange, 'checks', undefined, (check) => state === 'any' || check.Status === state);
};

async function health(
  exchange: Exchange,
  what: string,
  node: string | undefined,
  isWanted: (check: Record<string, unknown>) => boolean,
) {
  exchange.rights.ensure('nodes', 'read');
  const { runtime, settings } = exchange.gateway;
  const { value, index } = await blockingRead(exchange, what, checksRead(exchange, node));
  const judge = { now: runtime.clock.now(), maxClockSkewMs: settings.maxClockSkewMs };
  return { json: value.map((check) => healthCheck(check, judge)).filter(isWanted), index };
}

function checksRead({ gateway }: Exchange, node: string | undefined): () => Promise<Snapshot<readonly CheckRecord[]>> {
  const { remote, runtime, settings } = gateway;
  return async () => {
    const checks = await Array.fromAsync(remote.health.list(node));
    if (node === undefined || node === settings.node) addOwnNode(checks, settings.node);
    const judge = { now: runtime.clock.now(), maxClockSkewMs: settings.maxClockSkewMs };
    // A repeated report is not a change.
    const facts = checks.map((check) => [check.node, check.id, check.note, healthCheck(check, judge).Status]);
    return snapshotOf(checks, facts, Math.max(0, ...checks.map(({ updatedAt }) => updatedAt)));
  };
}

/** The gateway answers, so its node is well, unless it was registered and something else is known of it. */
function addOwnNode(checks: CheckRecord[], node: string): void {
  if (checks.some((check) => check.node === node && check.id === NODE_CHECK)) return;
  const always = { ttlMs: null, expiresAt: null, updatedAt: 1, nonce: '' } as const;
  checks.unshift({ ...always, node, id: NODE_CHECK, status: 'passing', note: OWN_ADDRESS });
}
