/** Sessions: who lives, when each was heard of last, and what it holds. */

/** @import { SessionLine, SessionPage } from '../../model.ts' */
/** @import { Scene, View } from '../app.js' */
import { actButton } from '../act-dialog.js';
import { h } from '../dom.js';
import { plural, span, whole } from '../format.js';
import { badge, empty, heading, holdingLink, sessionName, since, standingBadge, tableOf, when } from '../parts.js';

const HELD_SHOWN = 8;

/** @type {View} */
export const sessions = {
  title: 'Sessions',
  question: () => ({ path: 'sessions' }),
  draw(scene) {
    /** @type {SessionPage} */
    const page = scene.data;
    const living = page.sessions.filter(({ endedAt }) => endedAt === undefined);
    const ended = page.sessions.filter(({ endedAt }) => endedAt !== undefined);
    return [
      heading('Sessions', h('small', {}, walked(page))),
      living.length === 0
        ? empty('No live sessions.', 'A session is listed while a worker runs or a program holds a lock or a permit.')
        : livingTable(living, page.now, scene),
      ended.length > 0 && [h('h2', {}, 'Recently ended'), endedTable(ended, page.now)],
    ];
  },
};

/** @param {SessionPage} page */
function walked({ walk, sessions: shown }) {
  const living = shown.filter(({ standing }) => standing === 'live').length;
  const so = walk.isComplete
    ? `all ${plural(walk.seen, 'listed session')} checked`
    : `${whole(walk.seen)} listed sessions checked so far`;
  return `${whole(living)} live; ${so}`;
}

/**
 * @param {readonly SessionLine[]} lines
 * @param {number} now
 * @param {Scene} scene
 */
function livingTable(lines, now, { mayAct, refresh }) {
  return tableOf(
    'Live sessions',
    [
      { title: 'session', class: 'who', cell: who },
      { title: 'status', cell: ({ standing }) => standingBadge(standing) },
      { title: 'heartbeat', cell: (line) => heartbeat(line, now) },
      { title: 'age', class: 'number', cell: ({ createdAt }) => since(createdAt, now) },
      { title: 'holds', class: 'wide', cell: ({ holds }) => held(holds) },
      ...(mayAct ? [{ title: 'actions', cell: (/** @type {SessionLine} */ line) => endButton(line, refresh) }] : []),
    ],
    lines,
    ({ id }) => id,
  );
}

/** @param {SessionLine} line */
function who({ id, name, node }) {
  return [
    h('b', {}, name),
    h('small', { class: 'below' }, 'on ', h('span', { class: 'node', title: node }, node), ' ', sessionName(id)),
  ];
}

/**
 * How much of its TTL has passed since its last heartbeat.
 * @param {SessionLine} line
 * @param {number} now
 */
function heartbeat({ renewedAt, ttlMs }, now) {
  if (renewedAt === null || ttlMs === null) return 'no TTL: lives until destroyed';
  const age = Math.max(0, now - renewedAt);
  const share = Math.min(1, age / ttlMs);
  const tone = share < 0.6 ? 'good' : share < 1 ? 'warning' : 'bad';
  return h(
    'span',
    { class: 'beat' },
    h('span', { class: `meter ${tone}`, '--share': share, 'aria-hidden': 'true' }),
    `${span(age)} of ${span(ttlMs)}`,
  );
}

/** @param {SessionLine['holds']} holds */
function held(holds) {
  if (holds.length === 0) return h('span', { class: 'quiet' }, 'holds nothing');
  const rest = holds.length - HELD_SHOWN;
  return h(
    'span',
    { class: 'chips' },
    holds.slice(0, HELD_SHOWN).map(holdingLink),
    rest > 0 && h('span', { class: 'quiet' }, `and ${rest} more`),
  );
}

/**
 * @param {SessionLine} line
 * @param {() => void} refresh
 */
function endButton({ id, name, node, lockDelayMs }, refresh) {
  return actButton('Destroy…', {
    title: `Destroy session ${name}`,
    consequence: `Session ${id} on ${node} learns of it with its next heartbeat. All that it holds becomes free after its lock-delay of ${span(lockDelayMs)}. This cannot be undone.`,
    confirm: 'Destroy session',
    act: { verb: 'session.destroy', id },
    onDone: refresh,
    class: 'small',
  });
}

/**
 * @param {readonly SessionLine[]} lines
 * @param {number} now
 */
function endedTable(lines, now) {
  return tableOf(
    'Recently ended sessions',
    [
      { title: 'session', class: 'who', cell: who },
      { title: 'reason', cell: ({ reason = 'ended' }) => badge(reason, reason === 'ended' ? 'quiet' : 'bad') },
      { title: 'lived', class: 'number', cell: ({ createdAt, endedAt = 0 }) => span(endedAt - createdAt) },
      { title: 'ended', class: 'number', cell: ({ endedAt = 0 }) => when(endedAt, now) },
    ],
    lines,
    ({ id }) => id,
  );
}
