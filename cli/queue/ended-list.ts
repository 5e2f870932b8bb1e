/** Prints the ended tasks of a queue that lists them, newest first, and their numbers by name, without reading their rows. */
import type { EndedNumbers, NameNumbers } from '../../shared/tasks/queue/ended-numbers.ts';
import { NUMBERS_SINCE, numbersOf } from '../../shared/tasks/queue/ended-numbers.ts';
import { doesNotList } from '../../shared/tasks/queue/ended-tasks.ts';
import type { Clock } from '../../shared/core/runtime/clock.ts';
import type { When } from '../../shared/core/validate/moment.ts';
import type { EndedEntry, EndedQuery } from '../../shared/tasks/task/ended-list.ts';
import { hasFailed } from '../../shared/tasks/task/ended-list.ts';
import { list, tableText } from '../listing.ts';
import type { QueueConnection } from '../connection.ts';
import type { Output } from '../output.ts';
import { moment, momentAndAge, printable, shortened, span } from '../output.ts';

export interface EndedListOptions {
  readonly queue: string;
  readonly limit: number;
  readonly states: EndedQuery['states'];
  readonly name?: string | undefined;
  readonly since?: When | undefined;
  readonly until?: When | undefined;
  /** Only dead tasks, and tasks that ended after a failed attempt. */
  readonly failed?: boolean | undefined;
}

/** @returns false, and prints nothing, if the queue does not list finished tasks */
export async function listEnded(
  there: Pick<QueueConnection, 'operator' | 'queues' | 'shards'>,
  { queue, limit, states, name, since, until, failed = false }: EndedListOptions,
  output: Output,
  now: number,
): Promise<boolean> {
  const record = await there.queues.glance(queue);
  if (record?.listedSince === undefined) return false;
  const found = there.operator.ended({ queue, shards: there.shards, states, since, until });
  const others = new Set<string>();
  await list(
    wanted(found, { name, failed }, others),
    { limit },
    {
      id: ({ id }) => shortened(id, 48),
      task: (entry) => (entry.kind === 'damaged' ? 'damaged entry' : shortened(entry.name ?? '', 24)),
      state: (entry) => (entry.kind === 'damaged' ? '' : entry.state),
      label: (entry) => shortened((entry.kind === 'damaged' ? entry.text : entry.label) ?? '', 32),
      attempts: (entry) => (entry.kind === 'damaged' ? '' : String(entry.attempts ?? '')),
      ended: (entry) => (entry.kind === 'damaged' ? '' : momentAndAge(entry.at, now)),
      waited: (entry) => spanOf(entry, 'waitedMs'),
      ran: (entry) => spanOf(entry, 'ranMs'),
    },
    output,
    () => `no ended tasks (${states.join(', ')})${ofName(name, others)} in queue ${printable(queue)}`,
  );
  output.note(`complete since ${moment(record.listedSince)}; leasehold tasks show ID shows one task in full`);
  return true;
}

/** How often the list is read, and how late an entry may appear in it, or its clock be behind ours. */
const FOLLOW_MS = { every: 2_000, late: 10_000 };

/** Prints a line for each task that ends from now on, until interrupted. @throws ConfigurationError if the queue does not list */
export async function followList(
  { shards, operator }: Pick<QueueConnection, 'operator' | 'shards'>,
  options: { readonly name?: string; readonly failed?: boolean },
  { output, clock }: { readonly output: Output; readonly clock: Clock },
  interrupted: AbortSignal,
): Promise<void> {
  const since = clock.now();
  /** When each printed task ended: it may end again after a retry. */
  const told = new Map<string, number>();
  while (!interrupted.aborted) {
    const from = Math.max(since, clock.now() - FOLLOW_MS.late);
    const found = wanted(operator.ended({ shards, since: new Date(from) }), {
      name: options.name,
      failed: options.failed === true,
    });
    const fresh: EndedEntry[] = [];
    for await (const entry of found) if (told.get(entry.id) !== momentOf(entry)) fresh.push(entry);
    for (const [id, at] of told) if (at < from) told.delete(id);
    for (const entry of fresh.toReversed()) {
      told.set(entry.id, momentOf(entry));
      output.answer(entry, () => lineOf(entry, output));
    }
    await clock.sleep(FOLLOW_MS.every, interrupted);
  }
}

function momentOf(entry: EndedEntry): number {
  return entry.kind === 'damaged' ? Infinity : entry.at;
}

function lineOf(entry: EndedEntry, output: Output): string {
  if (entry.kind === 'damaged') return `damaged entry  ${printable(entry.id)}  ${shortened(entry.text, 100)}`;
  const { at, state, name, id, attempts, ranMs, label } = entry;
  const took = ranMs === undefined ? '' : `, ${span(ranMs)}`;
  return [
    moment(at),
    output.style(state === 'dead' ? 'red' : 'green', state.padEnd(9)),
    `${printable(name ?? '')} ${printable(id)}`,
    `attempt ${attempts ?? '?'}${took}`,
    ...(label === undefined ? [] : [shortened(label, 64)]),
  ].join('  ');
}

/** The sentence for a queue without the list. */
export function noteNoList(queue: string, output: Output): void {
  output.note(printable(doesNotList(queue)));
}

function spanOf(entry: EndedEntry, which: 'waitedMs' | 'ranMs'): string {
  const ms = entry.kind === 'damaged' ? undefined : entry[which];
  return ms === undefined ? '' : span(ms);
}

/** Says which names there are, if there is none of that one. */
function ofName(name: string | undefined, others: ReadonlySet<string>): string {
  if (name === undefined) return '';
  const some = [...others].map((one) => shortened(one, 32));
  return ` of ${shortened(name, 32)}${some.length === 0 ? '' : `, but of ${some.join(', ')},`}`;
}

const NAMES_SHOWN = 10;

/**
 * A damaged entry is shown whatever is asked for: it may be the one that the user searches.
 * @param others receives names that are left out
 */
async function* wanted(
  entries: AsyncIterable<EndedEntry>,
  { name, failed }: { readonly name: string | undefined; readonly failed: boolean },
  others = new Set<string>(),
): AsyncGenerator<EndedEntry> {
  for await (const entry of entries) {
    if (entry.kind === 'ended' && entry.name !== undefined && entry.name !== name && others.size < NAMES_SHOWN)
      others.add(entry.name);
    const isWanted =
      entry.kind === 'damaged' || ((name === undefined || entry.name === name) && (!failed || hasFailed(entry)));
    if (isWanted) yield entry;
  }
}

/** @returns the numbers of the last hour; undefined if the queue does not list finished tasks */
export async function numbersByName({
  operator,
  queues,
  queue,
  shards,
}: QueueConnection): Promise<EndedNumbers | undefined> {
  if ((await queues.glance(queue))?.listedSince === undefined) return undefined;
  return numbersOf(operator.ended({ shards, since: NUMBERS_SINCE }));
}

export function numbersText(numbers: EndedNumbers | undefined): string {
  if (numbers === undefined)
    return 'for numbers by task name, set listFinished: true in its workers, or use leasehold work --list-finished';
  const { names, read, isCut } = numbers;
  if (names.length === 0) return 'no task ended in the last hour';
  const middle = (values: NameNumbers['ranMs'], which: 'p50' | 'p95') => (values ? span(values[which]) : '');
  const table = tableText(names, {
    name: ({ name }) => shortened(name, 32),
    ended: ({ ended }) => String(ended),
    failed: ({ failed }) => String(failed),
    retried: ({ retried }) => String(retried),
    'waited p50': ({ waitedMs }) => middle(waitedMs, 'p50'),
    'waited p95': ({ waitedMs }) => middle(waitedMs, 'p95'),
    'ran p50': ({ ranMs }) => middle(ranMs, 'p50'),
    'ran p95': ({ ranMs }) => middle(ranMs, 'p95'),
  });
  const of = isCut ? `of the last ${read}` : `all ${read} of the last hour`;
  return `${table}\n${of}; leasehold tasks list --failed --since 1h shows which failed or were retried`;
}
