/** The claims of a task, as bars over time and as a table. */

/** @import { TaskView } from '../model.ts' */
import { h, svg } from './dom.js';
import { span } from './format.js';
import { badge, sessionName, tableOf, when } from './parts.js';

/**
 * @typedef {object} Attempt
 * @property {number} leaseCounter
 * @property {string} session
 * @property {number | undefined} claimedAt
 * @property {number} endedAt now, while it runs
 * @property {string} how
 * @property {string | undefined} error
 */

const WIDTH = 600;
const ROW = 22;
/** Short ones are drawn so long at least. */
const SHORTEST = 3;

/** @type {Readonly<Record<string, Parameters<typeof badge>[1]>>} */
const TONES = {
  running: 'busy',
  done: 'good',
  dead: 'bad',
  failed: 'bad',
  died: 'bad',
  released: 'quiet',
  snoozed: 'quiet',
  cancelled: 'quiet',
};

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
 * @param {readonly Attempt[]} attempts
 * @param {number} now
 */
export function timeline(task, attempts, now) {
  const starts = attempts.map(({ claimedAt, endedAt }) => claimedAt ?? endedAt);
  const from = Math.min(task.createdAt, ...starts);
  const until = Math.max(
    'finishedAt' in task ? task.finishedAt : now,
    ...attempts.map(({ endedAt }) => endedAt),
    from + 1,
  );
  const x = (/** @type {number} */ at) => ((at - from) / (until - from)) * WIDTH;
  const height = attempts.length * ROW + 2;
  return h(
    'figure',
    { class: 'timeline' },
    svg(
      'svg',
      {
        viewBox: `0 0 ${WIDTH} ${height}`,
        preserveAspectRatio: 'none',
        height,
        role: 'img',
        'aria-label': `${attempts.length} attempts over ${span(until - from)}`,
      },
      attempts.map(({ claimedAt, endedAt, how, leaseCounter }, row) => {
        const start = x(claimedAt ?? endedAt);
        const y = row * ROW + 4;
        return [
          svg('line', { class: 'wait', x1: 0, x2: WIDTH, y1: y + 8, y2: y + 8 }),
          svg(
            'rect',
            {
              class: TONES[how] ?? 'quiet',
              x: Math.min(start, WIDTH - SHORTEST),
              y,
              width: Math.max(SHORTEST, x(endedAt) - start),
              height: ROW - 6,
              rx: 2,
            },
            svg('title', {}, `token ${leaseCounter}: ${how}, ${span(endedAt - (claimedAt ?? endedAt))}`),
          ),
        ];
      }),
    ),
    h(
      'figcaption',
      {},
      h('span', {}, 'enqueued ', when(task.createdAt, now)),
      h('span', {}, until >= now ? 'now' : when(until, now)),
    ),
  );
}

/**
 * @param {readonly Attempt[]} attempts
 * @param {number} now
 */
export function attemptsTable(attempts, now) {
  return tableOf(
    'Claims',
    [
      { title: 'token', class: 'number', cell: ({ leaseCounter }) => leaseCounter },
      { title: 'result', cell: ({ how }) => badge(how, TONES[how] ?? 'quiet') },
      { title: 'session', cell: ({ session }) => sessionName(session) },
      {
        title: 'claimed',
        class: 'number',
        cell: ({ claimedAt }) => (claimedAt === undefined ? '–' : when(claimedAt, now)),
      },
      {
        title: 'took',
        class: 'number',
        cell: ({ claimedAt, endedAt }) => (claimedAt === undefined ? '–' : span(endedAt - claimedAt)),
      },
      { title: 'error', class: 'text', cell: ({ error }) => error },
    ],
    attempts,
    ({ leaseCounter }) => String(leaseCounter),
  );
}
