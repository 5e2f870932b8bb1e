/** `leasehold leaders`: lists the leader of each election. */
import { Command } from 'commander';
import type { Leader } from '../../shared/coordination/election/election.ts';
import { electionKey } from '../../shared/coordination/election/election.ts';
import type { LockInfo } from '../../shared/coordination/lock/lock-record.ts';
import { name } from '../arguments.ts';
import type { Bind, Context } from '../context.ts';
import type { ExitCode } from '../exit.ts';
import { notFound } from '../exit.ts';
import type { LimitOptions } from '../listing.ts';
import { limitOption, list } from '../listing.ts';
import { factsOf, moment, momentAndAge, printable, relative, shortened, untilText } from '../output.ts';
import { untilInterrupted } from '../until-interrupted.ts';

export function leadersCommand(bind: Bind): Command {
  const leaders = new Command('leaders')
    .summary('list elections and their leaders')
    .description('Lists elections and watches their leaders.');
  const listing = new Command('list')
    .argument('[prefix]', 'elections whose name begins with it', '')
    .addOption(limitOption());
  leaders.addCommand(
    bind<LimitOptions>(listing.description('Elections, in order of name, with their leaders.'), listLeaders),
    { isDefault: true },
  );
  const show = new Command('show')
    .argument('<name>', 'the election', name)
    .description('One election: its leader and the proclaimed value.');
  leaders.addCommand(bind(show, showLeader));
  const watch = new Command('watch')
    .argument('<name>', 'the election', name)
    .description('Prints a line for each change of leader, until interrupted.');
  leaders.addCommand(bind(watch, watchLeader));
  return leaders.addHelpText('after', HELP);
}

interface ElectionRow {
  readonly name: string;
  readonly term: number;
  readonly leader: LockInfo['holder'] | null;
  readonly value: string;
}

async function listLeaders(
  { output, connect, runtime }: Context,
  options: LimitOptions,
  prefix: string,
): Promise<void> {
  using connection = await connect();
  const now = runtime.clock.now();
  await list(
    elections(connection.leasehold.locks.list(`${KEY_PREFIX}${prefix}`)),
    options,
    {
      election: (row) => shortened(row.name, 48),
      term: ({ term }) => String(term),
      leader: ({ leader }) => (leader ? shortened(`${leader.name} on ${leader.node}`, 40) : 'none'),
      since: ({ leader }) => (leader ? relative(leader.since, now) : ''),
      proclaims: ({ value }) => shortened(value, 40),
    },
    output,
    'no elections',
  );
}

/** The key of an election without its name. */
const KEY_PREFIX = electionKey('x').slice(0, -1);

async function* elections(locks: AsyncIterable<LockInfo>): AsyncGenerator<ElectionRow> {
  for await (const { key, leaseCounter: term, holder, value = '' } of locks)
    yield { name: key.slice(KEY_PREFIX.length), term, leader: holder ?? null, value };
}

async function showLeader({ output, connect, runtime }: Context, _options: object, election: string): Promise<void> {
  using connection = await connect();
  const leader = await connection.leasehold.elections.get(election);
  if (leader === undefined)
    throw notFound(`leader of ${election}`, "'leasehold leaders list' names the elections that there are");
  output.answer({ election, ...leader }, () => leaderText(leader, runtime.clock.now()));
}

async function watchLeader({ output, connect }: Context, _options: object, election: string): Promise<ExitCode> {
  using connection = await connect();
  return await untilInterrupted(async (signal) => {
    for await (const reign of connection.leasehold.elections.observe(election, { signal })) {
      const { term, leader } = reign;
      const now = connection.runtime.clock.now();
      const who = leader === undefined ? 'no leader' : printable(`${leader.name} on ${leader.node}  ${leader.value}`);
      output.answer({ election, ...reign }, () => `${moment(now)}  term ${term}  ${who}`.trimEnd());
    }
  });
}

function leaderText(leader: Leader, now: number): string {
  return factsOf([
    ['leader', printable(`${leader.name} on ${leader.node}`)],
    ['term', String(leader.term)],
    ['session', leader.session],
    ['since', momentAndAge(leader.since, now)],
    ['until', untilText(leader.until, now)],
    ['proclaims', shortened(leader.value, 200)],
  ]);
}

const HELP = `
A leadership is a lock: 'leasehold locks release ${KEY_PREFIX}<name>' deposes a leader.

Examples:
  $ leasehold leaders list
  $ leasehold leaders watch scheduler`;
