/** One task: its holder, its history, and its data. */

/** @import { Child } from '../dom.js' */
/** @import { TaskView } from '../../model.ts' */
/** @import { Scene, View } from '../app.js' */
import { actButton } from '../act-dialog.js';
import { h } from '../dom.js';
import { durable } from '../durable.js';
import { askForTask } from '../enqueue-dialog.js';
import { age, moment, plural, span, whole } from '../format.js';
import {
  button,
  copyable,
  factsOf,
  heading,
  json,
  standingBadge,
  taskBadge,
  taskLink,
  taskState,
  taskTable,
  to,
  when,
} from '../parts.js';
import { attemptsTable, timeline } from '../timeline.js';
import { attemptsOf } from '../waterfall.js';

/** @type {View} */
export const task = {
  title: 'Task',
  question({ query: { queue, id } }) {
    const isWanted = wanted.has(`${queue} ${id}`);
    return { path: 'task', query: { queue, id, children: isWanted ? 'yes' : undefined }, isOnce: isWanted };
  },
  draw(scene) {
    /** @type {TaskView} */
    const {
      task: found,
      failure,
      now,
      holder,
      parent,
      children,
      waitsForChildren,
      isSuspended,
      execution,
    } = scene.data;
    const attempts = attemptsOf(found, now);
    return [
      h(
        'p.trail',
        h('a', { href: to('tasks', { queue: found.queue }) }, `Tasks of ${found.queue}`),
        parent && [' · child of ', h('a', { href: to('task', { queue: parent.queue, id: parent.id }) }, parent.id)],
      ),
      heading(
        found.id,
        taskBadge(taskState({ ...found, waitsForChildren, isSuspended }, now)),
        scene.mayAct && acts(found, scene),
      ),
      facts(found, now, waitsForChildren),
      execution && durable(execution, scene),
      children && family(scene, waitsForChildren),
      holder && holderCard(holder, now),
      h('h2', 'Attempts'),
      timeline(found, now),
      attempts.length === 0
        ? h('p.quiet', execution ? 'Its invocations are in the execution.' : 'Not started yet.')
        : attemptsTable(attempts, scene.data),
      found.lastError && [
        h('h2', 'Last error'),
        h(
          'p.error-text',
          h('b', found.lastError.name),
          ` ${found.lastError.message}`,
          h('small', when(found.lastError.at, now)),
        ),
        failure && [
          h('p.quiet', `Stack of the attempt with token ${failure.leaseCounter}:`),
          h('pre.json', { role: 'region', tabindex: 0, 'aria-label': 'Stack' }, failure.stack),
        ],
      ],
      h('h2', 'Input'),
      found.payload === undefined ? json(found.input, 'Input') : payloadNote(found.payload),
      found.progress !== undefined && [h('h2', 'Progress'), json(found.progress, 'Progress')],
      found.state === 'done' && [
        h('h2', 'Result'),
        found.result === undefined ? h('p.quiet', 'No result.') : json(found.result, 'Result'),
      ],
    ];
  },
};

/**
 * @param {TaskView['task']} found
 * @param {number} now
 * @param {boolean} waitsForChildren
 */
function facts(found, now, waitsForChildren) {
  const { cancellation, generation, attempts, deaths, failingSince, follower } = found;
  return factsOf([
    ['id', copyable(found.id, 'the id')],
    ['name', found.name],
    ['queue', h('a', { href: to('tasks', { queue: found.queue }) }, found.queue)],
    ['priority', found.priority],
    ['tenant', found.tenant],
    ['label', found.label],
    ['schedule', found.schedule && `${found.schedule.name}, occurrence ${moment(found.schedule.at)}`],
    [
      'covers',
      found.schedule &&
        (found.schedule.since === undefined
          ? 'all until its occurrence'
          : `what came since ${moment(found.schedule.since)}`),
    ],
    [
      'attempts',
      `${attempts}${deaths > 0 ? `, of which ${deaths} killed ${deaths === 1 ? 'its worker' : 'their workers'}` : ''}${generation > 0 ? `, brought back ${plural(generation, 'time')}` : ''}`,
    ],
    ['failing since', when(failingSince, now)],
    ['token', h('span.counter', found.leaseCounter)],
    ['created', when(found.createdAt, now)],
    [
      'due',
      waitsForChildren ? 'when its children have ended' : 'readyAt' in found ? when(found.readyAt, now) : undefined,
    ],
    ['expires', found.state === 'ready' && when(found.expiresAt, now)],
    ['claimed', when(found.claimedAt, now)],
    ['finished', 'finishedAt' in found ? when(found.finishedAt, now) : undefined],
    ['session', found.session === undefined ? undefined : copyable(found.session, 'the session id')],
    [
      'followed by',
      follower && [
        `${follower.name}, asked for `,
        when(follower.at, now),
        follower.runAt > now && [', due ', when(follower.runAt, now)],
      ],
    ],
    ['spawned', found.state === 'done' && found.spawned && spawnedLinks(found.spawned)],
    ['cancelled', cancellation && [when(cancellation.at, now), `: ${cancellation.reason}`]],
  ]);
}

/** @param {{ readonly count: number, readonly first: readonly { readonly queue: string, readonly id: string }[] }} spawned */
function spawnedLinks({ count, first }) {
  const more = count - first.length;
  return [
    `${plural(count, 'task')}: `,
    first.map(({ queue, id }, nth) => [nth > 0 && ', ', taskLink(queue, id)]),
    more > 0 && `, and ${whole(more)} more`,
  ];
}

/** @param {NonNullable<TaskView['task']['payload']>} payload */
function payloadNote({ bytes, reference }) {
  const place = reference === undefined ? 'in its own row' : `in your own store, as ${reference}`;
  return h('p.quiet', `${whole(bytes)} bytes, ${place}.`);
}

/**
 * @param {NonNullable<TaskView['holder']>} holder
 * @param {number} now
 */
function holderCard({ id, name, node, standing, renewedAt, ttlMs }, now) {
  return h(
    'p.note.holder.busy',
    'Claimed by ',
    h('b', name),
    ' on ',
    h('b', node),
    ' ',
    standingBadge(standing),
    renewedAt === null || ttlMs === null
      ? ' No expiry.'
      : ` Last heartbeat ${age(now - renewedAt)} ago, of a TTL of ${span(ttlMs)}. `,
    h('code', id),
  );
}

/**
 * How far its children are, and which they are.
 * @param {Scene} scene
 * @param {boolean} waitsForChildren
 */
function family({ data, refresh }, waitsForChildren) {
  /** @type {TaskView} */
  const { task: found, children, offspring, scanUnits = null, now } = data;
  if (children === undefined) return undefined;
  const { total, pending, done, dead, cancelled } = children;
  const ends = /** @type {const} */ ([
    ['done', done],
    ['dead', dead],
    ['cancelled', cancelled],
  ]).flatMap(([name, count]) => (count === 0 ? [] : [`${whole(count)} ${name}`]));
  const rest = pending === 0 ? [] : [`${whole(pending)} not ended`];
  return [
    h('h2', 'Children'),
    h(
      'p',
      `${waitsForChildren ? 'Waits' : 'Waited'} for ${plural(total, 'child').replace('childs', 'children')}: ${[...ends, ...rest].join(', ')}.`,
    ),
    h(
      'span.stack.wide',
      { 'aria-hidden': 'true' },
      ends.map((text) =>
        h('i', { class: text.split(' ')[1], '--share': Number.parseInt(text.replaceAll(',', ''), 10) / total }),
      ),
    ),
    offspring === undefined
      ? found.children !== undefined && childrenOffer(`${found.queue} ${found.id}`, scanUnits, refresh)
      : taskTable('Children', offspring.tasks, { queue: found.queue, now }, (columns) => [
          columns.id,
          columns.name,
          { title: 'state', cell: (line) => taskBadge(taskState(line, now)) },
          columns.attempts,
          columns.ended,
          columns.error,
        ]),
  ];
}

/** Batches whose children a person has asked for, whatever that costs. @type {Set<string>} */
const wanted = new Set();

/**
 * @param {string} batch
 * @param {number | null} units
 * @param {() => void} refresh
 */
function childrenOffer(batch, units, refresh) {
  const list = () => {
    wanted.add(batch);
    refresh();
  };
  return h(
    'p.pager',
    button(
      `List them: read the table (${units === null ? 'its price is not known' : `about ${plural(units, 'unit')}`})`,
      list,
    ),
  );
}

/**
 * The actions for the task's state.
 * @param {TaskView['task']} found
 * @param {Scene} scene
 * @returns {Child}
 */
function acts(found, { data: { now, waitsForChildren }, refresh }) {
  const { queue, id, leaseCounter, state } = found;
  /** @param {'task.run-now' | 'task.retry' | 'task.cancel'} verb */
  const shared = (verb) => ({ target: id, act: { verb, queue, id, leaseCounter }, onDone: refresh });
  const isWaiting = state === 'ready' && found.readyAt > now && !waitsForChildren;
  return [
    found.payload === undefined &&
      button('Run again with this input…', () => void askForTask({ queue, name: found.name, input: found.input })),
    isWaiting &&
      actButton('Run now…', {
        ...shared('task.run-now'),
        title: `Make ${id} due now`,
        consequence: 'The task is due at once; a worker claims it with its next poll.',
        confirm: 'Run task now',
      }),
    (state === 'dead' || state === 'cancelled') &&
      actButton('Retry…', {
        ...shared('task.retry'),
        title: `Retry ${id}`,
        consequence: 'The task becomes ready, with all its attempts; its history and its token are kept.',
        confirm: 'Retry task',
      }),
    (state === 'ready' || state === 'running') &&
      actButton('Cancel…', {
        ...shared('task.cancel'),
        title: `Cancel ${id}`,
        isFinal: state === 'running',
        consequence:
          state === 'running'
            ? 'Its worker learns of it with its next heartbeat and stops, unless the task completes first.'
            : 'The task will not run.',
        confirm: 'Cancel task',
      }),
  ];
}
