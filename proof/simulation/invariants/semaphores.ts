/**
 * Semaphores.
 * I11 capacity: count and holders agree, no contender is admitted beyond the limit,
 * each permit has its own token, and releasing or pruning
 *   affects only the named permits, or the permits of expired sessions. While clocks hold,
 *   no holder believes in a permit that is gone, whoever took it away. Excused are only ends whose callers asked for less
 *   (`hasty-ends.ts`).
 *   The workers of a queue never have more permits in all than the highest limit under which one of them began.
 * I12 limit change: another limit takes no permit away, and admits no contender before there is capacity.
 * I7 lock-delay (while clocks hold), for the capacity of expired and evicted holders.
 * L5 order: while the queue is not empty, only its head is admitted.
 */
import { PERMITS_PER_PART } from '../../../shared/core/permit-parts.ts';
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import type { Applied, Belief, Called } from '../history.ts';
import { HastyEnds } from './hasty-ends.ts';
import type { Family } from './rule.ts';
import { isSemaphore, isSession } from './rule.ts';
import { EPOCH_MS, EndStamps, lockDelayOver } from './sessions.ts';

interface Holder {
  readonly claim: string;
  readonly session: string;
  readonly permits: number;
  readonly token: number;
  /** Known of a holder that was evicted. */
  readonly closedUntil: number | undefined;
}

interface SessionEnd {
  readonly openAt: number;
}

export const semaphores: Family = (assumptions, report) => {
  const calls = new Map<number, Called>();
  const stamps = new EndStamps();
  /** Live sessions, and the process of each. */
  const live = new Map<string, string>();
  const ended = new Map<string, SessionEnd>();
  const believers = new Map<string, Set<Belief>>();
  const rows = new Map<string, DynamoItem>();
  /** By row and token: the limit under which a worker's permit was given. */
  const under = new Map<string, number>();
  const hasty = new HastyEnds();

  function onApplied(event: Applied): void {
    const { row, after, operation } = event;
    hasty.note(event, operation === undefined ? undefined : calls.get(operation));
    if (isSemaphore(row)) onSemaphore(event);
    else if (isSession(row) && after !== undefined) onSession(event, after);
  }

  function onSemaphore(event: Applied): void {
    const { row, before, after } = event;
    if (after === undefined) {
      report('I11', row, `deleted by a request of ${event.process}`);
      return;
    }
    rows.set(row, after);
    const were = holdersOf(before);
    const are = holdersOf(after);
    const held = are.reduce((sum, { permits }) => sum + permits, 0);
    if (Number(after.free) !== shareOf(row, Number(after.limit)) - held)
      report('I11', row, `says ${String(after.free)} of ${String(after.limit)} are free, and ${held} are held`);
    const removed = were.filter(({ claim }) => !are.some((holder) => holder.claim === claim));
    const added = are.filter(({ claim }) => !were.some((holder) => holder.claim === claim));
    for (const holder of added) onAdmitted(event, holder, Number(before?.leaseCounter ?? 0));
    if (added.length > 1) report('I11', row, `${added.length} were admitted by one write`);
    for (const holder of removed) onRemoved(event, holder);
    if (before !== undefined && before.limit !== after.limit && removed.length > 0)
      report('I12', row, `its limit was changed to ${String(after.limit)}, and ${removed.length} holders went with it`);
  }

  function onAdmitted({ row, before, after }: Applied, holder: Holder, lastToken: number): void {
    if (Number(after?.free) < 0)
      report('I11', row, `${holder.claim} was admitted beyond the limit of ${String(after?.limit)}`);
    onWorker(row, holder, Number(after?.limit));
    if (holder.token <= lastToken || holder.token !== after?.leaseCounter)
      report('I11', row, `${holder.claim} was admitted with token ${holder.token} after ${lastToken}`);
    const queue = ticketsOf(before);
    const still = new Set(ticketsOf(after));
    const place = queue.indexOf(holder.claim);
    const ahead = (place < 0 ? queue : queue.slice(0, place)).filter((claim) => still.has(claim));
    if (ahead.length > 0)
      report('L5', row, `${holder.claim} was admitted before ${ahead.join(', ')}, which queue ahead`);
  }

  /** In the middle of a change, parts of a fleet have different limits. */
  function onWorker(row: string, { token }: Holder, limit: number): void {
    if (!row.startsWith('permits#')) return;
    under.set(`${row} ${token}`, limit);
    const [fleet] = row.split('/');
    const parts = [...rows].filter(([part]) => part.split('/')[0] === fleet);
    const held = parts.flatMap(([part, item]) =>
      holdersOf(item).map((holder) => under.get(`${part} ${holder.token}`) ?? 0),
    );
    if (held.length > Math.max(...held))
      report(
        'I11',
        row,
        `${held.length} workers have permits, of which none began under a limit above ${Math.max(...held)}`,
      );
  }

  function onRemoved(event: Applied, holder: Holder): void {
    const { row, operation, process, at } = event;
    const call = operation === undefined ? undefined : calls.get(operation);
    const { claim, session, token, closedUntil } = holder;
    if (assumptions.clocksHold && !hasty.excuses({ row, token, session }))
      for (const belief of believers.get(row) ?? [])
        if (belief.token === token)
          report('I11', row, `permit ${claim} was taken away while ${belief.process} believes`);
    if (call?.verb === 'semaphore.release') {
      if (call.claim?.token !== token) report('I11', row, `a release of token ${call.claim?.token} took ${claim} away`);
      return;
    }
    if (call?.verb !== 'semaphore.replace') {
      report('I11', row, `${call?.verb ?? 'a write'} took ${claim} away`);
      return;
    }
    const owner = live.get(session);
    if (closedUntil !== undefined) {
      const openAt = closedUntil - EPOCH_MS + assumptions.maxClockSkewMs / 2;
      if (owner !== process && assumptions.clocksHold && owner !== undefined && closedUntil > 0)
        tooEarly(row, claim, at, openAt);
    } else if (owner !== undefined && owner !== process)
      report('I25', row, `${claim} was pruned by ${process} while its session lives`);
    else if (owner === undefined && assumptions.clocksHold) tooEarly(row, claim, at, ended.get(session)?.openAt ?? 0);
  }

  function tooEarly(row: string, claim: string, at: number, openAt: number): void {
    if (at < openAt - assumptions.toleranceMs)
      report('I7', row, `${claim} was pruned ${(openAt - at).toFixed(0)} ms before the lock-delay was over`);
  }

  function onSession(event: Applied, after: DynamoItem): void {
    const id = String(after.id);
    if (after.status === 'live') {
      live.set(id, String(after.node));
      return;
    }
    live.delete(id);
    if (after.reason === 'ended') return;
    const anchoredAt = stamps.of(event);
    ended.set(id, { openAt: lockDelayOver(after, anchoredAt) });
  }

  function onBelieves(event: Belief): void {
    const { row, token } = event;
    believers.set(row, (believers.get(row) ?? new Set()).add(event));
    const isThere = holdersOf(rows.get(row)).some((holder) => holder.token === token);
    if (assumptions.clocksHold && !isThere && !hasty.excuses(event))
      report('I11', row, `${event.process} believes in permit ${token}, which is not held`);
  }

  function onDoubts({ row, token, process }: Belief): void {
    for (const belief of believers.get(row) ?? [])
      if (belief.token === token && belief.process === process) believers.get(row)?.delete(belief);
  }

  return {
    onSent: (event) => stamps.note(event),
    on(event) {
      if (event.kind === 'called') calls.set(event.operation, event);
      else if (event.kind === 'swept' && isSession(event.row)) live.delete(String(event.before.id));
      else if (event.kind === 'swept' && isSemaphore(event.row)) rows.delete(event.row);
      else if (event.kind === 'believes' && isSemaphore(event.row)) onBelieves(event);
      else if (event.kind === 'doubts' && isSemaphore(event.row)) onDoubts(event);
      else if (event.kind === 'applied') onApplied(event);
    },
  };
};

/** Read from the row's picture, not with the code's own decoder. */
export function holdersOf(row: DynamoItem | undefined): readonly Holder[] {
  const holders = (row?.holders ?? {}) as Readonly<Record<string, number | readonly [number, number]>>;
  return Object.entries(holders).map(([claim, value]) => {
    const [, permits = '1'] = /\*(\d+)$/.exec(claim) ?? [];
    const [token, closedUntil] = typeof value === 'number' ? [value, undefined] : value;
    return { claim, session: claim.slice(0, claim.lastIndexOf('/')), permits: Number(permits), token, closedUntil };
  });
}

export function ticketsOf(row: DynamoItem | undefined): readonly string[] {
  const waiting = (row?.waiting ?? []) as readonly string[];
  return waiting.map((ticket) => ticket.slice(0, ticket.lastIndexOf('@')));
}

/** What a row may give: all, or a part of a fleet its share. */
function shareOf(row: string, limit: number): number {
  if (!row.startsWith('permits#')) return limit;
  const [, part = '0'] = /\/permits#(\d+)$/.exec(row) ?? [];
  return Math.min(PERMITS_PER_PART, Math.max(0, limit - Number(part) * PERMITS_PER_PART));
}
