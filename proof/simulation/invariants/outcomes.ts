/**
 * I0 outcome soundness: `applied` means applied exactly once, between call and return; `not applied` means never, neither before nor after.
 * A refused commit is `not applied` from the moment when its code hears so.
 * Unresolved outcomes are reported as unresolved, and no write is refused while its guard held all the time.
 *
 * I17 acknowledged is durable, is the same rule from the application's side, and is judged here for writes:
 * every write reported as applied is in the history of its row.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Applied, Called, Denied, Returned } from '../history.ts';
import { USER_TABLE } from '../rows.ts';
import type { Family } from './rule.ts';
import { isLock, isTask } from './rule.ts';

interface Operation {
  readonly called: Called;
  /** Changes that its row had seen when it was called. */
  readonly version: number;
  /** Requests that changed its row on its behalf. */
  applications: number;
  /** Whether its caller has learned that it had no effect, although its own outcome left that open. */
  isDenied: boolean;
  /** Whether the last of them was a second delivery; and whether its row is a task with a key. */
  isByCopy: boolean;
  isOfKey: boolean;
  returned: Returned['outcome'] | undefined;
}

/**
 * Verbs that a late attempt may apply once more, because the effect is harmless and is judged where it shows:
 * a copy of an admission, or of a queue entry, that arrives while its contender still waits belongs to that contender,
 * and cannot arrive later; a bucket gives too little rather than too much; an existing member stays as it is,
 * and is done once it was reported done, whenever that arrives.
 */
const REPEATABLE = new Set([
  ...['semaphore.admit', 'semaphore.queue', 'ratelimit.take', 'ratelimit.takeFromFull'],
  ...['waitgroup.add', 'waitgroup.lease', 'waitgroup.done'],
  // Putting a payload twice is doing it once, and so is removing it, which does not stamp the row.
  'payload.put',
  'payload.delete',
  // An arrival stamps only a task that waits. `journal.ts` judges it.
  'task.arrive',
  // Hints do not stamp the row.
  ...['queue.noteHints', 'queue.noteStarts', 'queue.announceNames'],
]);

export const outcomes: Family = (assumptions, report) => {
  const operations = new Map<number, Operation>();
  /** By row and counter. */
  const commits = new Map<string, Operation[]>();
  /**
   * Claims, by row and counter, under which a write stayed unresolved, or a copy of a cancelled one was late, and yet was applied:
   * the next may rightly be refused for what that one has changed.
   */
  const doubtful = new Set<string>();
  const rows = new Map<string, { readonly item: Applied['after']; readonly version: number }>();

  function onCalled(event: Called): void {
    const operation: Operation = {
      called: event,
      version: rows.get(event.row)?.version ?? 0,
      applications: 0,
      isDenied: false,
      isByCopy: false,
      isOfKey: false,
      returned: undefined,
    };
    operations.set(event.operation, operation);
    if (!BARRED.has(event.verb)) return;
    const tenure = tenureOf(operation);
    const open = (commits.get(tenure) ?? []).filter((one) => one.isDenied || one.applications === 0);
    commits.set(tenure, [...open, operation]);
  }

  function onApplied(event: Applied): void {
    rows.set(event.row, { item: event.after, version: (rows.get(event.row)?.version ?? 0) + 1 });
    if (event.operation === undefined) {
      // The user's own tables are written by the user's own client as well.
      if (!event.row.startsWith(`${USER_TABLE}/`) && !isUnstamped(event))
        report('I0', event.row, `written by request ${event.request}, which no call made: its nonce belongs to none`);
      return;
    }
    const operation = operations.get(event.operation);
    if (operation?.called.row !== event.row) return;
    operation.applications++;
    operation.isByCopy = event.copy;
    operation.isOfKey = event.after?.key !== undefined;
    noteDoubt(operation);
    if (REPEATABLE.has(operation.called.verb)) return;
    const { verb } = operation.called;
    if (operation.applications > 1) report('I0', event.row, `${verb} was applied ${operation.applications} times`);
    // A lock's acquire is ordered against later releases by clocks that are right to within the bound.
    const isOrdered = assumptions.clocksHold || verb !== 'lock.acquire';
    if (operation.returned !== undefined && isDenial(operation.returned) && isOrdered && !isLeftOpen(operation))
      report(
        'I0',
        event.row,
        `${verb} was applied after its caller had been told that it was not (${operation.returned})`,
      );
  }

  function onReturned(event: Returned): void {
    const operation = operations.get(event.operation);
    if (operation === undefined) return;
    operation.returned = event.outcome;
    noteDoubt(operation);
    const { verb, row } = operation.called;
    if (REPEATABLE.has(verb)) return;
    if (event.outcome === 'applied' && operation.applications !== 1)
      report('I0', row, `${verb} was reported applied and was applied ${operation.applications} times`);
    if (isDenial(event.outcome) && operation.applications > 0 && !isLeftOpen(operation))
      report('I0', row, `${verb} was reported not applied (${event.outcome}) and was applied`);
    if (event.outcome === 'refused' && heldAllAlong(operation) && !doubtful.has(tenureOf(operation)))
      report('I0', row, `${verb} was refused although its claim was the current one`);
  }

  /** The commits of a claim that were refused before its code heard so: from then on they are denials. */
  function onDenied({ row, token }: Denied): void {
    for (const operation of commits.get(`${row} ${token}`) ?? []) {
      if (operation.returned !== 'canceled') continue;
      operation.isDenied = true;
      if (operation.applications > 0)
        report('I0', row, `${operation.called.verb} was applied, and its caller was told that nothing was`);
    }
  }

  function noteDoubt(operation: Operation): void {
    const isOpen = operation.returned === 'unknown' || operation.returned === 'canceled';
    if (isOpen && operation.applications > 0) doubtful.add(tenureOf(operation));
  }

  /** Whether the row has been its caller's, unchanged, from call to return. */
  function heldAllAlong({ called, version }: Operation): boolean {
    const { claim } = called;
    const current = rows.get(called.row);
    if (claim === undefined || current?.item === undefined || current.version !== version) return false;
    // A contender that settles for an expired session also relies on the absence of a value, which it has read.
    if (called.seen !== undefined && called.seen !== ((current.item.journal ?? []) as readonly unknown[]).length)
      return false;
    if (['lock.settle', 'lock.disown'].includes(called.verb) && current.item.value !== undefined) return false;
    // A task with a request to cancel it does not wait.
    if (called.verb === 'task.suspend' && current.item.cancellation !== undefined) return false;
    const { state, leaseCounter, session } = current.item;
    const isHeld = isTask(called.row) ? state === 'running' : isLock(called.row);
    return isHeld && leaseCounter === claim.token && session === claim.session;
  }

  return {
    on(event) {
      if (event.kind === 'called') onCalled(event);
      else if (event.kind === 'applied') onApplied(event);
      else if (event.kind === 'returned') onReturned(event);
      else if (event.kind === 'denied') onDenied(event);
    },
  };
};

/** Commits, which are refused finally only when they are barred. */
const BARRED = new Set(['task.commit', 'task.wait', 'task.checkpoint']);

/**
 * A copy of a transaction that a condition on another row refused may find that true by then, also before the refusal is heard:
 * it is this very claim's commit, until that is barred; or its key has room, and it is this very claim, which its worker adopts.
 */
function isLeftOpen({ called: { verb }, isByCopy, isDenied, isOfKey, returned }: Operation): boolean {
  if (BARRED.has(verb)) return returned === 'canceled' && !isDenied;
  return isByCopy && verb === 'task.claim' && isOfKey;
}

/** Advisory attributes from workers to planners, and between wakers. */
const HINTS = new Set(['took', 'unknown', 'concurrency', 'startWithin', 'names', 'starts']);

/**
 * The nonce stays when a holder is notified, and a payload is removed: no other attribute may change then. Rows of a journal have none:
 * only their end of life may change.
 */
function isUnstamped({ row, before, after }: Applied): boolean {
  const isApart = row.startsWith('arrival#') || row.startsWith('journal#');
  if (before === undefined && isApart) return true;
  if (before === undefined || (after === undefined && row.startsWith('payload#'))) return before !== undefined;
  return Object.keys({ ...before, ...after }).every(
    (name) =>
      name === 'revoked' ||
      (isApart && name === 'ttl') ||
      ARRIVES.has(name) ||
      HINTS.has(name) ||
      isDeepStrictEqual(before[name], after?.[name]),
  );
}

/** External events for a durable task: `journal.ts` judges them. */
const ARRIVES = new Set(['journal', 'open', 'beats']);

function tenureOf({ called: { row, claim } }: Operation): string {
  return `${row} ${String(claim?.token)}`;
}

function isDenial(outcome: Returned['outcome']): boolean {
  return outcome === 'refused' || outcome === 'canceled' || outcome === 'unavailable';
}
