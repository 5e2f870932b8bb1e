/** Schedules: what became of the last occurrences, and when the next one comes. */

/** @import { ScheduleLine, SchedulePage } from '../../model.ts' */
/** @import { View } from '../app.js' */
import { actButton } from '../act-dialog.js';
import { h } from '../dom.js';
import { counted, moment } from '../format.js';
import { badge, empty, heading, tableOf, to, when } from '../parts.js';

/** @type {View} */
export const schedules = {
  title: 'Schedules',
  question: () => ({ path: 'schedules' }),
  draw({ data, mayAct, refresh }) {
    /** @type {SchedulePage} */
    const page = data;
    const { schedules: lines, now, queues, isMore } = page;
    return [
      heading('Schedules', isMore && h('small', `the first ${lines.length}; there are more`)),
      lines.length === 0
        ? empty(
            'No schedules.',
            `None is defined for ${queues.join(', ') || 'any queue'}. Define one in code: schedules.define(…).`,
          )
        : [table(lines, now, mayAct ? refresh : undefined), legend()],
    ];
  },
};

/**
 * @param {readonly ScheduleLine[]} lines
 * @param {number} now
 * @param {(() => void) | undefined} refresh after an action; undefined: actions are disabled here
 */
function table(lines, now, refresh) {
  return tableOf(
    'Schedules',
    [
      { title: 'schedule', cell: ({ name }) => name },
      { title: 'queue', cell: ({ queue }) => h('a', { href: to('tasks', { queue }) }, queue) },
      { title: 'task', cell: ({ task }) => task },
      { title: 'cron', cell: ({ cron, zone }) => [h('code', cron), h('small', ` ${zone}`)] },
      { title: 'recent runs', class: 'wide', cell: occurrenceDots },
      { title: 'next', class: 'number', cell: (line) => next(line, now) },
      { title: 'missed', cell: overdue },
      { title: 'overlap', cell: ({ overlap }) => overlap },
      { title: 'act', cell: (line) => refresh && actsOf(line, refresh) },
    ],
    lines,
    ({ queue, name }) => `${queue} ${name}`,
  );
}

/** @param {ScheduleLine} line */
function occurrenceDots({ queue, occurrences }) {
  return h(
    'span.dots',
    occurrences.map(({ at, fate, task, why }) => {
      const title = `${moment(at)}: ${fate === 'missing' ? `skipped: ${WHY[why ?? 'unknown']}` : fate}`;
      const props = { class: fate, title, 'aria-label': title, 'data-key': String(at) };
      return fate === 'missing' || fate === 'next'
        ? h('i', { ...props, role: 'img' })
        : h('a', { ...props, href: to('task', { queue, id: task }) });
    }),
  );
}

const WHY = {
  overlap: 'the run before had not ended',
  late: 'it was too late for it when a dispatcher ran',
  zone: 'the zone did not have that time, because its clock went forward',
  unknown: 'left out, missed, or older than the schedule',
};

/**
 * @param {ScheduleLine} line
 * @param {number} now
 */
function next({ occurrences, pausedAt }, now) {
  if (pausedAt !== null) return badge('paused', 'warning');
  const coming = occurrences.find(({ fate }) => fate === 'next');
  return coming === undefined ? 'no next run' : when(coming.at, now);
}

/**
 * @param {ScheduleLine} line
 * @param {() => void} refresh
 */
function actsOf({ queue, name, overlap, pausedAt }, refresh) {
  const isPaused = pausedAt !== null;
  const key = { queue, name };
  const shared = { target: name, onDone: refresh, class: 'small' };
  return [
    actButton('Run now…', {
      ...shared,
      title: `Run ${name} now`,
      consequence: `Adds a task of it now. ${OVERLAP[overlap]} The next run comes as it would have.`,
      confirm: 'Run now',
      act: { verb: 'schedule.run', ...key },
    }),
    actButton(isPaused ? 'Resume…' : 'Pause…', {
      ...shared,
      title: `${isPaused ? 'Resume' : 'Pause'} ${name}`,
      consequence: isPaused
        ? 'It goes on with its next run. Those that passed while it was paused stay left out.'
        : 'It skips its runs until it is resumed. Existing tasks continue.',
      confirm: isPaused ? 'Resume schedule' : 'Pause schedule',
      act: { verb: isPaused ? 'schedule.resume' : 'schedule.pause', ...key },
    }),
  ];
}

/** @type {Readonly<Record<ScheduleLine['overlap'], string>>} */
const OVERLAP = {
  queue: 'It waits until the run before has ended.',
  skip: 'If the run before has not ended, nothing is added.',
  replace: 'The run before is asked to stop, and it begins when that one has ended.',
  allow: 'It begins while an earlier run has not ended.',
};

/** @param {ScheduleLine} line */
function overdue({ overdue: occurrences, missed }) {
  if (occurrences.count === 0) return h('span.quiet', '–');
  return [badge(`${counted(occurrences)} overdue`, 'bad'), h('small', ` policy: ${missed}`)];
}

function legend() {
  const fates = /** @type {const} */ (['done', 'running', 'ready', 'dead', 'cancelled', 'missing', 'next']);
  return h(
    'p.legend.dots',
    fates.map((fate) =>
      h('span', h('i', { class: fate, 'aria-hidden': 'true' }), ` ${fate === 'missing' ? 'skipped' : fate}`),
    ),
  );
}
