/**
 * Locks.
 * I5 a release affects only the caller's lease: a tenure ends by its own claim, by an operator, or once its session is dead.
 * I7 lock-delay (while clocks hold): a key that was force-released,
 * or whose session was, is not granted to another before the delay is over;
 *    after an expiry not before the delay after its TTL is over, nor within a heartbeat of its invalidation.
 * I8 cascade: no contender takes over a key whose session lives.
 * I9 re-acquisition by the same session keeps the counter, unless it had not known that it held the key.
 * I2, I2b for writes behind a fence: stamps only grow,
 * each state continues the one before, and acknowledged values have been written.
 */
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import type { Acknowledged, Applied, Called } from '../history.ts';
import { USER_TABLE } from '../rows.ts';
import type { Family } from './rule.ts';
import { isLock, isSession } from './rule.ts';
import { EPOCH_MS, EndStamps, lockDelayOver } from './sessions.ts';

/** Registers that lock users write are named after the key. */
export const REGISTER_PREFIX = 'register-';

export const locks: Family = (assumptions, report) => {
  const calls = new Map<number, Called>();
  const stamps = new EndStamps();
  /** Live sessions. */
  const live = new Set<string>();
  /** By session, also a dead one: its process. */
  const processes = new Map<string, string>();
  /** By dead session: when its keys may open. */
  const closedUntil = new Map<string, number>();
  /** By row that is free because its session died: when it may open. */
  const opensAt = new Map<string, number>();
  /** By register: every entry that was ever in it. */
  const written = new Map<string, Set<string>>();

  function onLock(event: Applied): void {
    const { row, before, after, process } = event;
    const was = before?.session as string | undefined;
    const is = after?.session as string | undefined;
    if (is !== undefined && is !== was) onGranted(event, was, is);
    else if (is !== undefined && before?.leaseCounter !== after?.leaseCounter && verbOf(event) !== 'lock.takeOver')
      report(
        'I9',
        row,
        `session ${is} acquired it again and its counter went from ${String(before?.leaseCounter)} to ${String(after?.leaseCounter)}`,
      );
    else if (was !== undefined && is === undefined) onReleased(event, was);
    if (after === undefined) report('I5', row, `deleted by a request of ${process}`);
  }

  function onGranted({ row, at, before }: Applied, was: string | undefined, is: string): void {
    if (was !== undefined && live.has(was))
      report('I8', row, `granted to session ${is} while session ${was}, which holds it, lives`);
    if (!assumptions.clocksHold) return;
    const openAt = (was === undefined ? opensAt.get(row) : closedUntil.get(was)) ?? 0;
    opensAt.delete(row);
    if (at < openAt - assumptions.toleranceMs)
      report('I7', row, `granted to session ${is} ${(openAt - at).toFixed(0)} ms before the lock-delay was over`);
    // A contender's clock is at most half the bound ahead of true time, and it waits for the whole bound.
    const notBefore = Number(before?.notBefore ?? 0);
    const earliest = notBefore - EPOCH_MS + assumptions.maxClockSkewMs / 2 - assumptions.toleranceMs;
    if (notBefore > 0 && at < earliest)
      report('I7', row, `granted to session ${is} ${(earliest - at).toFixed(0)} ms before the row says`);
  }

  function verbOf({ operation }: Applied): string | undefined {
    return operation === undefined ? undefined : calls.get(operation)?.verb;
  }

  function onReleased({ row, before, operation, process }: Applied, was: string): void {
    const call = operation === undefined ? undefined : calls.get(operation);
    if (call?.verb === 'lock.force' || call?.verb === 'lock.remove') return;
    // Its own holder may give a key up so, also if it does not know yet that its session has been destroyed: it has stopped.
    if (call?.verb === 'lock.settle' && processes.get(was) !== process) {
      if (live.has(was)) report('I5', row, `${process} tidied the tenure of session ${was} away, which lives`);
      opensAt.set(row, closedUntil.get(was) ?? 0);
      return;
    }
    const { claim } = call ?? {};
    if (claim === undefined)
      report(
        'I5',
        row,
        `${call?.verb ?? 'a write'} ended the tenure of session ${was}, which lives, without naming a claim`,
      );
    else if (claim.session !== was || claim.token !== before?.leaseCounter)
      report(
        'I5',
        row,
        `${call?.verb} under counter ${claim.token} of ${claim.session} ended the tenure ${String(before?.leaseCounter)} of ${was}`,
      );
  }

  function onSession(event: Applied, after: DynamoItem): void {
    const id = String(after.id);
    if (after.status === 'live') {
      live.add(id);
      processes.set(id, String(after.node));
      return;
    }
    live.delete(id);
    if (after.reason === 'ended') return;
    const anchoredAt = stamps.of(event);
    closedUntil.set(id, lockDelayOver(after, anchoredAt));
  }

  function onRegister({ row, before, after, process }: Applied): void {
    const known = written.get(row) ?? new Set<string>();
    for (const entry of (after?.entries ?? []) as readonly string[]) known.add(entry);
    written.set(row, known);
    if (before === undefined || after === undefined) return;
    const [counter, sequence, lastCounter, lastSequence] = [after, before].flatMap((item) => [
      Number(item.leaseholdCounter),
      Number(item.leaseholdSequence),
    ]) as [number, number, number, number];
    if (counter < lastCounter || (counter === lastCounter && sequence <= lastSequence))
      report('I2', row, `${process} wrote with stamp ${counter}/${sequence} after ${lastCounter}/${lastSequence}`);
    const [entries, earlier] = [after, before].map((item) => (item.entries as readonly string[] | undefined) ?? []) as [
      readonly string[],
      readonly string[],
    ];
    if (earlier.some((entry, index) => entries[index] !== entry))
      report('I2b', row, `${process} wrote a state that does not continue the one before: ${earlier.at(-1)} is lost`);
  }

  function onAdded({ row, value = '', process }: Acknowledged): void {
    if (written.get(row)?.has(value) !== true)
      report('I2b', row, `${process} was told that ${value} is written, and it never was`);
  }

  return {
    onSent: (event) => stamps.note(event),
    on(event) {
      if (event.kind === 'called') calls.set(event.operation, event);
      else if (event.kind === 'acknowledged' && event.what === 'added') onAdded(event);
      else if (event.kind === 'swept') {
        if (isSession(event.row)) live.delete(String(event.before.id));
        if (isLock(event.row) && event.before.session !== undefined)
          report('I25', event.row, 'swept while it was held');
      } else if (event.kind !== 'applied') return;
      else if (isLock(event.row)) onLock(event);
      else if (isSession(event.row) && event.after !== undefined) onSession(event, event.after);
      else if (event.row.startsWith(`${USER_TABLE}/${REGISTER_PREFIX}`)) onRegister(event);
    },
  };
};
