/** Dead tasks, grouped by name and error: which kinds there are, how many of each, and retrying one kind. */

/** @import { ConnectionInfo, DeadGroup, DeadPage } from '../../model.ts' */
/** @import { Question, Scene } from '../app.js' */
import { actButton } from '../act-dialog.js';
import { h } from '../dom.js';
import { counted, plural, whole } from '../format.js';
import { button, empty, taskTable, to, when } from '../parts.js';

/** Queues whose dead tasks a person wants to read completely, at any price. @type {Set<string>} */
const wanted = new Set();

/**
 * @param {Record<string, string>} query
 * @param {{ readonly queue: string, readonly name: string | undefined, readonly id: string | undefined }} filters
 * @returns {Question}
 */
export function deadQuestion({ fault }, filters) {
  return { path: 'dead', query: { ...filters, fault, whole: wanted.has(filters.queue) ? 'yes' : undefined } };
}

/** @param {Scene} scene */
export function dead(scene) {
  /** @type {DeadPage} */
  const page = scene.data;
  const { groups, listed } = page;
  if (listed.count === 0 && !listed.isMore)
    return empty('No dead tasks.', 'A task is dead once its attempts are used up, or when its code says so.');
  return [
    progress(page, scene),
    groups.length === 0 && empty('No match.', 'None of the dead tasks that were read is like this.'),
    groups.map((group) => groupOf(group, page, scene)),
  ];
}

/**
 * @param {DeadPage} page
 * @param {Scene} scene
 */
function progress({ queue, groups, listed, read, unitsLeft }, { query, refresh }) {
  const count = groups.reduce((sum, group) => sum + group.count, 0);
  const isAll = read === listed.count && !listed.isMore;
  return h(
    'p.pager',
    h('span', `${plural(count, 'dead task')} in ${plural(groups.length, 'group')}`),
    query.fault !== undefined && h('a', { href: to('tasks', { queue, state: 'dead' }) }, 'All groups'),
    !isAll && h('span.quiet', `${whole(read)} of ${counted(listed)} read so far; the page reads on`),
    !isAll &&
      button(
        `Read the rest now (about ${whole(unitsLeft)} units)`,
        () => {
          wanted.add(queue);
          refresh();
        },
        { class: 'small' },
      ),
  );
}

/**
 * @param {DeadGroup} group
 * @param {DeadPage} page
 * @param {Scene} scene
 */
function groupOf(group, { queue, now }, { mayAct, refresh, query }) {
  const { name, fault, count, firstAt, lastAt, tasks: lines } = group;
  const rest = count - lines.length;
  return h(
    'section.group',
    { 'data-key': `${name} ${fault}`, 'data-row': true },
    h(
      'details',
      { open: query.fault !== undefined },
      h(
        'summary',
        h('b.number', whole(count)),
        h('b', name),
        h('span.fault', fault),
        h('small', count > 1 && ['first ', when(firstAt, now), ', '], count > 1 ? 'last ' : '', when(lastAt, now)),
      ),
      taskTable(`Dead tasks: ${name}, ${fault}`, lines, { queue, now }, (columns) => {
        const { id, ended, attempts, priority, label, tenant, error } = columns;
        return [id, { ...ended, title: 'died' }, attempts, priority, label, tenant, { ...error, title: 'error' }];
      }),
      rest > 0 &&
        h(
          'p.pager',
          `The latest ${whole(lines.length)} of ${whole(count)}. `,
          query.fault === undefined &&
            h('a', { href: to('tasks', { queue, state: 'dead', name, fault }) }, 'Show more'),
        ),
    ),
    mayAct &&
      actButton(`Retry ${whole(count)}…`, {
        title: `Retry ${plural(count, 'dead task')}: ${name}`,
        target: `${name}: ${fault}`,
        consequence: `Every task ${name} of queue ${queue} that was dead by now with “${fault}” becomes ready again, with all its attempts; its history is kept.`,
        confirm: `Retry ${plural(count, 'task')}`,
        act: { verb: 'queue.retry', queue, name, fault, diedUntil: now },
        onDone: refresh,
        class: 'small',
      }),
  );
}
