/** `leasehold sessions`: lists live sessions, and ends a session. */
import { Command } from 'commander';
import type { SessionRecord } from '../../shared/session/session-record.ts';
import { judgeSession, lockDelayEndsAt, trustedUntil } from '../../shared/session/session-record.ts';
import { workersSemaphore } from '../../shared/tasks/dispatch/dispatcher.ts';
import { workerName } from '../../shared/tasks/dispatch/live-workers.ts';
import { name } from '../arguments.ts';
import { audited, confirm, operatorOf } from '../confirm.ts';
import type { CliConnection } from '../connection.ts';
import type { Bind, Context } from '../context.ts';
import type { CommandError } from '../exit.ts';
import { notFound, refused } from '../exit.ts';
import type { ForceOptions } from '../forced.ts';
import { FORCE_HELP, lockDelayOption, openingText } from '../forced.ts';
import type { LimitOptions } from '../listing.ts';
import { limitOption, list } from '../listing.ts';
import { factsOf, momentAndAge, printable, relative, shortened, span } from '../output.ts';

interface ListOptions extends LimitOptions {
  readonly all?: boolean;
}

export function sessionsCommand(bind: Bind): Command {
  const sessions = new Command('sessions').summary('live sessions').description('Lists, shows and destroys sessions.');
  const listing = new Command('list')
    .argument('[prefix]', 'sessions whose name begins with it', '')
    .description('Lists live sessions by name.')
    .option('--all', 'also expired ones, which stay listed for 30 days')
    .addOption(limitOption());
  sessions.addCommand(bind<ListOptions>(listing, listSessions), { isDefault: true });
  const show = new Command('show')
    .argument('<id>', 'its id', name)
    .description('Shows one session: its heartbeat, its settings, its end.');
  sessions.addCommand(bind(show, showSession));
  const destroy = new Command('destroy')
    .argument('<id>', 'its id', name)
    .description(
      'Ends a session: everything that it holds opens when its holder has stopped for certain, and its lock-delay is over.',
    )
    .addOption(lockDelayOption('its keys stay closed'))
    .addHelpText('after', FORCE_HELP);
  sessions.addCommand(bind<ForceOptions>(audited(destroy, 'the id'), destroySession));
  return sessions.addHelpText('after', HELP);
}

async function listSessions(
  { output, connect, runtime, settings }: Context,
  options: ListOptions,
  prefix: string,
): Promise<void> {
  using connection = await connect();
  const now = runtime.clock.now();
  const all = allSessions(connection, prefix);
  const shown = options.all === true ? all : living(all, now, settings.maxClockSkew);
  await list(
    shown,
    options,
    {
      name: (session) => shortened(session.name, 32),
      id: ({ id }) => id,
      node: ({ node }) => shortened(node, 32),
      state: (session) => stateOf(session, now, settings.maxClockSkew),
      heartbeat: (session) => heartbeatText(session, now),
      age: ({ createdAt }) => span(now - createdAt),
    },
    output,
    options.all === true ? 'no sessions' : 'no live sessions (see --all)',
    'leasehold sessions show ID shows one, and what it holds',
  );
}

/** The listed sessions. Deployed workers are not listed, but hold a permit of their queue. */
async function* allSessions({ leasehold, semaphores }: CliConnection, prefix: string): AsyncGenerator<SessionRecord> {
  const [permits, workers] = [workersSemaphore(''), workerName('')];
  const listed = new Set<string>();
  for await (const session of leasehold.sessions.list(prefix)) {
    if (session.name.startsWith(workers)) listed.add(session.id);
    yield session;
  }
  for await (const semaphore of semaphores.list(permits)) {
    const ofWorkers = workerName(semaphore.slice(permits.length));
    if (!ofWorkers.startsWith(prefix)) continue;
    for (const { session } of (await semaphores.get(semaphore))?.holders ?? []) {
      const record = listed.has(session) ? undefined : await leasehold.sessions.get(session);
      if (record?.status === 'live') yield record;
    }
  }
}

async function* living(
  sessions: AsyncIterable<SessionRecord>,
  now: number,
  maxClockSkewMs: number,
): AsyncGenerator<SessionRecord> {
  for await (const session of sessions) {
    const { kind } = judgeSession(session, now, maxClockSkewMs);
    if (kind === 'live' || kind === 'damaged') yield session;
  }
}

async function showSession(
  { output, connect, runtime, settings }: Context,
  _options: object,
  id: string,
): Promise<void> {
  using connection = await connect();
  const session = await connection.leasehold.sessions.get(id);
  if (session === undefined) throw notFound(`session ${id}`, "'leasehold sessions list --all' lists them");
  output.answer(session, () => sessionText(session, runtime.clock.now(), settings.maxClockSkew));
}

async function destroySession(context: Context, options: ForceOptions, id: string): Promise<void> {
  using connection = await context.connect();
  const before = await connection.leasehold.sessions.get(id);
  if (before === undefined) throw notFound(`session ${id}`, "'leasehold sessions list' lists live ones");
  if (before.status === 'invalid') throw ended(before);
  await confirm(context, `frees all that ${before.name} on ${before.node} holds, and ends session`, id, options);
  const input = { id, lockDelay: options.lockDelay };
  const result = await connection.operations.execute('session.destroy', input, operatorOf(options));
  if (result.kind === 'gone') throw ended(result.session ?? before);
  const { session } = result;
  const reading = { now: context.runtime.clock.now(), maxClockSkewMs: context.settings.maxClockSkew };
  const opening = {
    closedUntil: lockDelayEndsAt(session, reading.maxClockSkewMs),
    trustedUntil: trustedUntil(session, reading),
  };
  context.output.answer(session, () => `destroyed session ${id}; its keys are ${openingText(opening, reading.now)}`);
}

function ended(session: SessionRecord): CommandError {
  const how = session.status === 'invalid' ? ` (${session.reason})` : '';
  return refused(`session ${session.id} has ended already${how}`);
}

function stateOf(session: SessionRecord, now: number, maxClockSkewMs: number): string {
  const { kind } = judgeSession(session, now, maxClockSkewMs);
  if (session.status === 'invalid') return session.reason;
  return kind === 'expired' ? 'expired, not yet recorded' : kind;
}

/** Its last renewal, according to its row. A session without a TTL has none. */
function heartbeatText({ expiresAt, ttlMs, renewals }: SessionRecord, now: number): string {
  return expiresAt === null || ttlMs === null ? 'none' : `${relative(expiresAt - ttlMs, now)} (${renewals})`;
}

function sessionText(session: SessionRecord, now: number, maxClockSkewMs: number): string {
  return factsOf([
    ['id', session.id],
    ['name', printable(session.name)],
    ['node', printable(session.node)],
    ['code', session.codeVersion && printable(session.codeVersion)],
    ['state', stateOf(session, now, maxClockSkewMs)],
    ['created', momentAndAge(session.createdAt, now)],
    ['heartbeat', heartbeatText(session, now)],
    ['expires', session.expiresAt === null ? 'never' : momentAndAge(session.expiresAt, now)],
    ['ended', session.status === 'invalid' ? momentAndAge(session.invalidatedAt, now) : undefined],
    ['ttl', session.ttlMs === null ? 'none' : span(session.ttlMs)],
    ['lock-delay', span(session.lockDelayMs)],
    ['behaviour', session.behaviour],
    ['revoked', session.revoked.length === 0 ? undefined : printable(session.revoked.join('; '))],
  ]);
}

const HELP = `
Examples:
  $ leasehold sessions list worker/
  $ leasehold sessions show ebcf4939-b70c-4c24-9af0-cabcc81f9fca
  $ leasehold sessions destroy ebcf4939-b70c-4c24-9af0-cabcc81f9fca --reason 'its host is gone'`;
