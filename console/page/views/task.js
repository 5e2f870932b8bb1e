/** One task: who has it, since when, what happened to it before, and what it carries. */

/** @import { Child } from '../dom.js' */
/** @import { TaskView } from '../../model.ts' */
/** @import { Scene, View } from '../app.js' */
import { actButton } from '../act-dialog.js';
import { h } from '../dom.js';
import { span, whole } from '../format.js';
import { code, factsOf, heading, json, standingBadge, taskBadge, taskState, to, when } from '../parts.js';
import { attemptsTable, timeline } from '../timeline.js';
import { attemptsOf } from '../waterfall.js';

/** @type {View} */
export const task = {
  title: 'Task',
  question: ({ query }) => ({ path: 'task', query: { queue: query.queue, id: query.id } }),
  draw(scene) {
    /** @type {TaskView} */
    const { task: found, failure, now, holder, items } = scene.data;
    const attempts = attemptsOf(found, now);
    return [
      h('p', { class: 'trail' }, h('a', { href: to('tasks', { queue: found.queue }) }, `Tasks of ${found.queue}`)),
      heading(found.id, taskBadge(taskState(found, now)), scene.mayAct && acts(found, scene)),
      facts(found, now),
      items && h('p', { class: 'note holder' }, itemsText(items)),
      holder && holderCard(holder, now),
      h('h2', {}, 'Attempts'),
      timeline(found, now),
      attempts.length === 0 ? h('p', { class: 'quiet' }, 'Not started yet.') : attemptsTable(attempts, now),
      found.lastError && [
        h('h2', {}, 'Last error'),
        h(
          'p',
          { class: 'error-text' },
          h('b', {}, found.lastError.name),
          ` ${found.lastError.message}`,
          h('small', {}, when(found.lastError.at, now)),
        ),
        failure && [
          h('p', { class: 'quiet' }, `Stack of the attempt with token ${failure.leaseCounter}:`),
          h('pre', { class: 'json', tabindex: 0 }, failure.stack),
        ],
      ],
      h('h2', {}, 'Input'),
      found.payload === undefined ? json(found.input) : payloadNote(found.payload),
      found.progress !== undefined && [h('h2', {}, 'Progress'), json(found.progress)],
      found.state === 'done' && [
        h('h2', {}, 'Result'),
        found.result === undefined ? h('p', { class: 'quiet' }, 'No result.') : json(found.result),
      ],
    ];
  },
};

/**
 * @param {TaskView['task']} found
 * @param {number} now
 */
function facts(found, now) {
  const { cancellation, generation, attempts, deaths, failingSince } = found;
  return factsOf([
    ['task', found.name],
    ['queue', h('a', { href: to('tasks', { queue: found.queue }) }, found.queue)],
    ['priority', found.priority],
    ['tenant', found.tenant],
    [
      'attempts',
      `${attempts}${deaths > 0 ? `, of which ${deaths} killed their workers` : ''}${generation > 0 ? `, redriven ${generation} ${generation === 1 ? 'time' : 'times'}` : ''}`,
    ],
    ['failing since', failingSince === undefined ? undefined : when(failingSince, now)],
    ['token', h('span', { class: 'counter' }, found.leaseCounter)],
    ['created', when(found.createdAt, now)],
    ['due', 'readyAt' in found ? when(found.readyAt, now) : undefined],
    ['expires', found.state === 'ready' && found.expiresAt !== undefined ? when(found.expiresAt, now) : undefined],
    ['claimed', found.claimedAt === undefined ? undefined : when(found.claimedAt, now)],
    ['finished', 'finishedAt' in found ? when(found.finishedAt, now) : undefined],
    ['session', found.session === undefined ? undefined : code(found.session)],
    ['cancelled', cancellation && [when(cancellation.at, now), `: ${cancellation.reason}`]],
  ]);
}

/** @param {NonNullable<TaskView['items']>} items */
function itemsText({ total, done, moved, cancelled }) {
  const open = total - done - moved - cancelled;
  return `A pack of ${total} items: ${done} done, ${open} open, ${moved} moved to tasks of their own, ${cancelled} cancelled.`;
}

/** @param {NonNullable<TaskView['task']['payload']>} payload */
function payloadNote({ bytes, reference }) {
  const place = reference === undefined ? 'in a row beside the task' : `in a store of your own, as ${reference}`;
  return h('p', { class: 'quiet' }, `${whole(bytes)} bytes, ${place}.`);
}

/**
 * @param {NonNullable<TaskView['holder']>} holder
 * @param {number} now
 */
function holderCard({ id, name, node, standing, renewedAt, ttlMs }, now) {
  return h(
    'p',
    { class: 'note holder' },
    'Claimed by ',
    h('b', {}, name),
    ' on ',
    h('b', {}, node),
    ' ',
    standingBadge(standing),
    renewedAt === null || ttlMs === null
      ? ' No expiry.'
      : ` Last heartbeat ${span(now - renewedAt)} ago, of a TTL of ${span(ttlMs)}. `,
    h('code', {}, id),
  );
}

/**
 * What can be done to it in its state.
 * @param {TaskView['task']} found
 * @param {Scene} scene
 * @returns {Child}
 */
function acts(found, { data: { now }, refresh }) {
  const { queue, id, leaseCounter, state } = found;
  const act = (/** @type {'task.retry' | 'task.redrive' | 'task.cancel'} */ verb) => ({
    verb,
    queue,
    id,
    leaseCounter,
  });
  const isWaiting = state === 'ready' && found.readyAt > now;
  return [
    isWaiting &&
      actButton('Run now…', {
        title: `Make ${id} due now`,
        consequence: 'The task is due at once; a worker claims it with its next look.',
        confirm: 'Run task now',
        act: act('task.retry'),
        onDone: refresh,
      }),
    (state === 'dead' || state === 'cancelled') &&
      actButton('Redrive…', {
        title: `Redrive ${id}`,
        consequence: 'The task becomes ready, with all its attempts; its history and its token are kept.',
        confirm: 'Redrive task',
        act: act('task.redrive'),
        onDone: refresh,
      }),
    (state === 'ready' || state === 'running') &&
      actButton('Cancel…', {
        title: `Cancel ${id}`,
        consequence:
          state === 'running'
            ? 'Its worker learns of it with its next heartbeat and stops, unless the task completes first.'
            : 'The task will not run.',
        confirm: 'Cancel task',
        act: act('task.cancel'),
        onDone: refresh,
      }),
  ];
}
