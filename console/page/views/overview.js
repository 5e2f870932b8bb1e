/** Everything at a glance. */

/** @import { Overview, QueueFigures } from '../../model.ts' */
/** @import { View } from '../app.js' */
import { h } from '../dom.js';
import { counted, rate, span, whole, workersText } from '../format.js';
import { FINISHED_NOTE, empty, heading, tableOf, to, when } from '../parts.js';
import { plot, plottedMs } from '../plot.js';
import { backlogOf, queueBadge, queueName } from './queues.js';

const LOST_SHOWN = 6;

/** @type {View} */
export const overviewPage = {
  title: 'Overview',
  draw: ({ overview }) => [
    heading('Overview', h('small', {}, `the plots: the last ${span(plottedMs(overview.readings))}`)),
    h('div', { class: 'figures' }, figures(overview)),
    h('h2', {}, 'Queues'),
    queuesTable(overview),
    h('h2', {}, 'Lost leases'),
    lostTable(overview),
  ],
};

/** @param {Overview} overview */
function figures({ queues, readings, lostInHour }) {
  const last = readings.at(-1);
  const running = queues.reduce((sum, queue) => sum + queue.running, 0);
  const looked = queues.reduce((sum, queue) => sum + queue.looked, 0);
  const isMore = queues.some((queue) => queue.isMore);
  /**
   * @param {string} label
   * @param {keyof Overview['readings'][number]} key
   * @param {Parameters<typeof plot>[2]} [options]
   */
  const over = (label, key, options) =>
    plot(
      label,
      readings.map((reading) => ({ at: reading.at, value: reading[key] })),
      options,
    );
  const dead = { count: last?.dead ?? 0, isMore: queues.some((queue) => queue.dead.isMore) };
  const limit = queues.reduce((sum, { workers }) => sum + workers.limit, 0);
  return [
    figure(
      'Backlog',
      counted({ count: last?.backlog ?? 0, isMore }),
      `running: ${running} of the oldest ${looked}`,
      over('backlog over time', 'backlog'),
    ),
    figure(
      'Oldest ready',
      last === undefined || last.oldestReadyAgeMs === 0 ? 'none' : span(last.oldestReadyAgeMs),
      last === undefined || last.oldestReadyAgeMs === 0 ? 'no due task is waiting' : 'waiting for a worker',
      over('age of the oldest ready task over time', 'oldestReadyAgeMs', { tone: 'warning' }),
    ),
    figure(
      'Finished',
      `≥ ${rate(last?.left ?? 0)}/s`,
      `added ≥ ${rate(last?.arrived ?? 0)}/s`,
      over('tasks that left the backlog, a second', 'left', { tone: 'good' }),
      FINISHED_NOTE,
    ),
    figure(
      'Workers',
      whole(last?.workers ?? 0),
      limit === 0 ? 'none deployed' : `of ${whole(limit)} at most`,
      over('live workers over time', 'workers'),
    ),
    figure('Dead tasks', counted(dead), 'out of attempts', over('dead tasks over time', 'dead', { tone: 'bad' })),
    figure(
      'Lost leases',
      whole(lostInHour),
      'in the last hour, while this console was open',
      over('leases lost over time', 'lost', { tone: 'bad', asBars: true }),
    ),
  ];
}

/**
 * @param {string} title
 * @param {string} value
 * @param {import('../dom.js').Child} note
 * @param {Element} picture
 * @param {string} explanation shown beside the pointer
 */
function figure(title, value, note, picture, explanation = '') {
  return h(
    'section',
    { class: 'figure', 'aria-label': title, ...(explanation === '' ? {} : { title: explanation }) },
    h('h3', {}, title),
    h('b', {}, value),
    h('small', {}, note),
    picture,
  );
}

/** @param {Overview} overview */
function queuesTable({ queues, unseen, now }) {
  if (queues.length === 0)
    return empty(
      'No queues yet.',
      unseen.length === 0 ? 'A queue appears here with its first task.' : `Next: ${unseen.join(', ')}`,
    );
  return tableOf(
    'Queues',
    [
      { title: 'queue', cell: queueName },
      { title: 'state', cell: queueBadge },
      { title: 'due', class: 'number', cell: (queue) => counted({ count: backlogOf(queue), isMore: queue.isMore }) },
      { title: 'delayed', class: 'number', cell: ({ later }) => whole(later) },
      { title: 'parked', class: 'number', cell: ({ parked }) => counted(parked) },
      {
        title: 'oldest ready',
        class: 'number',
        cell: ({ oldestReadyAgeMs }) => (oldestReadyAgeMs === null ? '–' : span(oldestReadyAgeMs)),
      },
      { title: 'workers', class: 'number', cell: ({ workers }) => workersText(workers) },
      {
        title: 'dead',
        class: 'number',
        cell: ({ queue, dead }) =>
          dead.count === 0 ? '0' : h('a', { href: to('tasks', { queue, state: 'dead' }) }, counted(dead)),
      },
      { title: 'updated', class: 'number quiet', cell: ({ at }) => when(at, now) },
    ],
    queues,
    ({ queue }) => queue,
  );
}

/** @param {Overview} overview */
function lostTable({ lost, now }) {
  if (lost.length === 0)
    return empty('No lost leases since this console opened.', 'Every session that ended was ended by its own holder.');
  return tableOf(
    'Lost leases',
    [
      { title: 'session', cell: ({ session, name }) => h('a', { href: to('sessions'), title: session }, name) },
      { title: 'node', cell: ({ node }) => node },
      { title: 'reason', cell: ({ reason }) => h('span', { class: 'badge bad' }, reason) },
      { title: 'when', class: 'number', cell: ({ at }) => when(at, now) },
    ],
    lost.slice(0, LOST_SHOWN),
    ({ session }) => session,
  );
}
