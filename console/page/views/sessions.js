/** Sessions: live ones, their last heartbeats, and their holdings. */

/** @import { SessionLine, SessionPage } from '../../model.ts' */
/** @import { Scene, View } from '../app.js' */
import { actButton } from '../act-dialog.js';
import { h } from '../dom.js';
import { forceConsequence, forcing } from '../force.js';
import { age, plural, span, whole } from '../format.js';
import { badge, empty, heading, holderOf, holdingLink, since, standingBadge, tableOf, when } from '../parts.js';

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
      heading('Sessions', h('small', walked(page))),
      living.length === 0
        ? empty('No live sessions.', 'A session is listed while a worker runs or a program holds a lock or a permit.')
        : livingTable(living, page.now, scene),
      ended.length > 0 && [h('h2', 'Recently ended'), endedTable(ended, page.now)],
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
      { title: 'session', class: 'holder', cell: who },
      { title: 'status', cell: ({ standing }) => standingBadge(standing) },
      { title: 'heartbeat', cell: (line) => heartbeat(line, now) },
      { title: 'age', class: 'number', cell: ({ createdAt }) => since(createdAt, now) },
      { title: 'holds', class: 'wide', cell: ({ holds }) => held(holds) },
      { title: 'actions', cell: (line) => mayAct && endButton(line, refresh) },
    ],
    lines,
    ({ id }) => id,
  );
}

/** @param {SessionLine} line */
function who({ id, name, node }) {
  return holderOf({ name, node, session: id });
}

/**
 * How much of its TTL has passed since its last heartbeat.
 * @param {SessionLine} line
 * @param {number} now
 */
function heartbeat({ renewedAt, ttlMs }, now) {
  if (renewedAt === null || ttlMs === null) return 'no TTL';
  const passed = Math.max(0, now - renewedAt);
  const share = Math.min(1, passed / ttlMs);
  const tone = share < 0.6 ? 'busy' : share < 1 ? 'warning' : 'bad';
  return h(
    'span.beat',
    h('span.meter', { 'aria-hidden': 'true' }, h('i', { class: tone, '--share': share })),
    `${age(passed)} of ${span(ttlMs)}`,
  );
}

/** @param {SessionLine['holds']} holds */
function held(holds) {
  if (holds.length === 0) return h('span.quiet', 'holds nothing');
  /** @type {Map<string, { holding: SessionLine['holds'][number], times: number }>} */
  const alike = new Map();
  for (const holding of holds) {
    const key = JSON.stringify([holding.kind, holding.name, holding.queue]);
    alike.set(key, { holding, times: (alike.get(key)?.times ?? 0) + 1 });
  }
  const chips = [...alike.values()];
  const rest = chips.length - HELD_SHOWN;
  return h(
    'span.chips',
    chips.slice(0, HELD_SHOWN).map(({ holding, times }) => holdingLink(holding, times)),
    rest > 0 && h('span.quiet', `and ${rest} more`),
  );
}

/**
 * @param {SessionLine} line
 * @param {() => void} refresh
 */
function endButton({ id, name, node }, refresh) {
  return actButton('Destroy…', {
    title: `Destroy session ${name}`,
    target: `${name} on ${node}, session ${id}`,
    ...forcing(),
    consequence: `Session ${id} on ${node} ends. ${forceConsequence('All that it holds opens')}`,
    confirm: 'Destroy session',
    act: { verb: 'session.destroy', id },
    onDone: refresh,
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
      { title: 'session', class: 'holder', cell: who },
      {
        title: 'reason',
        cell: ({ reason = 'ended' }) => badge(reason, ['ended', 'destroyed'].includes(reason) ? 'quiet' : 'bad'),
      },
      { title: 'lived', class: 'number', cell: ({ createdAt, endedAt = 0 }) => span(endedAt - createdAt) },
      { title: 'ended', class: 'number', cell: ({ endedAt = 0 }) => when(endedAt, now) },
    ],
    lines,
    ({ id }) => id,
  );
}
