/**
 * The task row, continued: the follower, other work that was requested with `replace` or `debounce` while the task runs, or waits for its
 * children.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | follower | M: name, input, priority, runAt, at, nonce; expiresAt, key, payload, and options that it keeps | the newest of these requests; `at`: of the first | follow; removed by promote |
 *
 * It is in the task's own row, so there is at most one. Every write that ends an attempt has `HAS_NO_FOLLOWER` in its guard.
 * If a follower refuses the write, `promoteFollower` is sent instead, which ends the attempt and makes the follower ready.
 * A takeover does not change the follower, because the attempt continues in another worker.
 */
import { defined } from '../../../core/defined.ts';
import { createdByOf } from '../../task/created-by.ts';
import type { Stamp } from '../../../core/lease/write.ts';
import type { Statement, Values } from '../../../dynamo/engine/statement.ts';
import { storedJson } from '../../../dynamo/engine/stored-json.ts';
import type { NewTask, SequencedStamp } from '../../task/task-store.ts';
import type { Claim, Follower, PastAttempt, ReadyTask, RunningTask, TaskError } from '../../task/task.ts';
import { COUNT_WORK, asked, dropped, workOf } from './asked.ts';
import { andForget, optionAttributes } from './attributes.ts';
import { pastAttempt, remember } from './history.ts';
import { andLeave, groupOf } from './place.ts';
import { HAS_NO_FOLLOWER, IS_MINE, updateTask } from './task-statements.ts';

/**
 * Guard: it runs under the observed counter, with the observed follower, or still without one.
 *   Within one counter only the end of the attempt removes a follower, so a late copy finds a newer follower or another state.
 * Effect: this work follows the running attempt. The nonce stays, so that the holder still recognizes its own writes by it; the follower
 * has its own.
 *   A waiting task has no holder: its guard and its effect are the nonce, as of each other write to it.
 * Outcomes: refused = the attempt has ended, or another request was faster. If our own nonce is in the follower, the write was applied.
 */
export function followTask(
  table: string,
  observed: RunningTask | ReadyTask,
  task: NewTask,
  stamp: Stamp,
): Statement<'update'> {
  const { follower } = observed;
  const { options, ...work } = workOf(task);
  const stored = { ...work, ...defined(options), at: follower?.at ?? stamp.now, nonce: stamp.nonce };
  if (observed.state === 'ready')
    return updateTask('task.follow', table, observed, stamp, {
      guard: '#state = :ready AND #nonce = :observedNonce',
      effect: 'SET #follower = :follower, #nonce = :nonce',
      values: { ':follower': stored },
    });
  return updateTask('task.follow', table, observed, stamp, {
    guard:
      '#state = :running AND #leaseCounter = :observedCounter AND ' +
      (follower === undefined ? HAS_NO_FOLLOWER : '#follower.#nonce = :observedNonce'),
    effect: 'SET #follower = :follower',
    values: { ':observedNonce': follower?.nonce, ':follower': stored },
  });
}

/** The end of an attempt whose task continues with its follower. */
export interface Ended {
  readonly how: PastAttempt['how'];
  readonly error?: TaskError | undefined;
}

/**
 * Guard: mine, or as observed by a contender that found the session expired; the follower is the observed one; for a commit, not barred.
 * Effect: ready with the follower's work, as a new generation with all its attempts. Of the former work only the attempt remains,
 *   in the task's past. The task keeps its position in a line, and its batch, which counts the end of the follower.
 * Outcomes: refused = taken over, or another request has stored a newer follower: read it again.
 */
export function promoteFollower(
  table: string,
  claim: Claim,
  { follower, journal, how, error }: Ended & Pick<RunningTask, 'journal'> & { readonly follower: Follower },
  shards: number,
  stamp: Stamp & Partial<SequencedStamp>,
): Statement<'update'> {
  const next = continueWith({ ...claim, journal }, follower, shards, stamp);
  const isNotBarred = stamp.sequence === undefined ? '' : ' AND #sequence < :sequence';
  return updateTask('task.promote', table, claim, stamp, {
    guard: `${IS_MINE} AND #follower.#nonce = :followerNonce${isNotBarred}`,
    effect: `${next.set}, ${remember(claim)} ${next.remove}`,
    values: { ...next.values, ':followerNonce': follower.nonce, ':past': pastAttempt(claim, how, stamp.now, error) },
  });
}

/**
 * Guard: it waits for its children, and was not written since it was observed.
 * Effect: as above, and it waits for them no longer. Its last attempt is in its past already.
 * Outcomes: refused = woken, or changed since: read it again.
 */
export function promoteWaiting(
  table: string,
  observed: ReadyTask,
  follower: Follower,
  shards: number,
  stamp: Stamp,
): Statement<'update'> {
  const next = continueWith(observed, follower, shards, stamp);
  return updateTask('task.promote', table, observed, stamp, {
    guard: '#state = :ready AND #nonce = :observedNonce',
    effect: `${next.set} ${next.remove}`,
    values: next.values,
  });
}

function continueWith(
  former: Pick<Claim, 'queue' | 'id' | 'tenant' | 'links'> & Pick<RunningTask, 'journal'>,
  follower: Follower,
  shards: number,
  stamp: Stamp,
): { readonly set: string; readonly remove: string; readonly values: Values } {
  const { name, priority, runAt } = follower;
  const work = {
    name,
    input: storedJson(follower.input),
    priority,
    runAt,
    options: optionAttributes({ ...follower, queue: former.queue }),
  };
  const group = groupOf({ ...former.links, concurrency: follower.links?.concurrency });
  const given = asked(work, { ...former, ...group }, shards, stamp);
  return {
    set:
      `SET ${given.effect}, #state = :ready, #createdAt = :at, #createdBy = :createdBy, #attempts = :zero, ` +
      `#generation = if_not_exists(#generation, :zero) + :one, ${COUNT_WORK}`,
    remove: `${dropped(work)}${FORGET}${andForget(former.journal)}${andLeave(given)}`,
    values: { ...given.values, ':at': follower.at, ':createdBy': createdByOf(follower.nonce) },
  };
}

/** Follows `dropped`. */
const FORGET =
  ', #follower, #session, #claimedAt, #progress, #lastError, #children, #deaths, #failingSince, #handBacks';
