/** Computes a task's bars from its row, from enqueue to end, without a page to draw on. */

/** @import { TaskView } from '../model.ts' */

/**
 * @typedef {object} Attempt
 * @property {number} leaseCounter
 * @property {string} session
 * @property {number | undefined} claimedAt
 * @property {number} endedAt now, while it runs
 * @property {string} how
 * @property {string | undefined} error
 */

/**
 * `delay`: not due yet, by choice or after a failure; `wait`: due and unclaimed; `unclaimed`: unclaimed, and the row no longer
 * records when it became due; otherwise an attempt.
 * @typedef {object} Bar
 * @property {'delay' | 'wait' | 'unclaimed' | 'attempt'} kind
 * @property {number} from
 * @property {number} until
 * @property {number} row attempts from top to bottom; the time before an attempt is in its row
 * @property {Attempt} [attempt]
 */

/**
 * Oldest first, as far as the row's history goes.
 * @param {TaskView['task']} task
 * @param {number} now
 * @returns {readonly Attempt[]}
 */
export function attemptsOf(task, now) {
  const past = task.past.map((attempt) => ({ ...attempt }));
  const { session, claimedAt, leaseCounter, state } = task;
  if (session === undefined || claimedAt === undefined || state === 'ready') return past;
  const endedAt = 'finishedAt' in task ? task.finishedAt : now;
  const error = state === 'dead' ? task.lastError?.message : undefined;
  return [
    ...past.filter((attempt) => attempt.leaseCounter !== leaseCounter),
    { leaseCounter, session, claimedAt, endedAt, how: state, error },
  ];
}

/**
 * @param {TaskView['task']} task
 * @param {number} now
 * @returns {{ from: number, until: number, rows: number, bars: readonly Bar[] }}
 */
export function waterfallOf(task, now) {
  const attempts = attemptsOf(task, now);
  // A row keeps only the last few attempts; earlier ones are unknown.
  const isWhole = attempts.length >= task.attempts || task.past.length < PAST_KEPT;
  /** @type {Bar[]} */
  const bars = [];
  let reached = isWhole ? task.createdAt : undefined;
  for (const [row, attempt] of attempts.entries()) {
    const begun = attempt.claimedAt ?? attempt.endedAt;
    const isCurrent = task.state === 'running' && row === attempts.length - 1;
    // After a death nothing waits: the attempt ended when it was taken over.
    if (reached !== undefined) bars.push(...unclaimed(reached, begun, isCurrent ? dueAt(task) : undefined, row));
    bars.push({ kind: 'attempt', from: begun, until: Math.max(begun, attempt.endedAt), row, attempt });
    reached = attempt.endedAt;
  }
  const isWaiting = task.state === 'ready' || attempts.length === 0;
  const end = 'finishedAt' in task ? task.finishedAt : now;
  if (isWaiting) bars.push(...unclaimed(reached ?? task.createdAt, end, dueAt(task), attempts.length));
  const from = Math.min(...bars.map((bar) => bar.from), isWhole ? task.createdAt : Infinity, now);
  const until = Math.max(...bars.map((bar) => bar.until), from + 1);
  return { from, until, rows: attempts.length + (isWaiting ? 1 : 0), bars };
}

/** As many as a row has places for. */
const PAST_KEPT = 4;

/** @param {TaskView['task']} task */
function dueAt(task) {
  return 'readyAt' in task ? task.readyAt : undefined;
}

/**
 * The time in which no worker had it.
 * @param {number} from
 * @param {number} until
 * @param {number | undefined} due
 * @param {number} row
 * @returns {readonly Bar[]}
 */
function unclaimed(from, until, due, row) {
  if (due === undefined) return until > from ? [{ kind: 'unclaimed', from, until, row }] : [];
  const end = Math.max(until, due);
  const split = Math.min(Math.max(due, from), end);
  return /** @type {Bar[]} */ ([
    { kind: 'delay', from, until: split, row },
    { kind: 'wait', from: split, until: Math.max(split, until), row },
  ]).filter((bar) => bar.until > bar.from);
}
