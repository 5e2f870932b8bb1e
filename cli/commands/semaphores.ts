/** `leasehold semaphores`: lists holders of permits, evicts a permit, and changes a limit. */
import { Command } from 'commander';
import type { SemaphoreClient } from '../../shared/coordination/semaphore/semaphore-client.ts';
import type { SemaphoreState } from '../../shared/coordination/semaphore/state.ts';
import { name, wholeNumber } from '../arguments.ts';
import type { AuditOptions } from '../confirm.ts';
import { audited, confirm, operatorOf } from '../confirm.ts';
import type { Bind, Context } from '../context.ts';
import { notFound, refused } from '../exit.ts';
import type { TenureOptions } from '../forced.ts';
import { FORCE_HELP, lockDelayOption, openingText } from '../forced.ts';
import type { LimitOptions } from '../listing.ts';
import { limitOption, list, tableText } from '../listing.ts';
import { factsOf, momentAndAge, plural, printable, relative, shortened } from '../output.ts';

export function semaphoresCommand(bind: Bind): Command {
  const semaphores = new Command('semaphores')
    .summary('list semaphores, evict permits, change limits')
    .description('Lists and shows semaphores, evicts permits, changes limits.');
  const listing = new Command('list')
    .argument('[prefix]', 'semaphores whose name begins with it', '')
    .addOption(limitOption());
  semaphores.addCommand(bind<LimitOptions>(listing.description('Lists semaphores by name.'), listSemaphores), {
    isDefault: true,
  });
  const show = new Command('show')
    .argument('<name>', 'the semaphore', name)
    .description('Shows one semaphore: its holders and waiters.');
  semaphores.addCommand(bind(show, showSemaphore));
  const evict = new Command('evict')
    .argument('<name>', 'the semaphore', name)
    .description('Takes one permit away. A live holder learns of it at its next heartbeat.')
    .requiredOption('--token <n>', "the permit's token, as 'show' prints it", wholeNumber(1))
    .addOption(lockDelayOption('its slot stays closed'))
    .addHelpText('after', FORCE_HELP);
  semaphores.addCommand(bind<TenureOptions>(audited(evict, 'the name'), evictPermit));
  const limit = new Command('limit')
    .argument('<name>', 'the semaphore', name)
    .argument('<limit>', "a whole number, or 'declared' for what its contenders declare", limitOrDeclared)
    .description(
      'Changes the limit in effect. Lowering it does not revoke permits; new ones are granted when enough have been released.',
    );
  semaphores.addCommand(bind<AuditOptions>(audited(limit, 'the name'), setLimit));
  return semaphores.addHelpText('after', HELP);
}

async function listSemaphores({ output, connect }: Context, options: LimitOptions, prefix: string): Promise<void> {
  using connection = await connect();
  await list(
    states(connection.semaphores, prefix),
    options,
    {
      semaphore: (state) => shortened(state.name, 48),
      'in use': ({ inUse }) => String(inUse),
      limit: limitText,
      holders: ({ live }) => String(live),
      dead: ({ holders, live }) => String(holders.length - live),
      waiting: ({ waiting }) => String(waiting.length),
    },
    output,
    'no semaphores',
    'leasehold semaphores show NAME shows who holds its permits',
  );
}

async function* states(semaphores: SemaphoreClient, prefix: string): AsyncGenerator<SemaphoreState> {
  for await (const found of semaphores.list(prefix)) {
    const state = await semaphores.get(found);
    if (state !== undefined) yield state;
  }
}

async function showSemaphore(
  { output, connect, runtime }: Context,
  _options: object,
  semaphore: string,
): Promise<void> {
  using connection = await connect();
  const state = await readOrThrow(connection.semaphores, semaphore);
  output.answer(state, () => semaphoreText(state, runtime.clock.now()));
}

async function evictPermit(context: Context, options: TenureOptions, semaphore: string): Promise<void> {
  using connection = await context.connect();
  const state = await readOrThrow(connection.semaphores, semaphore);
  const { token, lockDelay } = options;
  const refusal = refused(`semaphore ${semaphore} has no permit with token ${token}`);
  const holder = state.holders.find((permit) => permit.token === token);
  if (holder === undefined) throw refusal;
  await confirm(context, `evicts ${holder.sessionName ?? holder.session} from semaphore`, semaphore, options);
  const input = { name: semaphore, token, lockDelay };
  const evicted = await connection.operations.execute('semaphore.evict', input, operatorOf(options));
  if (evicted === undefined) throw refusal;
  context.output.answer(
    evicted,
    () =>
      `evicted token ${token} of session ${evicted.session}; its slot is ${openingText(evicted, context.runtime.clock.now())}`,
  );
}

async function setLimit(context: Context, options: AuditOptions, semaphore: string, limit: string): Promise<void> {
  const wanted = limit === 'declared' ? limit : Number(limit);
  using connection = await context.connect();
  const before = await readOrThrow(connection.semaphores, semaphore);
  await confirm(context, `changes the limit from ${before.limit} to ${wanted} of semaphore`, semaphore, options);
  await connection.operations.execute(
    'semaphore.limit',
    { name: semaphore, limit: wanted, seen: before.limit },
    operatorOf(options),
  );
  const after = await readOrThrow(connection.semaphores, semaphore);
  context.output.answer(
    after,
    () => `semaphore ${printable(semaphore)} has a limit of ${limitText(after)}, ${after.inUse} in use`,
  );
}

/** Checked while the command line is read; operands stay text. */
function limitOrDeclared(text: string): string {
  return text === 'declared' ? text : String(wholeNumber(1)(text));
}

async function readOrThrow(semaphores: SemaphoreClient, semaphore: string): Promise<SemaphoreState> {
  const state = await semaphores.get(semaphore);
  if (state === undefined) throw notFound(`semaphore ${semaphore}`, "'leasehold semaphores list' lists them");
  return state;
}

function limitText({ limit, declared }: SemaphoreState): string {
  return limit === declared ? String(limit) : `${limit} (declared ${declared})`;
}

function semaphoreText(state: SemaphoreState, now: number): string {
  const { lastEviction, holders, waiting } = state;
  const facts = factsOf([
    ['semaphore', printable(state.name)],
    ['in use', `${state.inUse} of ${limitText(state)}`],
    ['waiting', waiting.length === 0 ? undefined : plural(waiting.length, 'contender')],
    [
      'last eviction',
      lastEviction && printable(`${momentAndAge(lastEviction.at, now)} by ${lastEviction.by}: ${lastEviction.reason}`),
    ],
  ]);
  if (holders.length === 0) return facts;
  const table = tableText(holders, {
    token: ({ token }) => String(token),
    permits: ({ permits }) => String(permits),
    holder: ({ sessionName = 'unknown', node = 'unknown' }) => shortened(`${sessionName} on ${node}`, 40),
    session: ({ session }) => session,
    since: ({ since }) => relative(since, now),
    // Evicted. Its capacity stays closed for the lock-delay, so that its holder can notice.
    state: ({ standing, closedUntil }) => (closedUntil === undefined ? standing : 'evicted'),
  });
  return `${facts}\n\n${table}`;
}

const HELP = `
Examples:
  $ leasehold semaphores list
  $ leasehold semaphores evict uploads --token 1795226338919 --reason 'stuck since noon'
  $ leasehold semaphores limit uploads 5 --reason 'the backend is slow' --yes uploads`;
