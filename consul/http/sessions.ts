/** `/v1/session`: remote sessions of the library, kept alive by their clients' renewals alone. */
import { DEFAULT_LOCK_DELAY_MS, MAX_LOCK_DELAY_MS } from '../../shared/core/lease/timing.ts';
import { validName } from '../../shared/core/validate/options.ts';
import { NODE_CHECK, failureOf } from '../health/health.ts';
import type { LiveSession, SessionRecord } from '../../shared/session/session-record.ts';
import { blockingRead } from './blocking.ts';
import type { Body } from './body.ts';
import type { Endpoint, Exchange } from './exchange.ts';
import { DECODE_FAILED } from './exchange.ts';
import type { Gateway } from './gateway.ts';
import { tellEnded } from './gateway.ts';
import { formatGoDuration, parseGoDuration } from './go-duration.ts';
import type { Snapshot } from './polls.ts';
import { snapshotOf } from './polls.ts';
import { Problem, badRequest, denied, failed } from './problem.ts';
import { SERF_CHECK, sessionEntry } from './shapes.ts';

/** A number below this is seconds, whatever the unit: people write 5 and mean that. */
const SECONDS_BELOW = 1_000;
const NS_PER_MS = 1_000_000;

export const createSession: Endpoint = async (exchange) => {
  exchange.rights.ensure('sessions', 'write');
  const body = await exchange.body();
  const { remote, settings } = exchange.gateway;
  const node = body.text('Node') === '' ? settings.node : validName('node', body.text('Node'));
  const name = body.text('Name') === '' ? '' : validName('session name', body.text('Name'));
  const session = await remote.sessions.create({
    name,
    node,
    ttlMs: ttlOf(body, settings),
    lockDelayMs: lockDelayOf(body),
    behaviour: behaviourOf(body),
    checks: await checksOf(body, node, exchange.gateway),
  });
  exchange.gateway.polls.nudge();
  return { json: { ID: session.id } };
};

/** Idempotent: a missing session counts as destroyed. */
export const destroySession: Endpoint = async (exchange) => {
  exchange.rights.ensure('sessions', 'write');
  const id = idOf(exchange);
  await exchange.gateway.remote.anySessions.destroy(id);
  tellEnded(exchange.gateway, id);
  return { json: true };
};

export const renewSession: Endpoint = async (exchange) => {
  exchange.rights.ensure('sessions', 'write');
  const id = idOf(exchange);
  const renewal = await exchange.gateway.remote.sessions.renew(id);
  if (renewal.kind === 'gone') throw new Problem(404, `Session id '${id}' not found`);
  // A renewal would take it from its holder.
  if (renewal.kind === 'notRemote') throw denied();
  return { json: [sessionEntry(renewal.session)] };
};

export const sessionInfo: Endpoint = async (exchange) => {
  exchange.rights.ensure('sessions', 'read');
  const id = idOf(exchange);
  const read = async (): Promise<Snapshot<readonly LiveSession[]>> => {
    const session = await exchange.gateway.remote.sessions.live(id);
    return sessionsRead(session === undefined ? [] : [session]);
  };
  const { value, index } = await blockingRead(exchange, `session ${id}`, read);
  return { json: value.map(sessionEntry), index };
};

export const listSessions: Endpoint = (exchange) => listed(exchange, 'sessions', () => true);

export const nodeSessions: Endpoint = (exchange) => {
  const node = exchange.rest;
  if (node === '') throw badRequest('Missing node name');
  return listed(exchange, `sessions of ${node}`, (session) => session.node === node);
};

/** Hides expired and damaged sessions. */
async function listed(exchange: Exchange, what: string, isWanted: (session: SessionRecord) => boolean) {
  exchange.rights.ensure('sessions', 'read');
  const { remote } = exchange.gateway;
  const read = async (): Promise<Snapshot<readonly LiveSession[]>> => {
    const all = await Array.fromAsync(remote.anySessions.list());
    return sessionsRead(await remote.sessions.liveAmong(all.filter(isWanted)));
  };
  const { value, index } = await blockingRead(exchange, what, read);
  return { json: value.map(sessionEntry), index };
}

function sessionsRead(sessions: readonly LiveSession[]): Snapshot<readonly LiveSession[]> {
  const facts = sessions.map(({ id }) => id).sort();
  return snapshotOf(sessions, facts, Math.max(0, ...sessions.map(({ createdAt }) => createdAt)));
}

function idOf({ rest }: Exchange): string {
  if (rest === '') throw badRequest('Missing session');
  return rest;
}

function ttlOf(body: Body, { minTtlMs, maxTtlMs }: Gateway['settings']): number | null {
  const text = body.text('TTL');
  if (text === '') return null;
  const ttlMs = parseGoDuration(text);
  if (ttlMs === undefined)
    throw failed(`Session TTL '${text}' invalid: time: invalid duration ${JSON.stringify(text)}`);
  if (ttlMs === 0) return null;
  if (ttlMs < minTtlMs || ttlMs > maxTtlMs)
    throw failed(
      `Invalid Session TTL '${ttlMs * NS_PER_MS}', must be between [${formatGoDuration(minTtlMs)}=${formatGoDuration(maxTtlMs)}]`,
    );
  return Math.round(ttlMs);
}

/** Values above one minute become one minute, as in Consul. */
function lockDelayOf(body: Body): number {
  const given = body.raw('LockDelay') ?? `${DEFAULT_LOCK_DELAY_MS}ms`;
  const delayNs = nanosecondsOf(given);
  if (delayNs === undefined) throw badRequest(`${DECODE_FAILED}: time: invalid duration in LockDelay`);
  const delayMs = delayNs < SECONDS_BELOW ? delayNs * 1_000 : delayNs / NS_PER_MS;
  return Math.round(Math.min(Math.max(0, delayMs), MAX_LOCK_DELAY_MS));
}

function nanosecondsOf(given: unknown): number | undefined {
  if (typeof given === 'number' || typeof given === 'bigint') return Number(given);
  const ms = typeof given === 'string' ? parseGoDuration(given) : undefined;
  return ms === undefined ? undefined : ms * NS_PER_MS;
}

function behaviourOf(body: Body): 'release' | 'delete' {
  const behaviour = body.text('Behavior');
  if (behaviour === '' || behaviour === 'release') return 'release';
  if (behaviour === 'delete') return 'delete';
  throw failed(`Invalid Behavior setting '${behaviour}'`);
}

/** Returns the session's checks. The gateway's own node exists until someone registers and then deregisters it. */
async function checksOf(
  body: Body,
  node: string,
  { remote: { health }, settings, runtime }: Gateway,
): Promise<readonly string[]> {
  const isGiven = body.has('Checks') || body.has('NodeChecks');
  const wanted = isGiven ? [...body.texts('Checks'), ...body.texts('NodeChecks')] : [SERF_CHECK];
  if (body.list('ServiceChecks').length > 0)
    throw failed('apply failed: Missing check registration: there are no services here');
  const nodeCheck = await health.check(node, NODE_CHECK);
  if (nodeCheck === undefined && node !== settings.node) throw failed('apply failed: Missing node registration');
  const ids = new Set<string>();
  for (const id of wanted) {
    const isOfNode = id === SERF_CHECK;
    if (isOfNode && nodeCheck === undefined) continue;
    const check = isOfNode ? nodeCheck : await health.check(node, id);
    if (check === undefined) throw failed(`apply failed: Missing check '${id}' registration`);
    if (failureOf(check.record, runtime.clock.now(), settings.maxClockSkewMs) !== undefined)
      throw failed(`apply failed: Check '${id}' is in critical state`);
    ids.add(check.id);
  }
  return [...ids];
}
