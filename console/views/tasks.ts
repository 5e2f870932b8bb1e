/**
 * A page of a queue's tasks: some from the head of every partition of the index, so that a page of a long queue shows the oldest ones
 * of all shards; the next page goes on from there in each of them.
 */
import { isPack } from '../../shared/tasks/task/pack.ts';
import { ConfigurationError } from '../../shared/core/errors.ts';
import type { TaskKey, TaskRecord } from '../../shared/tasks/task/task.ts';
import { PRIORITIES } from '../../shared/tasks/task/task.ts';
import type { Connection, Stores } from '../connection.ts';
import type { ListedState, TaskLine, TaskPage, TaskView } from '../model.ts';
import type { Priced } from '../shared-look.ts';
import type { SessionBook } from './session-book.ts';
import { sourcesOf } from './sources.ts';

export interface TaskQuery {
  readonly queue: string;
  readonly state: ListedState;
  /** Where the page before ended. */
  readonly after: string | undefined;
  /** Whether to look for tasks that name one. */
  readonly withTenants: boolean;
}

const PAGE_TASKS = 32;
/** A page with so many is full enough. */
const PAGE_FULL = 20;
/** When so many units are used, a page ends, full or not. */
const PAGE_UNITS = 36;
const ERROR_SHOWN = 120;

/**
 * Where each source goes on; null: it has been read to its end.
 * Where a page of the list of the dead begins, and how much of it was read.
 */
type Cursor = readonly unknown[];

export async function lookAtTasks(connection: Connection, query: TaskQuery): Promise<Priced<TaskPage>> {
  const stores = connection.open();
  const now = connection.now();
  const cursor = query.after === undefined ? undefined : decodeCursor(query.after);
  const walk = query.state === 'dead' ? walkDead(stores, query, cursor) : walkIndex(connection, stores, query, cursor);
  const tasks: TaskRecord[] = [];
  let looked = 0;
  let next: Cursor | undefined;
  for await (const step of walk) {
    looked += step.keys.length;
    const rows = await stores.tasks.getMany(step.keys);
    tasks.push(...rows.filter((task) => matches(task, query.state, now)));
    next = step.next;
    if (tasks.length >= PAGE_FULL || stores.spent() >= PAGE_UNITS) break;
  }
  const value = {
    now,
    looked,
    queue: query.queue,
    tasks: tasks.toSorted(inOrder).map(lineOf),
    next: next === undefined ? undefined : encodeCursor(next),
  };
  return { value, units: stores.spent() };
}

export async function lookAtTask(
  connection: Connection,
  book: SessionBook,
  key: TaskKey,
): Promise<Priced<TaskView> | undefined> {
  const stores = connection.open();
  const task = await stores.tasks.get(key);
  if (task === undefined) return undefined;
  if (task.state === 'running') await book.refresh(stores, [task.session], { limit: 1, freshMs: 1_000 });
  const holder = task.state === 'running' ? book.line(task.session, []) : undefined;
  const failure = task.lastError === undefined ? undefined : await stores.tasks.getFailure(key);
  return { value: { now: connection.now(), task, failure, holder, items: itemsOf(task) }, units: stores.spent() };
}

/** Sets have no form in JSON. */
function itemsOf(task: TaskRecord): TaskView['items'] {
  if (!isPack(task)) return undefined;
  const { done, moved, cancelled } = task.bulk;
  return { total: task.input.length, done: done.size, moved: moved.size, cancelled: cancelled.size };
}

interface Step {
  readonly keys: readonly TaskKey[];
  readonly next: Cursor | undefined;
}

/** A few entries of every source that is not at its end, again and again. */
async function* walkIndex(
  connection: Connection,
  stores: Stores,
  { queue, withTenants }: TaskQuery,
  cursor: Cursor | undefined,
): AsyncGenerator<Step> {
  const sources = sourcesOf(queue, connection.options.shards);
  let afters: unknown[] = sources.map(({ isOfTenants }, index) =>
    isOfTenants && !withTenants ? null : cursor?.[index],
  );
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

/** The list comes in pages of a hundred, which are read in parts. What is brought back meanwhile moves what follows it up. */
async function* walkDead(
  { operatorStore }: Stores,
  { queue }: TaskQuery,
  cursor: Cursor | undefined,
): AsyncGenerator<Step> {
  let after: unknown = cursor?.[0] ?? undefined;
  let offset = Number(cursor?.[1] ?? 0);
  for (;;) {
    const page = await operatorStore.pageOfDead(queue, after);
    const isEnd = offset + PAGE_TASKS >= page.keys.length;
    const keys = page.keys.slice(offset, offset + PAGE_TASKS);
    if (isEnd) after = page.next;
    offset = isEnd ? 0 : offset + PAGE_TASKS;
    const next = isEnd && after === undefined ? undefined : [after ?? null, offset];
    yield { keys, next };
    if (next === undefined) return;
  }
}

function matches(task: TaskRecord, state: ListedState, now: number): boolean {
  switch (state) {
    case 'unfinished':
      return task.state === 'ready' || task.state === 'running';
    case 'ready':
      return task.state === 'ready' && task.readyAt <= now;
    case 'later':
      return task.state === 'ready' && task.readyAt > now;
    case 'running':
    case 'dead':
      return task.state === state;
  }
}

/** As workers take them: by priority, then by time. The dead, the latest first. */
function inOrder(one: TaskRecord, other: TaskRecord): number {
  if ('finishedAt' in one && 'finishedAt' in other) return other.finishedAt - one.finishedAt;
  const rank = ({ priority }: TaskRecord): number => PRIORITIES.indexOf(priority);
  return rank(one) - rank(other) || readyAtOf(one) - readyAtOf(other);
}

function readyAtOf(task: TaskRecord): number {
  return 'readyAt' in task ? task.readyAt : 0;
}

function lineOf(task: TaskRecord): TaskLine {
  const { id, name, state, priority, attempts, leaseCounter, claimedAt, session, lastError, cancellation } = task;
  return {
    id,
    name,
    state,
    priority,
    attempts,
    leaseCounter,
    claimedAt,
    session,
    readyAt: 'readyAt' in task ? task.readyAt : undefined,
    lastError: lastError === undefined ? undefined : `${lastError.name}: ${lastError.message}`.slice(0, ERROR_SHOWN),
    isCancelling: state === 'running' && cancellation !== undefined,
    tenant: task.tenant,
    isHeld: task.state === 'ready' && task.isHeld,
    isParked: task.state === 'ready' && task.isParked,
  };
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
