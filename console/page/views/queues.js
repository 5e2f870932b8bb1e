/** Queues: what waits in each, and holding one still. */

/** @import { Child } from '../dom.js' */
/** @import { QueueFigures } from '../../model.ts' */
/** @import { Scene, View } from '../app.js' */
import { actButton } from '../act-dialog.js';
import { h } from '../dom.js';
import { counted, rate, span, whole, workersText } from '../format.js';
import { FINISHED_NOTE, badge, empty, factsOf, heading, to, when } from '../parts.js';

const PRIORITIES = /** @type {const} */ (['high', 'normal', 'low']);

/** @type {View} */
export const queues = {
  title: 'Queues',
  draw: (scene) => [
    heading('Queues'),
    scene.overview.queues.length === 0
      ? empty('No queues yet.', 'A queue is listed with its first worker; the Tasks page opens any queue by name.')
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
  return isPaused ? h('span', { title: reason }, badge('paused', 'warning')) : badge('active', 'good');
}

/**
 * @param {QueueFigures} figures
 * @param {Scene} scene
 */
function card(figures, { overview, mayAct, refresh }) {
  const {
    queue,
    isPaused,
    reason,
    due,
    later,
    parked,
    isMore,
    looked,
    running,
    oldestReadyAgeMs,
    dead,
    workers,
    flow,
    at,
  } = figures;
  return h(
    'section',
    { class: 'card', 'data-key': queue, 'aria-label': `queue ${queue}` },
    h(
      'header',
      {},
      h('h2', {}, queueName(figures)),
      queueBadge(figures),
      h('small', {}, 'updated ', when(at, overview.now)),
    ),
    isPaused && h('p', { class: 'note' }, `Paused: ${reason ?? ''}`),
    stack(figures),
    factsOf([
      ...PRIORITIES.map(
        (priority) =>
          /** @type {const} */ ([
            `ready + running (${priority})`,
            counted({ count: due[priority], isMore: isMore && due[priority] > 0 }),
          ]),
      ),
      ['delayed', counted({ count: later, isMore: isMore && later > 0 })],
      ['parked', parkedText(parked)],
      ['running', looked < backlogOf(figures) || isMore ? `≥ ${running} (${looked} oldest checked)` : whole(running)],
      ['oldest ready', oldestReadyAgeMs === null ? 'none' : span(oldestReadyAgeMs)],
      ['dead', dead.count === 0 ? '0' : h('a', { href: to('tasks', { queue, state: 'dead' }) }, counted(dead))],
      ['finished', flow && h('span', { title: FINISHED_NOTE }, `≥ ${rate(flow.left)}/s`)],
      ['added', flow && `≥ ${rate(flow.arrived)}/s`],
    ]),
    workersLine(workers),
    mayAct && h('div', { class: 'buttons' }, actsOf(figures, refresh)),
  );
}

/** @param {QueueFigures['parked']} parked */
function parkedText(parked) {
  if (parked.oldestAgeMs === null) return '0';
  return `${counted(parked)}, the oldest due for ${span(parked.oldestAgeMs)}`;
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
      actButton('Redrive dead tasks…', {
        title: `Redrive ${counted(dead)} dead tasks of ${queue}`,
        consequence: 'Every dead task of the queue becomes ready again, with all its attempts; its history is kept.',
        confirm: 'Redrive dead tasks',
        act: { verb: 'queue.redrive', queue },
        onDone: refresh,
      }),
    actButton(isPaused ? 'Resume…' : 'Pause…', {
      title: `${isPaused ? 'Resume' : 'Pause'} ${queue}`,
      consequence: isPaused
        ? 'Workers claim its tasks again from the next tick.'
        : 'No task of it is claimed any more, within a few seconds. What runs goes on to its end, and adding goes on.',
      confirm: isPaused ? 'Resume queue' : 'Pause queue',
      act: { verb: `queue.${verb}`, queue },
      onDone: refresh,
    }),
  ];
}

/** Due by priority and later, side by side. @param {QueueFigures} figures */
function stack({ due, later }) {
  const parts = [
    ...PRIORITIES.map((priority) => ({ name: priority, count: due[priority] })),
    { name: 'delayed', count: later },
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
    h('span', {}, live === 0 && limit === 0 ? 'no workers yet' : `workers: ${workersText({ live, permits, limit })}`),
    h(
      'span',
      { class: 'slots small', 'aria-hidden': 'true' },
      Array.from({ length: drawn }, (_, index) => h('i', { class: index < live ? 'taken' : 'free' })),
    ),
  );
}
