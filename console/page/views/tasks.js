/** Tasks of a queue: by state, and each by its id. */

/** @import { TaskLine, TaskPage } from '../../model.ts' */
/** @import { Scene, View } from '../app.js' */
import { h } from '../dom.js';
import { whole } from '../format.js';
import {
  empty,
  finder,
  heading,
  sessionName,
  since,
  stateLabel,
  tableOf,
  taskBadge,
  taskState,
  to,
  when,
} from '../parts.js';

const STATES = /** @type {const} */ (['unfinished', 'ready', 'later', 'running', 'dead']);
const DEFAULT_QUEUE = 'default';

/** @type {View} */
export const tasks = {
  title: 'Tasks',
  question: ({ query }, overview) => ({
    path: 'tasks',
    query: { queue: query.queue ?? firstQueue(overview), state: query.state, after: query.after },
  }),
  draw(scene) {
    const { query, data, overview } = scene;
    /** @type {TaskPage} */
    const page = data;
    const { queue } = page;
    const state = query.state ?? 'unfinished';
    return [
      heading('Tasks', h('small', {}, 'queue ', h('b', {}, queue))),
      h('div', { class: 'tools' }, queueField(queue, overview), idField(queue), states(queue, state)),
      page.tasks.length === 0 ? nothing(page, state) : list(page),
      pager(page, query, state),
    ];
  },
};

/** @param {Scene['overview']} overview */
function firstQueue({ queues, unseen }) {
  return queues[0]?.queue ?? unseen[0] ?? DEFAULT_QUEUE;
}

/**
 * @param {string} queue
 * @param {Scene['overview']} overview
 */
function queueField(queue, { queues, unseen }) {
  const known = [...queues.map((figures) => figures.queue), ...unseen];
  if (known.length < 2)
    return finder({
      label: 'Queue',
      name: 'queue',
      value: queue,
      hint: 'its name',
      onask: (name) => go({ queue: name }),
    });
  const options = known.includes(queue) ? known : [queue, ...known];
  return h(
    'label',
    { class: 'finder' },
    h('span', {}, 'Queue'),
    h(
      'select',
      { onchange: (/** @type {Event} */ { target }) => go({ queue: /** @type {HTMLSelectElement} */ (target).value }) },
      options.map((name) => h('option', { value: name, selected: name === queue }, name)),
    ),
  );
}

/** @param {Record<string, string | undefined>} query */
function go(query) {
  location.hash = to('tasks', query);
}

/** @param {string} queue */
function idField(queue) {
  return finder({
    label: 'Task id (any state)',
    name: 'id',
    value: '',
    hint: 'thumbnail-42',
    onask: (id) => {
      if (id !== '') location.hash = to('task', { queue, id });
    },
  });
}

/**
 * @param {string} queue
 * @param {string} current
 */
function states(queue, current) {
  return h(
    'nav',
    { class: 'tabs', 'aria-label': 'States' },
    STATES.map((state) =>
      h('a', { href: to('tasks', { queue, state }), 'aria-current': state === current && 'true' }, stateLabel(state)),
    ),
  );
}

/** @param {TaskPage} page */
function list({ queue, tasks: lines, now }) {
  return tableOf(
    'Tasks',
    [
      { title: 'id', class: 'wide', cell: ({ id }) => h('a', { href: to('task', { queue, id }), title: id }, id) },
      { title: 'task', class: 'name', cell: ({ name }) => h('span', { title: name }, name) },
      {
        title: 'state',
        cell: (task) => [
          taskBadge(taskState(task, now)),
          task.isCancelling && ' cancelling',
          task.isHeld && ' waiting in line',
          task.isParked && ' waiting for its key',
        ],
      },
      { title: 'priority', cell: ({ priority }) => priority },
      { title: 'tenant', class: 'name', cell: ({ tenant }) => tenant },
      { title: 'attempts', class: 'number', cell: ({ attempts }) => attempts },
      {
        title: 'due',
        class: 'number',
        cell: ({ readyAt }) => (readyAt === undefined ? undefined : when(readyAt, now)),
      },
      { title: 'worker', class: 'held', cell: (task) => held(task, now) },
      {
        title: 'last error',
        class: 'text',
        cell: ({ lastError }) => lastError && h('span', { title: lastError }, lastError),
      },
    ],
    lines,
    ({ id }) => id,
  );
}

/**
 * @param {TaskLine} task
 * @param {number} now
 */
function held({ state, session, claimedAt }, now) {
  if (state !== 'running' || session === undefined || claimedAt === undefined) return undefined;
  return [sessionName(session), ' for ', since(claimedAt, now)];
}

/**
 * @param {TaskPage} page
 * @param {string} state
 */
function nothing({ queue, looked, next }, state) {
  if (next !== undefined)
    return empty(
      'No match in the entries checked so far.',
      `${whole(looked)} index entries were checked; the next page has more.`,
    );
  const what = state === 'unfinished' ? 'No unfinished tasks.' : `No ${stateLabel(state)} tasks.`;
  return empty(
    what,
    'Done and cancelled tasks are not listed: open them by id. Add one: ',
    h('code', {}, `leasehold enqueue --queue ${queue} …`),
  );
}

/**
 * @param {TaskPage} page
 * @param {Record<string, string>} query
 * @param {string} state
 */
function pager({ queue, tasks: lines, next }, query, state) {
  if (lines.length === 0 && next === undefined && query.after === undefined) return undefined;
  return h(
    'p',
    { class: 'pager' },
    query.after !== undefined && h('a', { href: to('tasks', { queue, state }) }, 'First page'),
    h(
      'span',
      { class: 'quiet' },
      next === undefined
        ? `${whole(lines.length)} shown; no more`
        : `${whole(lines.length)} shown, the oldest of each shard; there are more`,
    ),
    next !== undefined && h('a', { href: to('tasks', { queue, state, after: next }) }, 'Next page'),
  );
}
