/** Ways of damaging a right history, and the events that are worth it. */
import type { DynamoItem } from '../../shared/dynamo/engine/driver.ts';
import type { Prng } from '../../test/support/machines/prng.ts';
import type { Acknowledged, Applied, Called, HistoryEvent, Returned, Swept, Read, Sent } from './history.ts';
import { isLock, isSemaphore, isSession, isTask } from './invariants/rule.ts';

type History = readonly HistoryEvent[];
/** Undefined: there is nothing in this history that could be damaged so. */
export type Corruption = (history: History, prng: Prng) => History | undefined;

export const applied =
  (isIt: (event: Applied) => boolean) =>
  (event: HistoryEvent): event is Applied =>
    event.kind === 'applied' && isIt(event);
export const acknowledged =
  (what: Acknowledged['what']) =>
  (event: HistoryEvent): event is Acknowledged =>
    event.kind === 'acknowledged' && event.what === what;

/** One event of a kind, replaced by what `change` makes of it. */
export function changed<T extends HistoryEvent>(
  isIt: (event: HistoryEvent) => event is T,
  change: (event: T) => readonly HistoryEvent[],
): Corruption {
  return (history, prng) => {
    const found = history.flatMap((event, index) => (isIt(event) ? [{ event, index }] : []));
    if (found.length === 0) return undefined;
    const { event, index } = prng.pick(found);
    return history.toSpliced(index, 1, ...change(event));
  };
}

/** Every event of a kind is missing. */
export function without(isIt: (event: HistoryEvent) => boolean): Corruption {
  return (history) => (history.some(isIt) ? history.filter((event) => !isIt(event)) : undefined);
}

export const withAfter = (event: Applied, after: DynamoItem): Applied => ({
  ...event,
  after: { ...event.after, ...after },
});
/** A write of no process, right after another, of the same row. */
export const followedBy = (event: Applied, after: DynamoItem | undefined): Applied => ({
  ...event,
  request: -1,
  operation: undefined,
  before: event.after,
  after: after === undefined ? undefined : { ...event.after, ...after },
});

export const isSent = (event: HistoryEvent): event is Sent => event.kind === 'sent';
/** An operator's lists are as long as the queue, so LOAD does not judge them. */
export const isRead = (event: HistoryEvent): event is Read =>
  event.kind === 'read' && !event.process.startsWith('operator');
export const isClaimed = applied(
  ({ row, before, after }) => isTask(row) && before?.state === 'ready' && after?.state === 'running',
);
/** Nothing but its place in the index decides when such a task is claimed. */
export const isPlainClaim = applied((event) => {
  const { key, line, tenant, name } = event.after ?? {};
  return isClaimed(event) && name === 'quick' && [key, line, tenant].every((held) => held === undefined);
});
export const isDone = applied(
  ({ row, before, after }) => isTask(row) && before?.state === 'running' && after?.state === 'done',
);
export const isToldCreated = (event: HistoryEvent): event is Acknowledged =>
  event.kind === 'acknowledged' && event.what === 'told' && event.value?.includes('created') === true;
export const isRetried = applied(
  ({ row, before, after }) => isTask(row) && before?.state === 'running' && after?.state === 'ready',
);
export const isRenewed = applied(
  ({ row, before, after }) =>
    isSession(row) && after?.status === 'live' && Number(after.renewals) > Number(before?.renewals),
);
export const isOpened = applied(({ row, before }) => isSession(row) && before === undefined);
export const isLocked = applied(
  ({ row, before, after }) => isLock(row) && after?.session !== undefined && before?.session === undefined,
);
const holdersOf = (row: DynamoItem | undefined): readonly string[] => Object.keys(row?.holders ?? {});
export const isAdmitted = applied(
  ({ row, before, after }) => isSemaphore(row) && holdersOf(after).length > holdersOf(before).length,
);
export const isRow = (prefix: string) =>
  applied(({ row, before, after }) => row.startsWith(prefix) && after !== undefined && before !== undefined);
/** A worker has written hints for plans to the row of its queue. */
export const isHinted = applied(
  ({ row, before, values }) => row.startsWith('queue#') && before !== undefined && values?.[':unknown'] !== undefined,
);
export const withoutCallbacks = without((event) => 'row' in event && event.row.endsWith('/then'));

export const swept = ({ row, at, after }: Applied): Swept => ({
  kind: 'swept',
  at,
  process: 'ttl',
  row,
  before: after ?? {},
});
export const ended = ({ at, process }: Applied, id: string, lockDelayMs: number): Applied => ({
  kind: 'applied',
  at,
  process,
  request: -2,
  operation: undefined,
  copy: false,
  row: `session#${id}`,
  before: { id, status: 'live', expiresAt: 0, behaviour: 'release' },
  after: {
    id,
    status: 'invalid',
    reason: 'destroyed',
    invalidatedAt: 0,
    expiresAt: 0,
    lockDelayMs,
    behaviour: 'release',
  },
});
/** A call of a holder's, which was not made. */
export const called = (
  { at, process, row }: Applied,
  operation: number,
  verb: string,
  claim?: Called['claim'],
): Called => ({
  kind: 'called',
  at,
  process,
  operation,
  verb,
  row,
  nonce: verb,
  anchoredAt: at,
  claim,
});
export const told = (
  { at, process }: Pick<Applied, 'at' | 'process'>,
  operation: number,
  outcome: Returned['outcome'],
): Returned => ({ kind: 'returned', at, process, operation, outcome });
export const claimIn = ({ row, after }: Applied): NonNullable<Called['claim']> => ({
  row,
  token: Number(after?.leaseCounter),
  session: String(after?.session),
});
export const copies = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** Claims of tasks that came after the claimed one. */
export const laterClaims = (event: Applied, count: number, at: (index: number) => number): Applied[] =>
  copies(count, (index) => {
    const later = { ...event.before, readyAt: Number(event.before?.readyAt) + 1 };
    return {
      ...event,
      at: at(index),
      process: 'another',
      request: -1 - index,
      operation: undefined,
      row: `${event.row}-later`,
      before: later,
      after: { ...event.after, ...later, state: 'running', session: 'one' },
    };
  });
