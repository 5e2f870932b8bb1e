/** `/v1/agent/check`: health checks of the gateway's own node, reported by the programs that watch over something there. */
import { NODE_CHECK } from '../health/health.ts';
import type { Check } from '../health/health-client.ts';
import type { Endpoint, Exchange } from './exchange.ts';
import { parseGoDuration } from './go-duration.ts';
import { Problem, badRequest } from './problem.ts';
import { SERF_CHECK, healthCheck } from './shapes.ts';

type ReportedStatus = 'passing' | 'warning' | 'critical';
const STATUSES: readonly string[] = ['passing', 'warning', 'critical'] satisfies ReportedStatus[];
/** Longest note that we keep of a report. At any width of character it fits the library's 1,024 bytes. */
const NOTE_LIMIT_CHARACTERS = 256;

export const registerCheck: Endpoint = async (exchange) => {
  exchange.rights.ensure('nodes', 'write');
  const body = await exchange.body();
  const id = body.text('ID') || body.text('CheckID') || body.text('Name');
  if (id === '') throw badRequest('Missing check name');
  const ttl = body.text('TTL');
  const ttlMs = parseGoDuration(ttl) ?? 0;
  if (ttlMs <= 0) throw badRequest('Invalid check: TTL must be > 0 for TTL checks, and there are no others here');
  const { remote, settings } = exchange.gateway;
  await remote.health.register(settings.node, checkIdOf(id), {
    ttl: ttlMs,
    note: noteOf(body.text('Notes')),
    // Until its first report a check has failed, unless its maker says otherwise.
    status: statusOf(body.text('Status') || 'critical'),
  });
  return empty();
};

export const deregisterCheck: Endpoint = async (exchange) => {
  exchange.rights.ensure('nodes', 'write');
  await (await checkOf(exchange)).deregister();
  return empty();
};

export const reportAs =
  (status: ReportedStatus): Endpoint =>
  async (exchange) => {
    exchange.rights.ensure('nodes', 'write');
    await report(await checkOf(exchange), status, exchange.query.get('note') ?? '');
    return empty();
  };

export const updateCheck: Endpoint = async (exchange) => {
  exchange.rights.ensure('nodes', 'write');
  const body = await exchange.body();
  const status = statusOf(body.text('Status'));
  await report(await checkOf(exchange), status, body.text('Output'));
  return empty();
};

export const agentChecks: Endpoint = async (exchange) => {
  exchange.rights.ensure('nodes', 'read');
  const { remote, settings, runtime } = exchange.gateway;
  const checks: Record<string, unknown> = {};
  const judge = { now: runtime.clock.now(), maxClockSkewMs: settings.maxClockSkewMs };
  for await (const record of remote.health.list(settings.node))
    if (record.id !== NODE_CHECK) checks[record.id] = healthCheck(record, judge);
  return { json: checks };
};

export function checkIdOf(id: string): string {
  return id === SERF_CHECK ? NODE_CHECK : id;
}

export function statusOf(text: string): ReportedStatus {
  if (!STATUSES.includes(text)) throw badRequest(`Invalid check status: '${text}'`);
  return text as ReportedStatus;
}

export function noteOf(text: string): string {
  return text.slice(0, NOTE_LIMIT_CHARACTERS).toWellFormed();
}

async function checkOf({ gateway, rest }: Exchange): Promise<Check> {
  const check = rest === '' ? undefined : await gateway.remote.health.check(gateway.settings.node, checkIdOf(rest));
  if (check === undefined)
    throw new Problem(
      404,
      `Unknown check ID ${JSON.stringify(rest)}. Ensure that the check ID is passed, not the check name.`,
    );
  return check;
}

async function report(check: Check, status: ReportedStatus, text: string): Promise<void> {
  const note = noteOf(text);
  if (status === 'passing') await check.pass(note);
  else if (status === 'warning') await check.warn(note);
  else await check.fail(note);
}

function empty(): Response {
  return new Response(null);
}
