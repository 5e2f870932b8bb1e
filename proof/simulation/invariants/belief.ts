/**
 * I1 belief exclusion (while clocks hold): no two incarnations believe in the same right at once, and a right that another still believes
 * in is not granted, whoever ended the right or its session. Excused are only ends whose callers asked for less (`hasty-ends.ts`).
 *   A holder whose right another took away may believe in it, and act, until a heartbeat of its session has told it.
 * I1b no unbelieved send: every attempt of a guarded request leaves while its sender believes.
 */
import type { Acted, Applied, Belief, Called, Returned, Sent } from '../history.ts';
import { HastyEnds } from './hasty-ends.ts';
import type { Family } from './rule.ts';
import { isLock, isSemaphore, isSession, isTask } from './rule.ts';

export const belief: Family = (assumptions, report) => {
  /** By row: who believes. */
  const believers = new Map<string, Belief[]>();
  /** By row: the counter and session that the store has. */
  const granted = new Map<string, { readonly token: number; readonly session: string | undefined }>();
  const calls = new Map<number, Called>();
  /** Rows of sessions that a contender ended. */
  const expired = new Set<string>();
  const hasty = new HastyEnds();
  /** Tenures that an operator ended, by row and counter, and sessions that others ended by force: when. */
  const takenAt = new Map<string, number>();
  /**
   * Claims, by row and counter, that their holder's own write has ended, even if it did not get the response: it does nothing more under
   * them.
   */
  const over = new Set<string>();
  /** By operation: when a renewal was applied; by session: when the last renewal with a received response was applied. */
  const renewedAt = new Map<number, number>();
  const heardUpTo = new Map<string, number>();

  function onBelieves(event: Belief): void {
    const others = believers.get(event.row) ?? [];
    if (assumptions.clocksHold)
      for (const other of others)
        if (!hasty.excuses(other) && !isOver(other))
          report(
            'I1',
            event.row,
            `${event.process} believes (counter ${event.token}) while ${other.process} does (counter ${other.token})`,
          );
    believers.set(event.row, [...others, event]);
    if (!assumptions.clocksHold) return;
    if (expired.has(event.row)) report('I1', event.row, `${event.process} believes in it, and it has been expired`);
    const current = granted.get(event.row);
    if (current !== undefined && current.token > event.token && !hasty.excuses(event))
      report('I1', event.row, `${event.process} believes in counter ${event.token}; the row is at ${current.token}`);
  }

  function onDoubts(event: Belief): void {
    const rest = (believers.get(event.row) ?? []).filter(
      ({ process, token, session }) => !isSame(event, process, token, session),
    );
    if (rest.length > 0) believers.set(event.row, rest);
    else believers.delete(event.row);
  }

  function isOver({ row, token }: { readonly row: string; readonly token: number }): boolean {
    return over.has(`${row} ${token}`);
  }

  function onApplied(event: Applied): void {
    const { row, after, before, operation, at } = event;
    const call = operation === undefined ? undefined : calls.get(operation);
    const { claim, verb } = call ?? {};
    hasty.note(event, call);
    if (
      isTask(row) &&
      before?.state === 'running' &&
      after?.state !== 'running' &&
      claim?.token === before.leaseCounter
    )
      over.add(`${row} ${String(before.leaseCounter)}`);
    const isTakenAway = verb === 'lock.force' || verb === 'lock.remove';
    if (isLock(row) && isTakenAway) takenAt.set(`${row} ${String(before?.leaseCounter)}`, at);
    if (isSemaphore(row) && verb === 'semaphore.evict') takenAt.set(`${row} ${claim?.token}`, at);
    if (isSession(row) && operation !== undefined && verb === 'session.renew') renewedAt.set(operation, at);
    // The counter that a forced release takes belongs to none of the tenures.
    if (isTask(row) || (isLock(row) && !isTakenAway)) {
      const token = Number(after?.leaseCounter ?? 0);
      const session = after?.session as string | undefined;
      granted.set(row, { token, session });
      if (!assumptions.clocksHold || session === undefined || (isTask(row) && after?.state !== 'running')) return;
      for (const other of believers.get(row) ?? [])
        if ((other.token !== token || other.session !== session) && !hasty.excuses(other) && !isOver(other))
          report(
            'I1',
            row,
            `granted to session ${session} (counter ${token}) while ${other.process} believes (counter ${other.token})`,
          );
    }
    if (!isSession(row) || before?.status !== 'live') return;
    if (after?.reason === 'destroyed') takenAt.set(String(after.id), at);
    if (after?.reason !== 'expired') return;
    expired.add(row);
    if (!assumptions.clocksHold) return;
    for (const other of believers.get(row) ?? [])
      report('I1', row, `expired while its holder ${other.process} believes`);
  }

  function onReturned({ operation, outcome }: Returned): void {
    const at = renewedAt.get(operation);
    const session = calls.get(operation)?.session;
    if (outcome === 'applied' && at !== undefined && session !== undefined) heardUpTo.set(session, at);
  }

  function onActed(event: Acted): void {
    const ousted = takenAt.get(`${event.row} ${event.token}`) ?? takenAt.get(event.session) ?? Infinity;
    if ((heardUpTo.get(event.session) ?? 0) > ousted)
      report(
        'I1',
        event.row,
        `${event.process} acts with counter ${event.token}; its heartbeat has told it that it was taken away by force`,
      );
    const current = granted.get(event.row);
    if (!assumptions.clocksHold || current === undefined) return;
    if (current.token > event.token && !hasty.excuses(event))
      report('I1', event.row, `${event.process} acts with counter ${event.token}; the row is at ${current.token}`);
  }

  function onSent(event: Sent): void {
    if (event.believed === false)
      report('I1b', '', `request ${event.request} of ${event.process} left although its sender did not believe`);
  }

  return {
    on(event) {
      if (event.kind === 'called') calls.set(event.operation, event);
      else if (event.kind === 'applied') onApplied(event);
      else if (event.kind === 'returned') onReturned(event);
      else if (event.kind === 'acted') onActed(event);
      // Several may believe in permits of one semaphore at once: `semaphores` judges them.
      else if ('row' in event && isSemaphore(event.row)) return;
      else if (event.kind === 'believes') onBelieves(event);
      else if (event.kind === 'doubts') onDoubts(event);
    },
    onSent,
  };
};

function isSame(event: Belief, process: string, token: number, session: string): boolean {
  return event.process === process && event.token === token && event.session === session;
}
