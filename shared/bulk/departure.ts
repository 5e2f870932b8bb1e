/** How an item leaves its pack, and what its own row begins with. */
import type { PastAttempt, RunningTask, TaskError } from '../task/task.ts';
import type { PackOf } from '../task/pack.ts';
import { itemTask } from '../task/pack.ts';
import type { MovedItem } from './store.ts';
import type { Suspect } from './suspect.ts';

export interface Departure extends Pick<
  MovedItem,
  'index' | 'attempts' | 'deaths' | 'error' | 'lastAttempt' | 'isSuspect'
> {
  readonly settlement: 'retried' | 'snoozed' | 'dead';
  /** When it is due, unless it is dead. */
  readonly readyAt: number;
}

/** Dead, unless it is given a time at which it is to be tried again. */
export function failedItem(pack: PackOf<RunningTask>, index: number, error: TaskError, now: number): Departure {
  const lastAttempt = attemptOf(pack, 'failed', now);
  const { attempts } = pack;
  return { index, error, lastAttempt, settlement: 'dead', readyAt: now, attempts, deaths: 0, isSuspect: false };
}

/** This attempt is not counted. */
export function snoozedItem(pack: PackOf<RunningTask>, index: number, readyAt: number, now: number): Departure {
  const lastAttempt = attemptOf(pack, 'snoozed', now);
  const attempts = pack.attempts - 1;
  return {
    index,
    error: undefined,
    lastAttempt,
    settlement: 'snoozed',
    readyAt,
    attempts,
    deaths: 0,
    isSuspect: false,
  };
}

export function suspectedItem(
  { index, attempts, deaths, isDead, error, lastAttempt }: Suspect,
  now: number,
): Departure {
  const settlement = isDead ? 'dead' : 'retried';
  return { index, attempts, deaths, error, lastAttempt, settlement, readyAt: now, isSuspect: true };
}

export function departed(pack: PackOf<RunningTask>, departure: Departure): MovedItem {
  const { index, settlement, readyAt, attempts, deaths, error, lastAttempt, isSuspect } = departure;
  const { queue, id, name, input, priority, traceparent } = itemTask(pack, index);
  const task = { queue, id, name, input, priority, traceparent, runAt: readyAt };
  return { index, task, attempts, deaths, error, lastAttempt, isSuspect, isDead: settlement === 'dead' };
}

function attemptOf(
  { leaseCounter, session, claimedAt }: RunningTask,
  how: PastAttempt['how'],
  endedAt: number,
): PastAttempt {
  return { leaseCounter, session, claimedAt, endedAt, how, error: undefined };
}
