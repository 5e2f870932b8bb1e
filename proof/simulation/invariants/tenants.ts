/**
 * TENANT fairness between tenants (while clocks hold and reads are fresh): as long as an untaken task of one tenant is due,
 * one worker takes at most `TAKEN_LIMIT` tasks of another tenant in the same partition before it takes one of the first:
 * one tenant's backlog cannot starve another. A task left behind others of its tenant is found by L10 and L3.
 * PAUSE while a tenant is paused, no worker asks for the claim of one of its tasks, from the time when each has read the queue's row again.
 */
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import { pausedMs, takenOfTenant } from '../bounds.ts';
import { QUEUE_NAME } from '../rows.ts';
import type { Applied, Called } from '../history.ts';
import type { Family } from './rule.ts';
import { isTask } from './rule.ts';
import { EPOCH_MS } from './sessions.ts';

/** The ones that the workload has; the first is the one with much to do. */
export const TENANTS = ['hog', 'ada', 'bob'] as const;

/** How many tasks one tenant may get while another waits. */
export const TAKEN_LIMIT = takenOfTenant(TENANTS.length);

/** Tasks of this name are left to the workers that know it: see `workloads/task-code.ts`. */
export const UNKNOWN_NAME = 'unheard-of';

const CLAIMS: readonly string[] = ['task.claim', 'task.takeOver'];

interface Waiting {
  readonly tenant: string;
  readonly dueAt: number;
  /** By session, then by tenant: how many were taken since the session last took a task of this one's tenant. */
  readonly passedBy: Map<string, Map<string, number>>;
}

export const tenants: Family = (assumptions, report, measure) => {
  /** By partition of the index, and row. */
  const waiting = new Map<string, Map<string, Waiting>>();
  /** By tenant, since when it is paused; and by task, its tenant. */
  let pausedAt: ReadonlyMap<string, number> = new Map();
  const tenantOf = new Map<string, string>();
  const pauseBoundMs = pausedMs(assumptions);
  if (!assumptions.clocksHold || !assumptions.readsAreFresh) return { on: () => undefined };

  function onTask({ row, at, before, after }: Applied): void {
    const item = after ?? before;
    if (typeof item?.tenant !== 'string') return;
    tenantOf.set(row, item.tenant);
    if (before !== undefined) waiting.get(partitionOf(before))?.delete(row);
    if (after === undefined) return;
    // A task that shares its key, or has been tried already, may wait for other reasons.
    const isUntried = after.state === 'ready' && after.attempts === 0 && before?.state !== 'running';
    const isKnown = after.name !== UNKNOWN_NAME;
    if (isUntried && isKnown && after.key === undefined && after.line === undefined) {
      const rows = waiting.get(partitionOf(after)) ?? new Map<string, Waiting>();
      const dueAt = Math.max(at, Number(after.readyAt) - EPOCH_MS + assumptions.maxClockSkewMs);
      waiting.set(partitionOf(after), rows.set(row, { tenant: item.tenant, dueAt, passedBy: new Map() }));
    }
    if (after.state === 'running' && before?.state === 'ready') onTaken(after, at);
  }

  function onTaken(taken: DynamoItem, at: number): void {
    const [session, by] = [String(taken.session), String(taken.tenant)];
    for (const [row, { tenant, dueAt, passedBy }] of waiting.get(partitionOf(taken)) ?? []) {
      if (tenant === taken.tenant) {
        passedBy.delete(session);
        continue;
      }
      if (dueAt > at || pausedAt.has(tenant)) continue;
      const passed = passedBy.get(session) ?? new Map<string, number>();
      const count = (passed.get(by) ?? 0) + 1;
      passedBy.set(session, passed.set(by, count));
      measure('TENANT', count, TAKEN_LIMIT);
      if (count > TAKEN_LIMIT)
        report(
          'TENANT',
          row,
          `waits, of tenant ${tenant}, while ${count} of ${String(taken.tenant)} were taken by one worker`,
        );
    }
  }

  /** Workers learn of the end of a pause as late as of its beginning. */
  function onQueue({ at, after }: Applied): void {
    const paused = (after?.pausedTenants ?? new Set()) as ReadonlySet<string>;
    const ended = [...pausedAt.keys()].filter((tenant) => !paused.has(tenant));
    pausedAt = new Map([...paused].map((tenant) => [tenant, pausedAt.get(tenant) ?? at]));
    for (const rows of waiting.values())
      for (const [row, one] of rows)
        if (ended.includes(one.tenant)) rows.set(row, { ...one, dueAt: at + pauseBoundMs, passedBy: new Map() });
  }

  function onClaim({ at, row, process }: Called): void {
    const tenant = tenantOf.get(row);
    const since = tenant === undefined ? undefined : pausedAt.get(tenant);
    if (since === undefined) return;
    measure('PAUSE', at - since, pauseBoundMs);
    if (at - since > pauseBoundMs)
      report('PAUSE', row, `${process} claims it ${at - since} ms after its tenant ${String(tenant)} was paused`);
  }

  return {
    on(event) {
      if (event.kind === 'applied' && isTask(event.row)) onTask(event);
      else if (event.kind === 'applied' && event.row === `queue#${QUEUE_NAME}`) onQueue(event);
      else if (event.kind === 'called' && CLAIMS.includes(event.verb)) onClaim(event);
    },
  };
};

function partitionOf(row: DynamoItem): string {
  return String(row.directoryKey);
}
