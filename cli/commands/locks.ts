/** `leasehold locks`: lists holders of keys with their times, and force-releases a key. */
import { Command } from 'commander';
import type { LockInfo } from '../../shared/coordination/lock/lock-record.ts';
import { name, wholeNumber } from '../arguments.ts';
import { audited, confirm, operatorOf } from '../confirm.ts';
import type { Bind, Context } from '../context.ts';
import type { CommandError, ExitCode } from '../exit.ts';
import { notFound, refused } from '../exit.ts';
import type { TenureOptions } from '../forced.ts';
import { FORCE_HELP, lockDelayOption, openingText } from '../forced.ts';
import type { LimitOptions } from '../listing.ts';
import { limitOption, list } from '../listing.ts';
import { factsOf, moment, momentAndAge, printable, relative, shortened, untilText } from '../output.ts';
import { untilInterrupted } from '../until-interrupted.ts';

interface ListOptions extends LimitOptions {
  readonly all?: boolean;
}

export function locksCommand(bind: Bind): Command {
  const locks = new Command('locks')
    .summary('list, show and release locks')
    .description('Lists, shows, watches and force-releases locks.');
  const listing = new Command('list')
    .argument('[prefix]', 'keys that begin with it', '')
    .description('Lists keys and their holders.')
    .option('--all', 'also released ones, which stay listed for 30 days')
    .addOption(limitOption());
  locks.addCommand(bind<ListOptions>(listing, listLocks), { isDefault: true });
  const show = new Command('show')
    .argument('<key>', 'the key', name)
    .description('Shows one key: value, holder, token, last forced release.');
  locks.addCommand(bind(show, showLock));
  const watch = new Command('watch')
    .argument('<key>', 'the key', name)
    .description('Prints a line for each change of one key, until interrupted.');
  locks.addCommand(bind(watch, watchLock));
  const release = new Command('release')
    .argument('<key>', 'the key', name)
    .description(
      'Takes a lock away from its holder, who learns of it at its next heartbeat. Its token is refused at once.',
    )
    .requiredOption(
      '--token <n>',
      "the tenure to end: the token that 'show' prints; any other tenure stays",
      wholeNumber(1),
    )
    .addOption(lockDelayOption('the key stays closed'))
    .addHelpText('after', RELEASE_HELP);
  locks.addCommand(bind<TenureOptions>(audited(release, 'the key'), releaseLock));
  return locks.addHelpText('after', HELP);
}

async function listLocks({ output, connect, runtime }: Context, options: ListOptions, prefix: string): Promise<void> {
  using connection = await connect();
  const now = runtime.clock.now();
  const all = connection.leasehold.locks.list(prefix);
  await list(
    options.all === true ? all : unreleased(all, now),
    options,
    {
      key: ({ key }) => shortened(key, 48),
      state: (info) => stateOf(info, now),
      holder: ({ holder }) => (holder === undefined ? '' : shortened(`${holder.name} on ${holder.node}`, 40)),
      since: ({ holder }) => (holder === undefined ? '' : relative(holder.since, now)),
      token: ({ leaseCounter }) => String(leaseCounter),
    },
    output,
    options.all === true ? 'no locks' : 'no locks are held (see --all)',
    'leasehold locks show KEY shows one in full',
  );
}

/** Held keys, closed keys, and entries that were never locked. */
async function* unreleased(locks: AsyncIterable<LockInfo>, now: number): AsyncGenerator<LockInfo> {
  for await (const info of locks) {
    const isReleased = info.holder === undefined && info.closedUntil <= now && info.leaseCounter > 0;
    if (!isReleased) yield info;
  }
}

async function showLock({ output, connect, runtime }: Context, _options: object, key: string): Promise<void> {
  using connection = await connect();
  const { info, closedUntil } = await connection.leasehold.locks.read(key);
  if (info === undefined) throw notFound(`lock ${key}`, absenceHint(closedUntil, runtime.clock.now()));
  output.answer(info, () => lockText(info, runtime.clock.now()));
}

/** A key without an entry may still have a lock-delay, for example after a session with the behavior `delete`. */
function absenceHint(closedUntil: number, now: number): string {
  return closedUntil > now
    ? `its entry was deleted with its session, and its lock-delay keeps the key closed until ${moment(closedUntil)}`
    : "'leasehold locks list' lists them";
}

async function watchLock({ output, connect }: Context, _options: object, key: string): Promise<ExitCode> {
  using connection = await connect();
  return await untilInterrupted(async (signal) => {
    let index = 0;
    for (;;) {
      const { index: next, info } = await connection.leasehold.locks.watch(key, { index, signal });
      index = next;
      if (signal.aborted) return;
      const now = connection.runtime.clock.now();
      output.answer(
        info ?? { key, absent: true },
        () => `${moment(now)}  ${info === undefined ? 'no such key' : changeText(info, now)}`,
      );
    }
  });
}

async function releaseLock(context: Context, options: TenureOptions, key: string): Promise<void> {
  using connection = await context.connect();
  const { locks } = connection.leasehold;
  const before = await locks.get(key);
  if (before === undefined) throw notFound(`lock ${key}`, "'leasehold locks list' lists them");
  ensureTenure(before, options.token);
  await confirm(context, 'takes away the lock', key, options);
  const { token: leaseCounter, lockDelay } = options;
  const input = { key, leaseCounter, lockDelay };
  const result = await connection.operations.execute('lock.release', input, operatorOf(options));
  if (result.kind === 'superseded') throw superseded(key, leaseCounter, result.current);
  const opening = openingText(result, context.runtime.clock.now());
  context.output.answer(
    { key, leaseCounter, ...result },
    () => `released lock ${printable(key)}, token ${leaseCounter}; ${opening}`,
  );
}

/** Checked before the operator is asked, because a decision about an older tenure concerned another holder. */
function ensureTenure(info: LockInfo, token: number): void {
  if (info.holder?.leaseCounter !== token) throw superseded(info.key, token, info);
}

function superseded(key: string, token: number, current: LockInfo | undefined): CommandError {
  const found =
    current?.holder === undefined
      ? 'it is free'
      : `it is held with token ${current.holder.leaseCounter} by ${current.holder.name} on ${current.holder.node}`;
  return refused(`lock ${key} is not held with token ${token}: ${found}`);
}

function stateOf({ holder, closedUntil }: LockInfo, now: number): string {
  if (holder !== undefined) return 'held';
  return closedUntil > now ? `closed for ${relative(closedUntil, now).slice(3)}` : 'free';
}

function changeText(info: LockInfo, now: number): string {
  const { holder, leaseCounter } = info;
  const by =
    holder === undefined
      ? ''
      : `  by ${printable(holder.name)} on ${printable(holder.node)}, session ${holder.session}`;
  return `${stateOf(info, now)}  token ${leaseCounter}${by}`;
}

function lockText(info: LockInfo, now: number): string {
  const { holder, lastForced } = info;
  return factsOf([
    ['key', printable(info.key)],
    ['state', stateOf(info, now)],
    ['token', `${info.leaseCounter} (the fencing token of the last tenure)`],
    ['holder', holder && printable(`${holder.name} on ${holder.node}`)],
    ['session', holder?.session],
    ['since', holder && momentAndAge(holder.since, now)],
    ['until', holder && untilText(holder.until, now)],
    ['value', info.value === undefined ? undefined : shortened(info.value, 200)],
    ['created', momentAndAge(info.createdAt, now)],
    ['modify index', String(info.modifyIndex)],
    [
      'last forced',
      lastForced && printable(`${momentAndAge(lastForced.at, now)} by ${lastForced.by}: ${lastForced.reason}`),
    ],
  ]);
}

const HELP = `
A leader holds a lock: 'leasehold locks list election/' lists elections, and 'release' deposes a leader.

Examples:
  $ leasehold locks list reports/
  $ leasehold locks show reports/nightly
  $ leasehold locks watch reports/nightly --json`;

const RELEASE_HELP = `${FORCE_HELP}

Exit codes: 4 there is no such lock, 5 it is not held with that token (any more).

Examples:
  $ leasehold locks release reports/nightly --token 1795226338919 --reason 'its host burnt down'
  $ leasehold locks release reports/nightly --token 1795226338919 --reason drill --yes reports/nightly`;
