/** Queues: what waits in each, and holding one still. */

/** @import { Child } from '../dom.js' */
/** @import { QueueFigures } from '../../model.ts' */
/** @import { Scene, View } from '../app.js' */
import { askToAct } from '../act-dialog.js';
import { h } from '../dom.js';
import { counted, rate, span, whole, workersText } from '../format.js';
import { badge, button, empty, factsOf, heading, to, when } from '../parts.js';

const PRIORITIES = /** @type {const} */ (['high', 'normal', 'low']);

/** @type {View} */
export const queues = {
  title: 'Queues',
  draw: (scene) => [
    heading('Queues'),
    scene.overview.queues.length === 0
      ? empty(
          'No queue has been looked at yet.',
          'Queues show up with their first worker; others can be named on the Tasks page.',
        )
      : h(
          'div',
          { class: 'cards' },
          scene.overview.queues.map((queue) => card(queue, scene)),
        ),
  ],
};

/** Due tasks of all priorities, as far as they were counted. @param {QueueFigures} queue */
export function backlogOf({ due }) {
  return due.high + due.normal + due.low;
}

/** @param {QueueFigures} figures */
export function queueName({ queue }) {
  return h('a', { href: to('tasks', { queue }) }, queue);
}

/** @param {QueueFigures} figures */
export function queueBadge({ isPaused, reason }) {
  return isPaused ? h('span', { title: reason }, badge('paused', 'warning')) : badge('open', 'good');
}

/**
 * @param {QueueFigures} figures
 * @param {Scene} scene
 */
function card(figures, { overview, mayAct, refresh }) {
  const { queue, isPaused, reason, due, later, isMore, looked, running, oldestReadyAgeMs, dead, workers, flow, at } =
    figures;
  return h(
    'section',
    { class: 'card', 'data-key': queue, 'aria-label': `queue ${queue}` },
    h(
      'header',
      {},
      h('h2', {}, queueName(figures)),
      queueBadge(figures),
      h('small', {}, 'looked ', when(at, overview.now)),
    ),
    isPaused && h('p', { class: 'note' }, `No task is claimed: ${reason ?? ''}`),
    stack(figures),
    factsOf([
      ...PRIORITIES.map(
        (priority) =>
          /** @type {const} */ ([
            `due, ${priority}`,
            counted({ count: due[priority], isMore: isMore && due[priority] > 0 }),
          ]),
      ),
      ['for later', counted({ count: later, isMore: isMore && later > 0 })],
      ['running', looked < backlogOf(figures) || isMore ? `${running} of the oldest ${looked}` : whole(running)],
      ['oldest ready', oldestReadyAgeMs === null ? 'none' : span(oldestReadyAgeMs)],
      ['dead', dead.count === 0 ? '0' : h('a', { href: to('tasks', { queue, state: 'dead' }) }, counted(dead))],
      ['leaving', flow && `${rate(flow.left)}/s at least`],
      ['arriving', flow && `${rate(flow.arrived)}/s at least`],
    ]),
    workersLine(workers),
    mayAct && h('div', { class: 'buttons' }, actsOf(figures, refresh)),
  );
}

/**
 * @param {QueueFigures} figures
 * @param {() => void} refresh
 * @returns {Child}
 */
function actsOf({ queue, isPaused, dead }, refresh) {
  const verb = isPaused ? 'resume' : 'pause';
  return [
    dead.count > 0 &&
      button('Redrive the dead…', () =>
        askToAct({
          title: `Redrive ${counted(dead)} dead of ${queue}`,
          consequence: 'All dead tasks of the queue become ready again, with all their attempts and their history.',
          confirm: 'Redrive all',
          act: { verb: 'queue.redrive', queue },
          onDone: refresh,
        }),
      ),
    button(isPaused ? 'Resume…' : 'Pause…', () =>
      askToAct({
        title: `${isPaused ? 'Resume' : 'Pause'} ${queue}`,
        consequence: isPaused
          ? 'Workers claim its tasks again, with the next tick.'
          : 'No task of it is claimed any more, within a few seconds. What runs goes on to its end, and adding goes on.',
        confirm: isPaused ? 'Resume' : 'Pause',
        act: { verb: `queue.${verb}`, queue },
        onDone: refresh,
      }),
    ),
  ];
}

/** Due by priority and later, side by side. @param {QueueFigures} figures */
function stack({ due, later }) {
  const parts = [
    ...PRIORITIES.map((priority) => ({ name: priority, count: due[priority] })),
    { name: 'later', count: later },
  ];
  const total = parts.reduce((sum, { count }) => sum + count, 0);
  return h(
    'div',
    { class: 'stack', role: 'img', 'aria-label': parts.map(({ name, count }) => `${name} ${count}`).join(', ') },
    parts.map(({ name, count }) =>
      h('i', { class: name, '--share': total === 0 ? 0 : count / total, title: `${name}: ${whole(count)}` }),
    ),
  );
}

const WORKERS_DRAWN = 60;

/** @param {QueueFigures['workers']} workers */
function workersLine({ live, permits, limit }) {
  const drawn = Math.min(WORKERS_DRAWN, Math.max(limit, live));
  return h(
    'p',
    { class: 'workers' },
    h('span', {}, live === 0 && limit === 0 ? 'no worker yet' : `workers: ${workersText({ live, permits, limit })}`),
    h(
      'span',
      { class: 'slots small', 'aria-hidden': 'true' },
      Array.from({ length: drawn }, (_, index) => h('i', { class: index < live ? 'taken' : 'free' })),
    ),
  );
}
