/**
 * I4 no zombie renewal: a renewal changes a live session only, in the order in which renewals were sent, by the incarnation that made it.
 * I6 TTL lower bound (while clocks hold): no contender ends a session before
 * its holder read the clock for the last accepted renewal, plus the TTL.
 * I8 one end: `live` → `invalid`, once, and nothing changes the row afterwards.
 * I22 identity: a session id is made once.
 * I23 expiry sanity (while clocks hold): no expiry lies further ahead than the TTL and the clock bound.
 */
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import type { Applied, Called, Sent } from '../history.ts';
import type { Family } from './rule.ts';
import { isSession } from './rule.ts';

interface Life {
  readonly process: string;
  /** When the clock was read for the last accepted create or renew: its expiry counts from there. */
  anchoredAt: number;
}

export const sessions: Family = (assumptions, report) => {
  const calls = new Map<number, Called>();
  const lives = new Map<string, Life>();

  function onCreated(event: Applied, after: DynamoItem): void {
    const { row, process } = event;
    if (lives.has(row)) report('I22', row, `created a second time, by ${process}`);
    lives.set(row, { process, anchoredAt: anchoredAt(event) });
    checkExpiry(event, after);
  }

  function onRenewed(event: Applied, before: DynamoItem, after: DynamoItem): void {
    const { row, process } = event;
    const life = lives.get(row);
    if (life === undefined) return;
    if (before.status !== 'live') report('I4', row, `renewed by ${process} although it had ended`);
    // An operator leaves a note for its holder, which is not a renewal.
    if (after.renewals === before.renewals && after.expiresAt === before.expiresAt) return;
    if (process !== life.process) report('I4', row, `renewed by ${process}; it belongs to ${life.process}`);
    if (Number(after.renewals) !== Number(before.renewals) + 1)
      report('I4', row, `renewals went from ${String(before.renewals)} to ${String(after.renewals)}`);
    const at = anchoredAt(event);
    if (at < life.anchoredAt)
      report('I4', row, `a renewal of ${at.toFixed(0)} was accepted after one of ${life.anchoredAt.toFixed(0)}`);
    life.anchoredAt = Math.max(at, life.anchoredAt);
    checkExpiry(event, after);
  }

  function onEnded(event: Applied, before: DynamoItem, after: DynamoItem): void {
    const { row, process, at } = event;
    const life = lives.get(row);
    if (before.status !== 'live') report('I8', row, `ended twice, by ${process} the second time`);
    if (after.reason === 'ended' && life?.process !== process)
      report('I5', row, `ended as its holder by ${process}; it belongs to ${life?.process}`);
    if (after.reason !== 'expired' || life === undefined || !assumptions.clocksHold) return;
    const endsAt = life.anchoredAt + assumptions.ttlMs - assumptions.toleranceMs;
    if (at < endsAt) report('I6', row, `expired by ${process} ${(endsAt - at).toFixed(0)} ms before its TTL was over`);
  }

  function checkExpiry({ row, at }: Applied, after: DynamoItem): void {
    const latest = EPOCH_MS + at + assumptions.ttlMs + assumptions.maxClockSkewMs + assumptions.toleranceMs;
    if (assumptions.clocksHold && Number(after.expiresAt) > latest)
      report(
        'I23',
        row,
        `its expiry lies ${(Number(after.expiresAt) - latest).toFixed(0)} ms further ahead than any clock explains`,
      );
  }

  function anchoredAt(event: Applied): number {
    return (event.operation === undefined ? undefined : calls.get(event.operation)?.anchoredAt) ?? event.at;
  }

  return {
    on(event) {
      if (event.kind === 'called') calls.set(event.operation, event);
      if (event.kind !== 'applied' || !isSession(event.row)) return;
      const { before, after } = event;
      if (after === undefined) report('I8', event.row, 'deleted by a request');
      else if (before === undefined) onCreated(event, after);
      else if (after.status === 'live') onRenewed(event, before, after);
      else onEnded(event, before, after);
    },
  };
};

/** Wall time of a right clock at true time zero. */
export const EPOCH_MS = 1_800_000_000_000;

/** The clock readings of attempts that end sessions: a lock-delay counts from the reading of the applied attempt. */
export class EndStamps {
  readonly #anchors = new Map<number, number>();

  note({ request, anchoredAt }: Sent): void {
    if (anchoredAt !== undefined) this.#anchors.set(request, anchoredAt);
  }

  of({ request, at }: Applied): number {
    return this.#anchors.get(request) ?? at;
  }
}

/** True time at which what an invalidated session held opens to others at the earliest. @param endedAt of its invalidation */
export function lockDelayOver(session: DynamoItem, endedAt: number): number {
  const { reason, lockDelayMs, expiresAt, ttlMs, notBefore } = session;
  if (notBefore !== undefined) return Number(notBefore) - EPOCH_MS;
  const delayMs = Number(lockDelayMs);
  const trustedUntil = Number(expiresAt) - EPOCH_MS;
  if (reason !== 'expired') return Math.max(endedAt + delayMs, trustedUntil);
  const believedUntil = Math.min(trustedUntil, endedAt);
  return Math.max(believedUntil + delayMs, endedAt + Math.min(delayMs, Math.floor(Number(ttlMs) / 3)));
}
