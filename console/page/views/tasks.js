/** Tasks of a queue, by state: waiting and running ones here; dead and finished ones in their own files. */

/** @import { QueueFigures, TaskLine, TaskPage } from '../../model.ts' */
/** @import { Question, Scene, View } from '../app.js' */
import { ask } from '../api.js';
import { askToCancel } from '../cancel-dialog.js';
import { h } from '../dom.js';
import { askForTask } from '../enqueue-dialog.js';
import { counted, whole } from '../format.js';
import {
  button,
  empty,
  finder,
  heading,
  searchField,
  searchForm,
  sentence,
  sessionName,
  since,
  taskBadge,
  taskState,
  taskTable,
  to,
  when,
} from '../parts.js';
import { backlogOf, delayedOf } from '../queue-table.js';
import { dead, deadQuestion } from './dead.js';
import { finished, finishedQuestion } from './finished.js';

const STATES = /** @type {const} */ (['unfinished', 'ready', 'delayed', 'running', 'dead', 'finished']);
const DEFAULT_QUEUE = 'default';

/** @type {View} */
export const tasks = {
  title: 'Tasks',
  question({ query }, overview) {
    const queue = query.queue ?? firstQueue(overview);
    const filters = { queue, name: query.name, id: query.id };
    if (query.state === 'dead') return deadQuestion(query, filters);
    if (query.state === 'finished') return finishedQuestion(query, filters, overview.desk);
    return { path: 'tasks', query: { ...filters, state: query.state, after: query.after } };
  },
  draw(scene) {
    const { query, overview, mayAct } = scene;
    const queue = query.queue ?? firstQueue(overview);
    const state = query.state ?? 'unfinished';
    return [
      heading(
        'Tasks',
        h('small', 'queue ', h('b', queue)),
        mayAct && [
          button('Cancel…', () => askToCancel(queue, scene.refresh), { 'aria-label': `Cancel… tasks of ${queue}` }),
          button('New task…', () => void askForTask({ queue }), { class: 'primary' }),
        ],
      ),
      h('div.tools', queueField(queue, overview), finders(queue, query)),
      tabs(queue, state, query, overview),
      state === 'dead' ? dead(scene) : state === 'finished' ? finished(scene, queue) : open(scene, state),
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
  return finder({
    label: 'Queue',
    name: 'queue',
    value: queue,
    hint: 'its name',
    known: [...queues.map((figures) => figures.queue), ...unseen],
    onask: (name) => go({ queue: name === '' ? undefined : name }),
  });
}

/** @param {Record<string, string | undefined>} query */
function go(query) {
  location.hash = to('tasks', query);
}

/**
 * @param {string} queue
 * @param {Record<string, string>} query
 */
function finders(queue, query) {
  const { state } = query;
  /**
   * @param {string} label
   * @param {string} name
   * @param {string} hint
   */
  const input = (label, name, hint) =>
    searchField(
      label,
      { name, value: query[name] ?? '', placeholder: hint, 'data-find': name === 'id' },
      { class: 'finder', 'data-key': name },
    );
  return searchForm(
    { class: 'finders', 'aria-label': 'Find tasks' },
    (text) => void find(queue, { state, name: text('name').trim() || undefined, id: text('id').trim() || undefined }),
    state === 'finished'
      ? input('Part of an id, label or key', 'id', 'order o-7')
      : input('Id, or its start', 'id', 'thumbnail-42'),
    input('Name, or its start', 'name', 'resize'),
    h('button', { type: 'submit' }, 'Find'),
  );
}

/**
 * A whole id leads to its task, in whatever state; the start of one to a list.
 * @param {string} queue
 * @param {{ state: string | undefined, name: string | undefined, id: string | undefined }} wanted
 */
async function find(queue, wanted) {
  const { id } = wanted;
  const isThere =
    id !== undefined &&
    (await ask('task', { queue, id }).then(
      () => true,
      () => false,
    ));
  if (isThere) location.hash = to('task', { queue, id });
  else go({ queue, ...wanted });
}

/**
 * @param {string} queue
 * @param {string} current
 * @param {Record<string, string>} query
 * @param {Scene['overview']} overview
 */
function tabs(queue, current, { name, id }, { queues }) {
  const figures = queues.find((one) => one.queue === queue);
  return h(
    'nav.tabs',
    { 'aria-label': 'States' },
    STATES.map((state) => {
      const count = figures && countOf(state, figures);
      return h(
        'a',
        { href: to('tasks', { queue, state, name, id }), 'aria-current': state === current && 'page' },
        sentence(state),
        count !== undefined && [' ', h('span.count', count)],
      );
    }),
  );
}

/**
 * As far as the last poll of the queue has counted.
 * @param {typeof STATES[number]} state
 * @param {QueueFigures} figures
 */
function countOf(state, figures) {
  const { running, checked, isMore, dead: deadTasks } = figures;
  const due = backlogOf(figures);
  const isWhole = checked >= due && !isMore;
  switch (state) {
    case 'ready':
      return `${isWhole ? '' : isMore ? '≥ ' : '≈ '}${whole(due - running)}`;
    case 'running':
      return counted({ count: running, isMore: !isWhole });
    case 'delayed':
      return counted(delayedOf(figures));
    case 'dead':
      return counted(deadTasks);
  }
  return undefined;
}

/**
 * @param {Scene} scene
 * @param {string} state
 */
function open({ data, query }, state) {
  /** @type {TaskPage} */
  const page = data;
  return [page.tasks.length === 0 ? nothing(page, query, state) : list(page), pager(page, query, state)];
}

/** @param {TaskPage} page */
function list({ queue, tasks: lines, now }) {
  return taskTable('Tasks', lines, { queue, now }, (columns) => [
    columns.id,
    columns.name,
    columns.label,
    {
      title: 'state',
      cell: (task) => [
        taskBadge(taskState(task, now)),
        task.isCancelling && ' cancelling',
        task.isInLine && ' in line',
      ],
    },
    columns.priority,
    columns.tenant,
    columns.attempts,
    { title: 'due', class: 'number', cell: (task) => !task.waitsForChildren && when(task.readyAt, now) },
    { title: 'worker', class: 'held', cell: (task) => held(task, now) },
    columns.error,
  ]);
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
 * @param {Record<string, string>} query
 * @param {string} state
 */
function nothing({ queue, checked, next }, { name, id }, state) {
  if (next !== undefined)
    return empty(
      'No match in the entries checked so far.',
      `${whole(checked)} index entries were checked; the next page has more.`,
    );
  const filters = name === undefined && id === undefined ? '' : ' with such a name or id';
  return empty(
    `No ${state} tasks${filters}.`,
    'What has ended is under Dead and Finished. Add a task here, or by command: ',
    h('code', `leasehold enqueue --queue ${queue} …`),
  );
}

/**
 * @param {TaskPage} page
 * @param {Record<string, string>} query
 * @param {string} state
 */
function pager({ queue, tasks: lines, next }, { after, name, id }, state) {
  if (lines.length === 0 && next === undefined && after === undefined) return undefined;
  return h(
    'p.pager',
    after !== undefined && h('a', { href: to('tasks', { queue, state, name, id }) }, 'First page'),
    h(
      'span.quiet',
      next === undefined
        ? `${whole(lines.length)} shown; no more`
        : `${whole(lines.length)} shown, the oldest of each shard; there are more`,
    ),
    next !== undefined && h('a', { href: to('tasks', { queue, state, name, id, after: next }) }, 'Next page'),
  );
}
