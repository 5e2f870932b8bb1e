/**
 * Rules about the choice of the next task. Their violations lose no task, but cost money or time.
 *
 * CREEP bounds the index queries of one process in ten seconds: a fixed number for its schedule, plus one for each write that it calls.
 * CROWD bounds the claims that workers lose to each other in ten seconds, over the whole fleet.
 * LATE: a worker tries tasks of crashed workers first. If such a task could be taken over for three heartbeats,
 * a worker may have begun only a few later tasks of the same partition and tenant.
 * The same holds for the oldest task of a partition that waits, once it has been the oldest for three heartbeats.
 */
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import { lostClaims, passedBy, PASSED_BY_PAGES } from '../bounds.ts';
import type { Applied, HistoryEvent } from '../history.ts';
import { queriesIn } from './requests.ts';
import { UNKNOWN_NAME } from './tenants.ts';
import { Recent } from './recent.ts';
import type { Family } from './rule.ts';
import { isSession, isTask } from './rule.ts';
import { EPOCH_MS } from './sessions.ts';
import { WaitingTasks } from './waiting-tasks.ts';

/** If the index lags, a claim of an old entry is refused, and another poll follows. */
const POLLS_PER_WRITE_BEHIND = 2;

export const picking: Family = (assumptions, report, measure) => {
  const { clocksHold, readsAreFresh } = assumptions;
  const { ttlMs, lockDelayMs, maxClockSkewMs, maxAttempts, maxDeaths } = assumptions;
  const pollsLimit = queriesIn(assumptions);
  const polls = new Map<string, Recent>();
  const writes = new Map<string, Recent>();
  const lost = new Recent();
  const granted = new Recent();
  const running = new Map<string, DynamoItem>();
  /** By session: when other workers may start to take over its tasks. */
  const openAt = new Map<string, number>();
  /** By task: the number of later tasks that each process has begun. */
  const passed = new Map<string, Map<string, number>>();
  /** By partition of tasks without a tenant. */
  const waiting = new Map<string, WaitingTasks>();
  /** By task: the processes whose claim of it has not been answered, or was lost. */
  const tried = new Map<string, Set<string>>();

  function onTask({ row, before, after, at, process }: Applied): void {
    running.delete(row);
    tried.delete(row);
    if (before?.leaseCounter !== after?.leaseCounter) passed.delete(row);
    if (before?.state === 'ready') waitingIn(before).delete(row);
    if (after?.state === 'ready' && after.tenant === undefined && !isHeldBack(after)) waitingIn(after).add(row, after);
    if (after?.state !== 'running') return;
    if (!isHeldBack(after)) running.set(row, after);
    if (before?.state !== 'ready') return;
    granted.add(at, 1);
    // An index that lags shows tasks where they were, and clocks that are far apart disagree about who is dead.
    if (!clocksHold || !readsAreFresh) return;
    const oldest = before.tenant === undefined ? waitingIn(before).oldestAt(at) : undefined;
    if (
      oldest !== undefined &&
      oldest.readyAt < Number(before.readyAt) &&
      at > oldest.since + ttlMs &&
      tried.get(oldest.row)?.has(process) !== true
    )
      countPassed(oldest.row, process, oldest.passedBy, PASSED_BY_PAGES);
    for (const [name, older] of running)
      if (isBehind(after, older) && at > (openAt.get(String(older.session)) ?? Infinity) + ttlMs)
        countPassed(name, process, passedByOf(name), passedBy(assumptions));
  }

  /**
   * Whether anything else holds it back: a full key, a line, a name that the worker does not define, and the tasks at work,
   * if its next attempt is the last one and must run alone.
   */
  function isHeldBack({ key, line, name, attempts, deaths = 0 }: DynamoItem): boolean {
    const isLastNext =
      Number(attempts) + 1 >= maxAttempts(String(name)) || Number(deaths) + 2 >= maxDeaths(String(name));
    return key !== undefined || line !== undefined || name === UNKNOWN_NAME || isLastNext;
  }

  function waitingIn({ readyKey }: DynamoItem): WaitingTasks {
    const partition = String(readyKey);
    const tasks = waiting.get(partition) ?? new WaitingTasks();
    waiting.set(partition, tasks);
    return tasks;
  }

  function passedByOf(row: string): Map<string, number> {
    const by = passed.get(row) ?? new Map<string, number>();
    passed.set(row, by);
    return by;
  }

  function countPassed(row: string, process: string, by: Map<string, number>, limit: number): void {
    const count = (by.get(process) ?? 0) + 1;
    by.set(process, count);
    measure('LATE', count, limit);
    if (count > limit) report('LATE', row, `waits, and ${process} began ${count} later tasks of its partition`);
  }

  return {
    on(event) {
      if (event.kind === 'called') {
        recentOf(writes, event.process).add(event.at, 1);
        if (event.verb === 'task.claim') tried.set(event.row, (tried.get(event.row) ?? new Set()).add(event.process));
      }
      if (event.kind === 'applied' && isTask(event.row)) onTask(event);
      else if (event.kind === 'applied' && isSession(event.row) && event.after !== undefined)
        openAt.set(String(event.after.id), openAtOf(event.after, maxClockSkewMs) + lockDelayMs);
      else if (isLostClaim(event) && readsAreFresh) {
        const sum = lost.add(event.at, 1);
        const won = granted.sumAt(event.at);
        const limit = lostClaims(assumptions, won);
        measure('CROWD', sum, limit);
        if (sum > limit) report('CROWD', '', `workers lost ${sum} claims to others within 10 s, and won ${won}`);
      }
    },
    onRead({ process, at, isPoll }) {
      if (isPoll !== true || process.startsWith('waker')) return;
      const sum = recentOf(polls, process).add(at, 1);
      const called = recentOf(writes, process).sumAt(at);
      const limit = pollsLimit + (readsAreFresh ? called : POLLS_PER_WRITE_BEHIND * called);
      measure('CREEP', sum, limit);
      if (sum > limit)
        report('CREEP', '', `${process} queried the index ${sum} times for ${called} writes within 10 s`);
    },
  };
};

function recentOf(all: Map<string, Recent>, process: string): Recent {
  const recent = all.get(process) ?? new Recent();
  all.set(process, recent);
  return recent;
}

/** Both clocks may be wrong. The holder of a session that was ended by force may trust it until it would have expired. */
function openAtOf({ status, reason, expiresAt, invalidatedAt }: DynamoItem, maxClockSkewMs: number): number {
  const isForced = reason === 'destroyed' || reason === 'check';
  const endedAt = isForced ? Math.max(Number(invalidatedAt), Number(expiresAt)) : Number(invalidatedAt);
  return (status === 'live' ? Number(expiresAt) : endedAt) - EPOCH_MS + 2 * maxClockSkewMs;
}

/** Whether it comes after another task in the same order. */
function isBehind(later: DynamoItem, older: DynamoItem): boolean {
  // Tasks of tenants stand in the other index, each lane and shard in its own partition.
  const isSameOrder = later.readyKey === older.readyKey && later.directoryKey === older.directoryKey;
  return (
    isSameOrder &&
    later.tenant === older.tenant &&
    Number(older.readyAt) < Number(later.readyAt) &&
    later.session !== older.session
  );
}

/** Whether another worker has claimed the task since it was read. If its own earlier request was applied, the claim is not lost. */
function isLostClaim(event: HistoryEvent): boolean {
  if (event.kind !== 'refused' || !isTask(event.row) || event.found === undefined) return false;
  const { ':ready': ready, ':observedCounter': counter, ':session': session } = event.values;
  const isClaim = ready !== undefined && counter !== undefined && session !== undefined;
  return isClaim && event.found.leaseCounter !== counter && event.found.session !== session;
}
