/** Everything at a glance. */

/** @import { Overview } from '../../model.ts' */
/** @import { View } from '../app.js' */
import { h } from '../dom.js';
import { age, counted, rate, rateSeen, whole } from '../format.js';
import { FINISHED_NOTE, badge, empty, heading, tableOf, to, when } from '../parts.js';
import { plot, plottedMs } from '../plot.js';
import { queueTable } from '../queue-table.js';

const LOST_SHOWN = 6;

/** @type {View} */
export const overviewPage = {
  title: 'Overview',
  draw: (scene) => [
    heading('Overview', h('small', `the plots: the last ${age(plottedMs(scene.overview.readings))}`)),
    h('div.figures', figures(scene.overview)),
    h('h2', 'Queues'),
    queues(scene),
    h('h2', 'Lost leases'),
    lostTable(scene.overview),
  ],
};

/** @param {Overview} overview */
function figures({ queues, readings, lostInHour }) {
  const last = readings.at(-1);
  const running = queues.reduce((sum, queue) => sum + queue.running, 0);
  const checked = queues.reduce((sum, queue) => sum + queue.checked, 0);
  const isMore = queues.some((queue) => queue.isMore);
  /**
   * @param {string} label
   * @param {keyof Overview['readings'][number]} key
   * @param {Partial<Parameters<typeof plot>[2]>} [options]
   */
  const over = (label, key, options) =>
    plot(
      label,
      readings.map((reading) => ({ at: reading.at, value: reading[key] })),
      { text: whole, ...options },
    );
  const dead = { count: last?.dead ?? 0, isMore: queues.some((queue) => queue.dead.isMore) };
  const limit = queues.reduce((sum, { workers }) => sum + workers.limit, 0);
  return [
    figure(
      'Backlog',
      counted({ count: last?.backlog ?? 0, isMore }),
      `running: ${running} of the oldest ${checked}`,
      over('backlog over time', 'backlog'),
    ),
    figure(
      'Oldest ready',
      last === undefined || last.oldestReadyAgeMs === 0 ? 'none' : age(last.oldestReadyAgeMs),
      last === undefined || last.oldestReadyAgeMs === 0 ? 'no due task is waiting' : 'waiting for a worker',
      over('age of the oldest ready task over time', 'oldestReadyAgeMs', { text: age }),
    ),
    figure(
      'Finished',
      rateSeen(last?.left ?? 0),
      `added: ${rateSeen(last?.arrived ?? 0)}`,
      over('tasks that left the backlog, a second', 'left', { text: (value) => `${rate(value)}/s` }),
      FINISHED_NOTE,
    ),
    figure(
      'Workers',
      whole(last?.workers ?? 0),
      limit === 0 ? 'none deployed' : `of ${whole(limit)} at most`,
      over('live workers over time', 'workers', { as: 'line' }),
    ),
    figure(
      'Dead tasks',
      counted(dead),
      'out of attempts',
      over('dead tasks over time', 'dead', { tone: 'bad', as: 'line' }),
    ),
    figure(
      'Lost leases',
      whole(lostInHour),
      'in the last hour, while this console was open',
      over('leases lost over time', 'lost', { tone: 'bad', as: 'bars' }),
    ),
  ];
}

/**
 * @param {string} title
 * @param {string} value
 * @param {import('../dom.js').Child} note
 * @param {Element} picture
 * @param {string} [explanation]
 */
function figure(title, value, note, picture, explanation) {
  return h(
    'section.figure',
    { 'aria-label': title },
    h('h2', title),
    h('b', value),
    h('small', note, explanation && h('span.unseen', `. ${explanation}`)),
    picture,
  );
}

/** @param {import('../app.js').Scene} scene */
function queues(scene) {
  const { queues: known, unseen } = scene.overview;
  if (known.length > 0) return queueTable(scene, false);
  return empty(
    'No queues yet.',
    unseen.length === 0 ? 'A queue appears here with its first task.' : `Next: ${unseen.join(', ')}`,
  );
}

/** @param {Overview} overview */
function lostTable({ lost, now }) {
  if (lost.length === 0)
    return empty('No lost leases since this console opened.', 'Every session that ended was ended by its own holder.');
  return tableOf(
    'Lost leases',
    [
      { title: 'session', cell: ({ name }) => h('a', { href: to('sessions') }, name) },
      { title: 'node', cell: ({ node }) => node },
      { title: 'reason', cell: ({ reason }) => badge(reason, reason === 'destroyed' ? 'quiet' : 'bad') },
      { title: 'when', class: 'number', cell: ({ at }) => when(at, now) },
    ],
    lost.slice(0, LOST_SHOWN),
    ({ session }) => session,
  );
}
