/** `leasehold queues`: shows backlogs and workers, and pauses and resumes queues. */
import { Command, Option } from 'commander';
import { workerName } from '../../shared/tasks/dispatch/live-workers.ts';
import { workersSemaphore } from '../../shared/tasks/dispatch/dispatcher.ts';
import { hintFor } from '../../shared/core/validate/options.ts';
import { take } from '../../shared/core/runtime/take.ts';
import { openEntries } from '../../shared/tasks/queue/listing.ts';
import { NEVER } from '../../shared/tasks/task/batch.ts';
import { isPausedTenant } from '../../shared/tasks/task/queue-store.ts';
import { PRIORITIES } from '../../shared/tasks/task/task.ts';
import { name, spanOption } from '../arguments.ts';
import type { AuditOptions } from '../confirm.ts';
import { byOption, operatorOf, reasonOption } from '../confirm.ts';
import type { CliConnection, QueueConnection } from '../connection.ts';
import type { Bind, Context } from '../context.ts';
import type { ExitCode } from '../exit.ts';
import { CommandError, EXIT } from '../exit.ts';
import type { LimitOptions } from '../listing.ts';
import { limitOption, list } from '../listing.ts';
import { counted, factsOf, plural, printable, queueFlag, shortened, span } from '../output.ts';
import type { QueueSummary, SuspendedTasks } from '../queue/queue-summary.ts';
import {
  queueState,
  sumOf,
  summarizeQueue,
  suspendedTasks,
  workersText,
  unfinishedTasks,
} from '../queue/queue-summary.ts';
import { numbersByName, numbersText } from '../queue/ended-list.ts';
import { stateText } from '../queue/task-words.ts';
import { shardsOption } from '../queue/options.ts';
import { shardsInUse } from '../queue/shards.ts';

interface ShardsOptions {
  readonly shards: number;
}

type ChangeOptions = ShardsOptions & AuditOptions & { readonly tenant?: string };
type DrainOptions = ShardsOptions & { readonly timeout?: number };

/** Maximum number of queues that are searched for a similar name. */
const QUEUES_SUGGESTED = 100;
/** Poll interval of a queue that is being drained. */
const POLL_MS = 1_000;
/** Workers check every five seconds whether their queue is open. The sixth second is for a claim in flight. */
const REST_MS = 6_000;

export function queuesCommand(bind: Bind): Command {
  const queues = new Command('queues')
    .summary('list, pause and drain queues')
    .description('Lists, pauses, resumes and drains queues.');
  const listing = new Command('list')
    .description('Lists queues with statistics: every queue that ever had a deployed worker or has a local one now.')
    .addOption(shardsOption())
    .addOption(limitOption());
  queues.addCommand(bind<ShardsOptions & LimitOptions>(listing, listQueues), { isDefault: true });
  const stats = new Command('stats')
    .argument('<name>', 'the queue', name)
    .description('Shows the figures of one queue.')
    .addOption(shardsOption());
  queues.addCommand(bind<ShardsOptions>(stats, showStats));
  const pause = new Command('pause')
    .argument('<name>', 'the queue', name)
    .description(
      'Stops claims of its tasks, or those of one tenant, within a few seconds. Running tasks finish, and you can still enqueue.',
    );
  const resume = new Command('resume')
    .argument('<name>', 'the queue', name)
    .description('Lets workers claim its tasks again, or those of one tenant.');
  for (const [verb, command] of [['pause', pause] as const, ['resume', resume] as const]) {
    command.addOption(new Option('--tenant <tenant>', 'only the tasks of this tenant').argParser(name));
    command.addOption(shardsOption()).addOption(reasonOption()).addOption(byOption());
    queues.addCommand(bind<ChangeOptions>(command, (context, options, queue) => change(context, options, queue, verb)));
  }
  const drain = new Command('drain')
    .argument('<name>', 'the queue', name)
    .description(
      'Waits until no task is due or running; for a paused queue or tenant, until none is running. Changes ' +
        'nothing: stop adding, or pause another queue, as you like.',
    )
    .addOption(shardsOption())
    .addOption(spanOption('--timeout <span>', 'give up after this time, with code 1'));
  queues.addCommand(bind<DrainOptions>(drain, drainQueue));
  return queues.addHelpText('after', HELP);
}

async function listQueues({ output, connect }: Context, options: ShardsOptions & LimitOptions): Promise<void> {
  using connection = await connect();
  await list(
    censuses(connection, options.shards),
    options,
    {
      queue: ({ queue }) => shortened(queue, 40),
      state: queueState,
      due: ({ due, more }) => counted(sumOf(due), more),
      delayed: ({ later, more }) => counted(sumOf(later), more),
      dead: ({ dead, more }) => counted(dead, more),
      workers: ({ workers }) => workersText(workers),
      'oldest ready': ({ oldestReadyAgeMs }) => (oldestReadyAgeMs === 0 ? '' : span(oldestReadyAgeMs)),
    },
    output,
    'no queues with workers yet; for a queue without one: leasehold queues stats <name>',
    'leasehold queues stats NAME shows one in full',
  );
}

/** A queue that ever had a deployed worker has a semaphore for its workers; manually started ones have only their sessions. */
async function* censuses(connection: CliConnection, shards: number): AsyncGenerator<QueueSummary> {
  const seen = new Set<string>();
  for await (const queue of servedQueues(connection)) {
    if (seen.has(queue)) continue;
    seen.add(queue);
    yield await summarizeQueue(connection, connection.queue(queue, shards));
  }
}

async function* servedQueues({ semaphores, leasehold }: CliConnection): AsyncGenerator<string> {
  const [permits, sessions] = [workersSemaphore(''), workerName('')];
  for await (const semaphore of semaphores.list(permits)) yield semaphore.slice(permits.length);
  for await (const { name: session } of leasehold.sessions.list(sessions)) yield session.slice(sessions.length);
}

async function showStats(
  { output, connect, runtime }: Context,
  { shards }: ShardsOptions,
  queue: string,
): Promise<void> {
  using connection = await connect();
  const there = connection.queue(queue, shards);
  const census = await summarizeQueue(connection, there);
  if (isEmpty(census) && !(await isOnRecord(connection, there))) await ensureServed(connection, queue);
  const suspended = await suspendedTasks(there, runtime.clock.now());
  const named = suspended.tasks.map(({ id }) => id);
  const byName = await numbersByName(there);
  output.answer(
    { ...census, suspended: named, byName },
    () => `${censusText(census, suspended)}\n\n${numbersText(byName)}`,
  );
  const dead = census.dead === 0 ? '' : ' --state dead';
  output.note(printable(`leasehold tasks list${dead}${queueFlag(queue)} shows its ${dead === '' ? '' : 'dead '}tasks`));
}

function isEmpty({ due, later, dead, workers }: QueueSummary): boolean {
  return sumOf(due) + sumOf(later) + dead + workers.live === 0;
}

/** Whether deployed workers serve it, it is paused, or a dispatcher has ever checked it. */
async function isOnRecord({ semaphores }: CliConnection, { queue, queues }: QueueConnection): Promise<boolean> {
  return (await queues.get(queue)) !== undefined || (await semaphores.get(workersSemaphore(queue))) !== undefined;
}

/** A worker that was started by hand leaves nothing but its session. */
async function ensureServed(connection: CliConnection, queue: string): Promise<void> {
  const { rows: served } = await take(servedQueues(connection), QUEUES_SUGGESTED);
  if (served.includes(queue)) return;
  const lacks = 'it has no task that waits or is dead, and no worker has served it';
  throw new CommandError(EXIT.notFound, `there is no queue ${queue}: ${lacks}${hintFor(queue, served)}`);
}

async function change(
  { output, connect }: Context,
  options: ChangeOptions,
  queue: string,
  verb: 'pause' | 'resume',
): Promise<void> {
  using connection = await connect();
  const there = connection.queue(queue, options.shards);
  const { tenant } = options;
  const isKnown = await hasTraces(connection, there);
  const record = await there.operations.execute(`queue.${verb}`, { queue, tenant }, operatorOf(options));
  const what = tenant === undefined ? '' : `tenant ${printable(tenant)} of `;
  const isPaused = tenant === undefined ? record.isPaused : isPausedTenant(record, tenant);
  output.answer(record, () => `${what}queue ${printable(queue)} is ${isPaused ? 'paused' : 'active'}`);
  if (tenant !== undefined && record.isPaused) output.note(`queue ${printable(queue)} itself is paused`);
  if (tenant !== undefined && isPaused && !(await hasTaskOf(there, tenant)))
    output.note(`no task of tenant ${printable(tenant)} waits or runs in queue ${printable(queue)}: check its name`);
  if (!isKnown)
    output.note(`queue ${printable(queue)} has no waiting or dead task, and had no deployed worker: check its name`);
}

async function hasTaskOf(there: QueueConnection, tenant: string): Promise<boolean> {
  const shards = await shardsInUse(there);
  for await (const page of openEntries(there.store, { queue: there.queue, shards, now: NEVER }))
    if (page.some((entry) => entry.tenant === tenant)) return true;
  return false;
}

/** A queue does not need its own row, so a mistyped name is only detected because nothing belongs to it. */
async function hasTraces({ semaphores }: CliConnection, there: QueueConnection): Promise<boolean> {
  if ((await semaphores.get(workersSemaphore(there.queue))) !== undefined) return true;
  const [unfinished, dead] = await Promise.all([take(unfinishedTasks(there), 1), take(there.operator.dead(), 1)]);
  return unfinished.rows.length + dead.rows.length > 0;
}

async function drainQueue(
  { output, connect, runtime }: Context,
  { shards, timeout = Infinity }: DrainOptions,
  queue: string,
): Promise<ExitCode> {
  using connection = await connect();
  const deadline = runtime.clock.monotonic() + timeout;
  let restsSince: number | undefined;
  for (;;) {
    const census = await summarizeQueue(connection, connection.queue(queue, shards));
    const due = sumOf(census.due);
    if (due === 0) {
      const { tasks } = await suspendedTasks(connection.queue(queue, shards), runtime.clock.now());
      const left = tasks.map((task) => ({ id: task.id, state: stateText(task, runtime.clock.now()) }));
      output.answer({ ...census, suspended: left }, () => `queue ${printable(queue)} is drained${leftText(left)}`);
      return EXIT.done;
    }
    const now = runtime.clock.monotonic();
    const isHeld = census.isPaused || census.held === due;
    restsSince = isHeld && census.running === 0 ? (restsSince ?? now) : undefined;
    if (restsSince !== undefined && now >= restsSince + REST_MS) {
      const who = census.isPaused ? `queue ${printable(queue)} is` : 'the tenants of all due tasks are';
      output.answer(census, () => `${who} paused: ${seenOf(census)} none runs`);
      return EXIT.done;
    }
    if (now >= deadline)
      throw new CommandError(
        EXIT.failed,
        `queue ${queue} was not drained within ${span(timeout)}: ${plural(due, 'task')} due or running`,
      );
    await runtime.clock.sleep(Math.min(POLL_MS, Math.max(1, deadline - runtime.clock.monotonic())));
  }
}

const NAMED = 10;

/** Durable tasks that are not due, and will be. */
function leftText(left: readonly { readonly id: string; readonly state: string }[]): string {
  if (left.length === 0) return '';
  const lines = left.slice(0, NAMED).map(({ id, state }) => `  ${printable(id)}: ${state}`);
  const more = left.length > NAMED ? `\n  and ${left.length - NAMED} more` : '';
  return `, but for ${plural(left.length, 'durable task')}:\n${lines.join('\n')}${more}`;
}

/** Number of due tasks that were read. */
function seenOf({ due, checked, more }: QueueSummary): string {
  const all = sumOf(due);
  return checked < all
    ? `of the oldest ${checked} of ${counted(all, more)} tasks due`
    : `of ${plural(all, 'task')} due`;
}

function censusText(census: QueueSummary, suspended: SuspendedTasks): string {
  const { more, workers, checked } = census;
  return factsOf([
    ['queue', printable(census.queue)],
    ['state', queueState(census)],
    ...PRIORITIES.map((priority) => [`due, ${priority}`, counted(census.due[priority], more)] as const),
    ['delayed', counted(sumOf(census.later), more)],
    ['suspended', suspendedText(suspended)],
    ...pausedFacts(census),
    ['running', `${census.running}${checked < sumOf(census.due) ? ` of the oldest ${checked}` : ''}`],
    ['dead', counted(census.dead, more)],
    ['workers', workersText(workers)],
    ['workers wanted', census.wanted === undefined ? 'unknown: no deployed worker has run yet' : String(census.wanted)],
    [
      'tasks took',
      census.tookMs === undefined ? 'unknown' : `${span(census.tookMs)} on average, each counted up to startWithin`,
    ],
    ['oldest ready', census.oldestReadyAgeMs === 0 ? 'none' : span(census.oldestReadyAgeMs)],
  ]);
}

function suspendedText({ tasks, checked, later }: SuspendedTasks): string | undefined {
  if (tasks.length === 0) return undefined;
  return `${tasks.length}${checked < later ? ` of the ${checked} delayed that are due last` : ''}`;
}

/** Only if a tenant is paused. */
function pausedFacts({ pausedTenants, held, more }: QueueSummary): readonly (readonly [string, string])[] {
  if (pausedTenants.length === 0) return [];
  const names = pausedTenants.map((tenant) => shortened(tenant, 40)).join(', ');
  return [['paused tenants', `${names}; ${counted(held, more)} due`]];
}

const HELP = `
Tasks that run still count as due: their index entry stays until they end.
Which of them run is read for the oldest 200, and for more while none of these waits.
Workers see a pause within 5 seconds, so drain ends when a paused queue has been seen for 6 without a task that runs, whatever waits in it.

Examples:
  $ leasehold queues stats media
  $ leasehold queues pause media --reason 'the thumbnail store is down'
  $ leasehold queues pause media --tenant acme --reason 'their supplier is down'
  $ leasehold queues drain media --timeout 10m && deploy`;
