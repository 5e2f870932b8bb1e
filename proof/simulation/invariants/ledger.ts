/**
 * The ledger of requests: a repeated request is a retry behind a failure, and a heartbeat is due.
 *
 * RETRY: a request is sent again only after its previous attempt failed, was refused, or was given up when its time was over.
 * BEAT: a session is renewed once a heartbeat; after a renewal without an answer, four times as often. Sooner only where a step of the wall
 *   clock has shortened the trust: code that may block asks for a renewal then.
 */
import { longestHeartbeatMs } from '../../../shared/core/lease/timing.ts';
import type { Called, Returned } from '../history.ts';
import type { Family } from './rule.ts';
import { isSession } from './rule.ts';

/** A heartbeat comes an eighth too soon at most, after a renewal that others asked for, and a monotonic clock may run fast a little. */
const SOONEST_BEAT = 0.874;
/** A monotonic clock may run fast. */
const SOONEST_TIMEOUT = 0.999;
/** The retry of a failed renewal comes after this share of a heartbeat. */
const FAILED_BEAT = 1 / 4;

interface Renewal {
  readonly operation: number;
  readonly at: number;
  outcome?: Returned['outcome'];
}

export const ledger: Family = ({ attemptTimeoutMs, clocksHold, maxClockSkewMs }, report, measure) => {
  const longestStepMs = clocksHold ? maxClockSkewMs : Infinity;
  const soonestMs = SOONEST_TIMEOUT * attemptTimeoutMs;
  const verbs = new Map<number, Called>();
  const renewals = new Map<string, Renewal>();
  const heartbeats = new Map<string, number>();

  function onRenewal({ row, operation, at, process }: Called): void {
    const last = renewals.get(row);
    renewals.set(row, { operation, at });
    const heartbeatMs = heartbeats.get(row);
    // A renewal that was refused by an earlier one without an answer is followed by another at once.
    if (last?.outcome === undefined || last.outcome.startsWith('refused') || heartbeatMs === undefined) return;
    const beatMs = SOONEST_BEAT * heartbeatMs;
    const dueMs = last.outcome === 'applied' ? beatMs - longestStepMs : FAILED_BEAT * beatMs;
    measure('BEAT', dueMs, at - last.at);
    if (at - last.at < dueMs)
      report(
        'BEAT',
        row,
        `${process} renewed it ${at - last.at} ms after the last time, and it was due after ${dueMs}`,
      );
  }

  return {
    on(event) {
      if (event.kind === 'called') {
        verbs.set(event.operation, event);
        if (event.verb === 'session.renew') onRenewal(event);
      } else if (event.kind === 'returned') {
        const renewal = renewals.get(verbs.get(event.operation)?.row ?? '');
        if (renewal?.operation === event.operation) renewal.outcome = event.outcome;
        verbs.delete(event.operation);
      } else if (event.kind === 'applied' && isSession(event.row) && typeof event.after?.ttlMs === 'number')
        heartbeats.set(event.row, longestHeartbeatMs(event.after.ttlMs));
    },
    onSent({ process, at, operation, previous, previousAt = -Infinity }) {
      const call = operation === undefined ? undefined : verbs.get(operation);
      const isEarly = previous === 'givenUp' && at - previousAt < soonestMs;
      if (previous !== 'answered' && previous !== 'pending' && !isEarly) return;
      // A payload's delete names the nonce of the operation that put it, which is over.
      if (operation !== undefined && call === undefined) return;
      report(
        'RETRY',
        call?.row ?? '',
        `${process} sent ${call?.verb ?? 'a request'} again, and its previous attempt was ${previous}` +
          (isEarly ? ` after ${at - previousAt} ms` : ''),
      );
    },
  };
};
