/**
 * I3 token monotonicity: the lease counter of a name only grows, over its whole life:
 * across release, takeover, completion, deletion and re-creation.
 * I9 re-acquisition: an incarnation that lost a lease and has it again has a larger counter; no write under an old one is accepted.
 */
import type { Applied, Called } from '../history.ts';
import type { Family } from './rule.ts';

interface Grant {
  readonly token: number;
  readonly session: string;
}

export const tokens: Family = (_assumptions, report) => {
  /** By row: the largest counter that was ever given out. */
  const largest = new Map<string, number>();
  const current = new Map<string, Grant | undefined>();
  const calls = new Map<number, Called>();

  function onApplied({ row, before, after, operation, process }: Applied): void {
    if (typeof (after ?? before)?.leaseCounter !== 'number') return;
    const token = after?.leaseCounter as number | undefined;
    if (before !== undefined && after === undefined)
      report('I3', row, `deleted by a request of ${process}: its counter is gone`);
    if (token !== undefined && before !== undefined && token < Number(before.leaseCounter))
      report('I3', row, `the counter went back from ${String(before.leaseCounter)} to ${token}`);
    const holder = heldBy(after);
    const isGrant = holder !== undefined && (heldBy(before) !== holder || before?.leaseCounter !== token);
    if (isGrant && token !== undefined) {
      const known = largest.get(row) ?? -1;
      if (token <= known)
        report('I3', row, `counter ${token} was given to session ${holder}; ${known} had been given before`);
      largest.set(row, Math.max(known, token));
      current.set(row, { token, session: holder });
    }
    const claim = operation === undefined ? undefined : calls.get(operation)?.claim;
    const grant = current.get(row);
    if (claim?.row === row && grant !== undefined && (claim.token !== grant.token || claim.session !== grant.session))
      report(
        'I9',
        row,
        `a write under counter ${claim.token} of ${claim.session} was accepted; the last grant was ${grant.token} of ${grant.session}`,
      );
  }

  return {
    on(event) {
      if (event.kind === 'called') calls.set(event.operation, event);
      else if (event.kind === 'applied') onApplied(event);
    },
  };
};

/** The session that a row is leased to at the moment, if any. */
function heldBy(row: Applied['after']): string | undefined {
  if (row === undefined || (row.state !== undefined && row.state !== 'running')) return undefined;
  const session = row.session;
  return typeof session === 'string' ? session : undefined;
}
