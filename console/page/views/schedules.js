/** Schedules: what became of the last slots, and when the next one comes. */

/** @import { ScheduleLine, SchedulePage } from '../../model.ts' */
/** @import { View } from '../app.js' */
import { h } from '../dom.js';
import { counted, moment } from '../format.js';
import { badge, empty, heading, tableOf, to, when } from '../parts.js';

/** @type {View} */
export const schedules = {
  title: 'Schedules',
  question: () => ({ path: 'schedules' }),
  draw({ data }) {
    /** @type {SchedulePage} */
    const page = data;
    const { schedules: lines, now, queues, isMore } = page;
    return [
      heading('Schedules', isMore && h('small', {}, `the first ${lines.length}; there are more`)),
      lines.length === 0
        ? empty(
            'No schedules.',
            `None is defined for ${queues.join(', ') || 'any queue'}. Define one in code: schedules.define(…).`,
          )
        : [table(lines, now), legend()],
    ];
  },
};

/**
 * @param {readonly ScheduleLine[]} lines
 * @param {number} now
 */
function table(lines, now) {
  return tableOf(
    'Schedules',
    [
      { title: 'schedule', cell: ({ name }) => name },
      { title: 'queue', cell: ({ queue }) => h('a', { href: to('tasks', { queue }) }, queue) },
      { title: 'task', cell: ({ task }) => task },
      { title: 'cron', cell: ({ cron, zone }) => [h('code', {}, cron), h('small', {}, ` ${zone}`)] },
      { title: 'recent runs', class: 'wide', cell: slotDots },
      { title: 'next', class: 'number', cell: ({ slots }) => next(slots, now) },
      { title: 'missed', cell: overdue },
    ],
    lines,
    ({ queue, name }) => `${queue} ${name}`,
  );
}

/** @param {ScheduleLine} line */
function slotDots({ queue, slots }) {
  return h(
    'span',
    { class: 'dots' },
    slots.map(({ at, fate, task }) => {
      const title = `${moment(at)}: ${fate === 'missing' ? 'skipped: left out, missed, or older than the schedule' : fate}`;
      const props = { class: fate, title, 'aria-label': title, 'data-key': String(at) };
      return fate === 'missing' || fate === 'next'
        ? h('i', { ...props, role: 'img' })
        : h('a', { ...props, href: to('task', { queue, id: task }) });
    }),
  );
}

/**
 * @param {ScheduleLine['slots']} slots
 * @param {number} now
 */
function next(slots, now) {
  const coming = slots.find(({ fate }) => fate === 'next');
  return coming === undefined ? 'no next run' : when(coming.at, now);
}

/** @param {ScheduleLine} line */
function overdue({ overdue: slots, missed }) {
  if (slots.count === 0) return h('span', { class: 'quiet' }, '–');
  return [badge(`${counted(slots)} overdue`, 'bad'), h('small', {}, ` policy: ${missed}`)];
}

function legend() {
  const fates = /** @type {const} */ (['done', 'running', 'ready', 'dead', 'cancelled', 'missing', 'next']);
  return h(
    'p',
    { class: 'legend dots' },
    fates.map((fate) =>
      h('span', {}, h('i', { class: fate, 'aria-hidden': 'true' }), ` ${fate === 'missing' ? 'skipped' : fate}`),
    ),
  );
}
