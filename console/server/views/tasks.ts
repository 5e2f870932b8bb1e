/**
 * A page of a queue's tasks: some from the head of every partition of the index, so that a page of a long queue shows the oldest ones
 * of all shards. The next page continues in each shard.
 */
import { ownStack } from '../../../cli/attempts/frames.ts';
import { awaitedBy, durableHistory } from '../../../cli/queue/durable-history.ts';
import { isSuspended } from '../../../cli/queue/task-words.ts';
import { ConfigurationError } from '../../../shared/core/errors.ts';
import type { TaskKey, TaskRecord } from '../../../shared/tasks/task/task.ts';
import { PRIORITIES } from '../../../shared/tasks/task/task.ts';
import type { ConsoleConnection, Stores } from '../connection.ts';
import type { DurableView, ListedState, ScanPage, TaskPage, TaskView } from '../../model.ts';
import type { Priced } from '../shared-reads.ts';
import type { KnownNames } from './known-names.ts';
import type { SessionBook } from './session-book.ts';
import { sourcesOf } from './sources.ts';
import { readChildren, priceOfScan } from './scan.ts';
import { isWaiting, lineOf } from './task-line.ts';

interface TaskQuery {
  readonly queue: string;
  readonly state: ListedState;
  /** Cursor after the previous page. */
  readonly after: string | undefined;
  /** Whether to poll for tasks with a tenant. */
  readonly withGroups: boolean;
  /** Only tasks whose name, or whose id, begins like this. */
  readonly name: string;
  readonly id: string;
}

const PAGE_TASKS = 32;
/** A page with so many is full enough. */
const PAGE_FULL = 20;
/** When so many units are used, a page ends, full or not. */
const PAGE_UNITS = 36;
/** Limit of the search for a task's children: a quarter of a gigabyte, for about a cent. */
const CHILDREN_UNITS = 32_768;

/** The place in each source; null at its end. */
type Cursor = readonly unknown[];

export async function readTasks(
  connection: ConsoleConnection,
  names: KnownNames,
  query: TaskQuery,
): Promise<Priced<TaskPage>> {
  const stores = connection.open();
  const now = connection.now();
  const walk = walkIndex(connection, stores, query, query.after === undefined ? [] : decodeCursor(query.after));
  const tasks: TaskRecord[] = [];
  let checked = 0;
  let next: Cursor | undefined;
  for await (const step of walk) {
    checked += step.keys.length;
    // The entry shows whether the id matches, so a row that does not is never read.
    const rows = await stores.tasks.getMany(step.keys.filter(({ id }) => id.startsWith(query.id)));
    names.note(rows);
    tasks.push(...rows.filter((task) => task.name.startsWith(query.name) && matches(task, query.state, now)));
    next = step.next;
    if (tasks.length >= PAGE_FULL || stores.spent() >= PAGE_UNITS) break;
  }
  const value = {
    now,
    checked,
    queue: query.queue,
    tasks: tasks.toSorted(inOrder).map((task) => lineOf(task, now)),
    next: next === undefined ? undefined : encodeCursor(next),
  };
  return { value, units: stores.spent() };
}

export async function readTask(
  connection: ConsoleConnection,
  { book, names }: { readonly book: SessionBook; readonly names: KnownNames },
  key: TaskKey,
  withChildren: boolean,
): Promise<Priced<TaskView> | undefined> {
  const stores = connection.open();
  const task = await stores.tasks.get(key);
  if (task === undefined) return undefined;
  if (task.state === 'running') await book.refresh(stores, [task.session], { limit: 1, freshMs: 1_000 });
  const holder = task.state === 'running' ? book.line(task.session, []) : undefined;
  names.note([task]);
  const ran = [task.session, ...task.past.map(({ session }) => session)].filter((id) => id !== undefined);
  await book.refresh(stores, ran, { limit: ran.length });
  const failure = task.lastError === undefined ? undefined : await stores.tasks.getFailure(key);
  const family = await familyOf(stores, task);
  const found = withChildren ? await childrenOf(connection, names, task) : undefined;
  const now = connection.now();
  const { journal, ...known } = task;
  const value: TaskView = {
    now,
    task: known,
    execution: journal === undefined ? undefined : await executionOf(stores, task),
    ...(isSuspended(task, now) && { isSuspended: true }),
    failure: failure && { ...failure, stack: ownStack(failure.stack) },
    workers: Object.fromEntries(ran.map((id) => [id, book.worker(id)])),
    holder,
    ...family,
    waitsForChildren: isWaiting(task),
    offspring: found?.value,
    scanUnits: family.children === undefined || withChildren ? null : (await priceOfScan(connection)).value.units,
  };
  return { value, units: stores.spent() + (found?.units ?? 0) };
}

async function executionOf({ tasks }: Stores, task: TaskRecord): Promise<DurableView> {
  const history = await durableHistory(tasks, task);
  return { history, awaited: awaitedBy(task, history) };
}

async function childrenOf(
  connection: ConsoleConnection,
  names: KnownNames,
  { children }: TaskRecord,
): Promise<Priced<ScanPage> | undefined> {
  if (children === undefined) return undefined;
  const { queue, id: batch } = children;
  return readChildren(connection, names, { queue, batch, maxReadUnits: CHILDREN_UNITS });
}

/** The batch of a task names its parent; the batch that it waits for counts the ends of its children. */
async function familyOf(
  { tasks }: Stores,
  { queue, children, links }: TaskRecord,
): Promise<Pick<TaskView, 'parent' | 'children'>> {
  const ownBatch = links?.batch === undefined ? undefined : { queue, id: links.batch };
  const [ofSiblings, ofChildren] = await Promise.all(
    [ownBatch, children].map(async (key) => (key === undefined ? undefined : tasks.getBatch(key))),
  );
  const waiter = ofSiblings?.waiter;
  return { parent: waiter?.kind === 'task' ? waiter.task : undefined, children: ofChildren };
}

interface Step {
  readonly keys: readonly TaskKey[];
  readonly next: Cursor | undefined;
}

/** A few entries of every source that is not at its end, again and again. */
async function* walkIndex(
  connection: ConsoleConnection,
  stores: Stores,
  { queue, withGroups }: TaskQuery,
  cursor: Cursor,
): AsyncGenerator<Step> {
  const sources = sourcesOf(queue, connection.options.shards);
  let afters: Cursor = sources.map(({ isOfGroups }, index) => (isOfGroups && !withGroups ? null : cursor[index]));
  for (;;) {
    const limit = Math.max(1, Math.ceil(PAGE_TASKS / afters.filter((after) => after !== null).length));
    const pages = await Promise.all(
      sources.map(async (source, index) => {
        const after = afters[index];
        return after === null ? { hints: [], next: undefined } : source.read(stores.tasks, after, limit);
      }),
    );
    afters = pages.map(({ next }) => next ?? null);
    const isEnd = afters.every((after) => after === null);
    yield { keys: pages.flatMap(({ hints }) => hints), next: isEnd ? undefined : afters };
    if (isEnd) return;
  }
}

function matches(task: TaskRecord, state: ListedState, now: number): boolean {
  switch (state) {
    case 'unfinished':
      return task.state === 'ready' || task.state === 'running';
    case 'ready':
      return task.state === 'ready' && task.readyAt <= now;
    case 'delayed':
      return task.state === 'ready' && task.readyAt > now;
    case 'running':
      return task.state === state;
  }
}

/** As workers take them: by priority, then by time. */
function inOrder(one: TaskRecord, other: TaskRecord): number {
  const rank = ({ priority }: TaskRecord): number => PRIORITIES.indexOf(priority);
  return rank(one) - rank(other) || readyAtOf(one) - readyAtOf(other);
}

function readyAtOf(task: TaskRecord): number {
  return 'readyAt' in task ? task.readyAt : 0;
}

/** Text in an address. Changed by hand, it leads to another page of what its reader may read anyway, or to an error. */
function encodeCursor(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url');
}

function decodeCursor(text: string): Cursor {
  try {
    const cursor: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (Array.isArray(cursor)) return cursor;
  } catch {
    // Said below.
  }
  throw new ConfigurationError('this page of tasks cannot be found again: begin with the first one');
}
