/**
 * Rows that belong to tasks, and change with them.
 * Batches: the count agrees with its children's rows; the callback or the parent is resumed
 * with the last child's end, once, and never before; a retried one keeps its children, and waits for the open ones.
 * Keys: the running tasks of a key never exceed its limit, and the key's row counts exactly these; starts in a window never exceed its
 * rate.
 */
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import { splitKey } from '../../../shared/dynamo/engine/keys.ts';
import type { Applied, HistoryEvent } from '../history.ts';
import type { Family } from './rule.ts';
import { isTask } from './rule.ts';

/** The keys that the workload gives to tasks. */
export const TASK_KEYS = [
  { key: 'single', limit: 1 },
  { key: 'triple', limit: 3, rate: { count: 2, per: 1_000 } },
] as const;
/** Also to ordered tasks. */
export const LINE = { key: 'line', ordered: true } as const;

const ENDED = new Set<unknown>(['done', 'dead', 'cancelled']);
const isBatch = (row: string): boolean => row.startsWith('batch#');
const isKey = (row: string): boolean => row.startsWith('key#');

interface Batch {
  readonly row: DynamoItem;
  /** Ends of children that were counted. */
  readonly ended: Set<string>;
}

function keyOf(item: DynamoItem | undefined): string | undefined {
  return (item?.key as { readonly key: string } | undefined)?.key;
}

export const families: Family = (_assumptions, report) => {
  const batches = new Map<string, Batch>();
  const verbs = new Map<number, string>();
  /** By key row: tasks in state running. */
  const running = new Map<string, Set<string>>();
  const keys = new Map<string, DynamoItem>();
  /** Rows of one request come one after the other: they are compared when all are there. */
  let request: number | undefined;
  const touched = new Set<string>();
  const freshlyEnded = new Set<string>();

  function onApplied(event: Applied): void {
    const { row, before, after } = event;
    if (isTask(row)) onTask(event);
    else if (isBatch(row) && after !== undefined) {
      batches.set(row, { row: after, ended: batches.get(row)?.ended ?? new Set() });
      touched.add(row);
      // Several ends may share a request: how many they are is compared when all of its rows are there.
      if (before !== undefined && Number(after.pending) >= Number(before.pending))
        report('BATCH', row, `went from ${String(before.pending)} to ${String(after.pending)} pending`);
    } else if (isKey(row)) {
      if (after === undefined) keys.delete(row);
      else keys.set(row, after);
      touched.add(row);
      onRate(row, before, after);
    }
  }

  function onTask({ row, before, after, operation }: Applied): void {
    const item = after ?? before ?? {};
    // The end of an attempt may give the task other work, of another key or of none.
    for (const key of new Set([keyOf(before), keyOf(after)])) {
      if (key === undefined) continue;
      const name = `key#${String(item.queue)}#${key}`;
      const ids = running.get(name) ?? new Set();
      running.set(name, ids);
      if (after?.state === 'running' && keyOf(after) === key) ids.add(row);
      else ids.delete(row);
      touched.add(name);
    }
    if (typeof item.batch === 'string') {
      const name = `batch#${String(item.queue)}#${item.batch}`;
      // A child that is brought back after its end counts no second time.
      if (ENDED.has(after?.state) && !ENDED.has(before?.state)) {
        batches.get(name)?.ended.add(row);
        freshlyEnded.add(name);
      }
      touched.add(name);
    }
    const verb = operation === undefined ? undefined : verbs.get(operation);
    if (before?.children !== undefined) onWaiter(row, { before, after, verb });
    const isWoken =
      before?.state === 'ready' &&
      after?.state === 'ready' &&
      Number(before.readyAt) === NEVER &&
      Number(after.readyAt) !== NEVER;
    if (isWoken && typeof after.children === 'string') onWoken(row, `batch#${String(item.queue)}#${after.children}`);
  }

  /** A task that waits, or has waited, for children. */
  function onWaiter(
    row: string,
    {
      before,
      after,
      verb,
    }: Pick<Applied, 'after'> & { readonly before: DynamoItem; readonly verb: string | undefined },
  ): void {
    const name = `batch#${String(before.queue)}#${String(before.children)}`;
    const pending = Number(batches.get(name)?.row.pending ?? 0);
    if (before.state === 'ready' && after?.state === 'running' && pending > 0)
      report('BATCH', row, `was begun while ${pending} of ${name} are pending`);
    if (verb !== 'task.revive' || after === undefined || !batches.has(name)) return;
    if (after.children !== before.children) report('BATCH', row, `was retried without its children, ${name}`);
    if (pending > 0 !== (Number(after.readyAt) === NEVER))
      report('BATCH', row, `was retried, due at ${String(after.readyAt)}, with ${pending} of ${name} pending`);
  }

  function onWoken(row: string, batch: string): void {
    wakes.push({ row, batch });
  }

  const wakes: { readonly row: string; readonly batch: string }[] = [];

  function onRate(row: string, before: DynamoItem | undefined, after: DynamoItem | undefined): void {
    const rule = TASK_KEYS.find(({ key }) => row.endsWith(`#${key}`));
    if (rule === undefined || !('rate' in rule) || after?.started === undefined) return;
    const isNewWindow = before?.window !== after.window;
    if (Number(after.started) > rule.rate.count)
      report('KEY', row, `${Number(after.started)} were begun in one window, ${rule.rate.count} are allowed`);
    if (isNewWindow && before?.window !== undefined && Number(after.window) < Number(before.window))
      report('KEY', row, `went back from window ${Number(before.window)} to ${Number(after.window)}`);
  }

  /** All rows of a request are there. */
  function settle(): void {
    for (const { row, batch } of wakes) {
      const pending = Number(batches.get(batch)?.row.pending ?? 0);
      if (pending > 0) report('BATCH', row, `was called while ${pending} of ${batch} are pending`);
    }
    for (const name of touched) (isKey(name) ? compareKey : compareBatch)(name);
    wakes.length = 0;
    touched.clear();
    freshlyEnded.clear();
  }

  function compareKey(name: string): void {
    const ids = running.get(name) ?? new Set();
    const counted = Number(keys.get(name)?.running ?? 0);
    if (ids.size !== counted) report('KEY', name, `counts ${counted}; ${[...ids].join(' ') || 'nobody'} run`);
    const limit = TASK_KEYS.find(({ key }) => name.endsWith(`#${key}`))?.limit ?? Infinity;
    if (ids.size > limit) report('KEY', name, `${ids.size} run, ${limit} are allowed`);
  }

  function compareBatch(name: string): void {
    const batch = batches.get(name);
    if (batch === undefined) return;
    const { total, pending, done, dead, cancelled } = batch.row;
    const counted = Number(done) + Number(dead) + Number(cancelled);
    if (Number(total) - Number(pending) !== counted || counted !== batch.ended.size)
      report(
        'BATCH',
        name,
        `counts ${counted} ends of ${String(total)}, ${String(pending)} pending; ${batch.ended.size} have ended`,
      );
    if (Number(pending) < 0) report('BATCH', name, `has ${String(pending)} pending`);
    if (pending === 0 && freshlyEnded.has(name)) mustHaveCalled(name, batch.row);
  }

  /** The last child has ended with this very request. */
  function mustHaveCalled(name: string, row: DynamoItem): void {
    const waiter = JSON.parse(String(row.waiter)) as { readonly kind: string };
    if (waiter.kind !== 'nobody' && !wakes.some(({ batch }) => batch === name)) missed.add(name);
  }

  /** Allowed if the waiting task was cancelled, or already exists: judged when the batch is deleted, or at the end. */
  const missed = new Set<string>();
  const seenRows = new Map<string, DynamoItem>();

  function judgeMissed(name: string): void {
    if (!missed.delete(name)) return;
    const { queue, waiter } = batches.get(name)?.row ?? {};
    const { task } = JSON.parse(typeof waiter === 'string' ? waiter : '{}') as {
      readonly task?: { readonly id: string };
    };
    const row = seenRows.get(`task#${String(queue)}#${String(task?.id)}`);
    // Does not call a task that was cancelled in the interim, was brought forward by an operator,
    // or got other work, which waits for its own children.
    const isWaiting = Number(row?.readyAt) === NEVER && row?.children === splitKey(name)[2];
    if (task !== undefined && (row === undefined || isWaiting))
      report('BATCH', name, `its last child ended, and ${task.id} was not called`);
  }

  function onSwept(row: string): void {
    if (isKey(row)) keys.delete(row);
    if (!isBatch(row)) return;
    judgeMissed(row);
    batches.delete(row);
  }

  function onEvent(event: HistoryEvent): void {
    if (event.kind === 'called') verbs.set(event.operation, event.verb);
    if (event.kind !== 'applied') {
      if (request !== undefined) settle();
      request = undefined;
    } else {
      if (request !== undefined && request !== event.request) settle();
      ({ request } = event);
      if (isTask(event.row) && event.after !== undefined) seenRows.set(event.row, event.after);
      onApplied(event);
    }
    if (event.kind === 'swept') onSwept(event.row);
  }

  return {
    on: onEvent,
    end() {
      settle();
      for (const name of missed) judgeMissed(name);
    },
  };
};

/** A parent that waits for its children is due then. */
const NEVER = 253_402_300_799_999;
