/** Queues, one row each: read-only on the overview, with actions on their own page. */

/** @import { Child } from './dom.js' */
/** @import { QueueFigures } from '../model.ts' */
/** @import { Scene } from './app.js' */
import { actButton } from './act-dialog.js';
import { field } from './dialog.js';
import { h } from './dom.js';
import { age, counted, rateSeen, whole, workersText } from './format.js';
import { badge, factsOf, suggestions, tableOf, to, when } from './parts.js';

const PRIORITIES = /** @type {const} */ (['high', 'normal', 'low']);

/**
 * @param {Scene} scene
 * @param {boolean} hasActs
 */
export function queueTable({ overview, clock, mayAct, refresh }, hasActs) {
  return [
    tableOf(
      'Queues',
      [
        { title: 'queue', cell: queueName },
        { title: 'state', cell: queueBadge },
        { title: 'backlog', cell: stack },
        { title: 'due', class: 'number', cell: (queue) => counted({ count: backlogOf(queue), isMore: queue.isMore }) },
        { title: 'delayed', class: 'number', cell: (queue) => counted(delayedOf(queue)) },
        {
          title: 'oldest',
          class: 'number',
          cell: ({ oldestReadyAgeMs }) => (oldestReadyAgeMs === null ? '–' : age(oldestReadyAgeMs)),
        },
        { title: 'workers', class: 'number', cell: ({ workers }) => workers.live },
        {
          title: 'dead',
          class: 'number',
          cell: ({ queue, dead }) =>
            dead.count === 0 ? '0' : h('a', { href: to('tasks', { queue, state: 'dead' }) }, counted(dead)),
        },
        { title: 'updated', class: 'number quiet', cell: ({ at }) => when(at, clock) },
        {
          title: 'actions',
          cell: (queue) => hasActs && mayAct && h('span.acts', actsOf(queue, overview.now, refresh)),
        },
      ],
      overview.queues,
      ({ queue }) => queue,
    ),
    h(
      'p.legend',
      ['high', 'normal', 'low', 'delayed'].map((name) =>
        h('span', h('i', { class: name }), name === 'delayed' ? ' delayed' : ` due, ${name} priority`),
      ),
    ),
  ];
}

/** Due tasks, by priority; counts stop at a budget. @param {QueueFigures} queue */
export function backlogOf({ due }) {
  return PRIORITIES.reduce((total, priority) => total + due[priority], 0);
}

/** @param {QueueFigures} queue */
export function delayedOf({ later, isMore }) {
  return { count: later, isMore: isMore && later > 0 };
}

/** @param {QueueFigures} figures */
function queueName({ queue, isPaused, reason, pausedTenants }) {
  return [
    h('a', { href: to('tasks', { queue }) }, queue),
    isPaused && reason && h('small.below.short', reason),
    pausedTenants.length > 0 &&
      h(
        'small.below.short',
        `paused of it: ${pausedTenants.length === 1 ? 'a tenant' : `${pausedTenants.length} tenants`}`,
      ),
  ];
}

/** @param {QueueFigures} figures */
function queueBadge(figures) {
  if (figures.isPaused) return badge('paused', 'warning');
  return figures.workers.live === 0 && backlogOf(figures) > 0
    ? badge('no worker', 'warning')
    : badge('active', 'quiet');
}

/** Due tasks by priority and delayed ones, side by side, with the remaining figures to open. @param {QueueFigures} figures */
function stack(figures) {
  const { due, later, isMore, isPaused, reason, pausedTenants, held, workers, wanted, tookMs, flow } = figures;
  const parts = [
    ...PRIORITIES.map((priority) => ({ name: priority, count: due[priority] })),
    { name: 'delayed', count: later },
  ];
  const total = parts.reduce((sum, { count }) => sum + count, 0);
  return h(
    'details.backlog',
    h(
      'summary',
      { 'aria-label': `Details of ${figures.queue}` },
      h(
        'span.stack',
        { role: 'img', 'aria-label': parts.map(({ name, count }) => `${name} ${count}`).join(', ') },
        parts.map(({ name, count }) => h('i', { class: name, '--share': total === 0 ? 0 : count / total })),
      ),
    ),
    factsOf([
      ['paused', isPaused ? reason : undefined],
      ['paused tenants', pausedTenants.length === 0 ? undefined : `${pausedTenants.join(', ')}; ${held} due`],
      ...PRIORITIES.map(
        (priority) =>
          /** @type {const} */ ([
            `due (${priority})`,
            counted({ count: due[priority], isMore: isMore && due[priority] > 0 }),
          ]),
      ),
      ['running', runningText(figures)],
      ['workers', workersText(workers)],
      ['workers wanted', wanted === null ? undefined : String(wanted)],
      ['a task took', tookMs === null ? undefined : age(tookMs)],
      ['added', flow && rateSeen(flow.arrived)],
      ['finished', flow && rateSeen(flow.left)],
    ]),
  );
}

/** @param {QueueFigures} figures */
function runningText(figures) {
  const { checked, running, isMore } = figures;
  return checked < backlogOf(figures) || isMore ? `≥ ${running} (${checked} oldest checked)` : whole(running);
}

/**
 * @param {QueueFigures} figures
 * @param {number} now
 * @param {() => void} refresh
 * @returns {Child}
 */
function actsOf({ queue, isPaused, pausedTenants, dead }, now, refresh) {
  const shared = { target: queue, onDone: refresh, class: 'small' };
  return [
    dead.count > 0 &&
      actButton('Retry dead…', {
        ...shared,
        title: `Retry ${counted(dead)} dead tasks of ${queue}`,
        target: `tasks of ${queue}`,
        consequence:
          'Every task of the queue that is dead by now becomes ready again, with all its attempts; its history is kept.',
        confirm: 'Retry dead tasks',
        act: { verb: 'queue.retry', queue, diedUntil: now },
      }),
    !isPaused &&
      actButton('Pause…', {
        ...shared,
        title: `Pause ${queue}`,
        consequence:
          'No task of it, or of the tenant, is claimed any more, within a few seconds. What runs goes on to its end, and adding goes on.',
        confirm: 'Pause',
        act: { verb: 'queue.pause', queue },
        fields: field('Tenant', { name: 'tenant', autofocus: false }, 'Optional: to pause the tasks of one tenant.'),
        read: tenantIn,
      }),
    (isPaused || pausedTenants.length > 0) &&
      actButton('Resume…', {
        ...shared,
        title: `Resume ${queue}`,
        consequence: 'Workers claim its tasks, or those of the tenant, again within a few seconds.',
        confirm: 'Resume',
        act: { verb: 'queue.resume', queue },
        fields: pausedTenants.length > 0 && [
          field(
            'Tenant',
            {
              name: 'tenant',
              value: isPaused ? '' : (pausedTenants[0] ?? ''),
              required: !isPaused,
              list: 'paused-tenants',
              autofocus: false,
            },
            `Paused: ${pausedTenants.join(', ')}.${isPaused ? ' Without one, the queue itself is resumed.' : ''}`,
          ),
          suggestions('paused-tenants', pausedTenants),
        ],
        read: tenantIn,
      }),
  ];
}

/** @param {HTMLFormElement} form */
function tenantIn(form) {
  const tenant = String(new FormData(form).get('tenant') ?? '').trim();
  return tenant === '' ? {} : { tenant };
}
