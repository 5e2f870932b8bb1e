/** The times of a task's row, as bars and as a table. */

/** @import { Attempt, Bar } from './waterfall.js' */
/** @import { TaskView } from '../model.ts' */
import { h, svg } from './dom.js';
import { span } from './format.js';
import { badge, sessionName, tableOf, when } from './parts.js';
import { waterfallOf } from './waterfall.js';

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

/** @type {Readonly<Record<Exclude<Bar['kind'], 'attempt'>, string>>} */
const UNCLAIMED = { delay: 'not due', wait: 'due, not claimed', unclaimed: 'not claimed' };

/**
 * @param {TaskView['task']} task
 * @param {number} now
 */
export function timeline(task, now) {
  const { from, until, rows, bars } = waterfallOf(task, now);
  const x = (/** @type {number} */ at) => ((at - from) / (until - from)) * WIDTH;
  const height = rows * ROW + 2;
  return h(
    'figure.timeline',
    svg(
      'svg',
      {
        viewBox: `0 0 ${WIDTH} ${height}`,
        preserveAspectRatio: 'none',
        height,
        role: 'img',
        'aria-label': `${rows} rows over ${span(until - from)}: ${bars.map(wordsOf).join('; ')}`,
      },
      bars.map((bar) => {
        const width = Math.max(SHORTEST, x(bar.until) - x(bar.from));
        return svg(
          'rect',
          {
            class: bar.attempt === undefined ? bar.kind : `attempt ${TONES[bar.attempt.how] ?? 'quiet'}`,
            x: Math.min(x(bar.from), WIDTH - SHORTEST),
            y: bar.row * ROW + (bar.attempt === undefined ? 9 : 4),
            width,
            height: bar.attempt === undefined ? ROW - 16 : ROW - 6,
            rx: 2,
          },
          svg('title', wordsOf(bar)),
        );
      }),
    ),
    h(
      'figcaption',
      h('span', from === task.createdAt ? 'enqueued ' : 'since ', when(from, now)),
      h('span', until >= now ? 'now' : when(until, now)),
    ),
  );
}

/** @param {Bar} bar */
function wordsOf({ kind, attempt, from, until }) {
  const took = span(until - from);
  if (attempt !== undefined) return `token ${attempt.leaseCounter}: ${attempt.how}, ${took}`;
  return `${kind === 'attempt' ? '' : UNCLAIMED[kind]}, ${took}`;
}

/**
 * @param {readonly Attempt[]} attempts
 * @param {TaskView} view
 */
export function attemptsTable(attempts, { now, workers }) {
  return tableOf(
    'Claims',
    [
      { title: 'token', class: 'number', cell: ({ leaseCounter }) => leaseCounter },
      { title: 'result', cell: ({ how }) => badge(how, TONES[how] ?? 'quiet') },
      {
        title: 'worker',
        class: 'name',
        cell: ({ session }) => workers[session]?.node ?? sessionName(session),
      },
      { title: 'code', cell: ({ session }) => workers[session]?.codeVersion },
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
