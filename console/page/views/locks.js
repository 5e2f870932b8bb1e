/** Locks, and those among them that are leaderships. */

/** @import { LockPage } from '../../model.ts' */
/** @import { Scene, View } from '../app.js' */
import { actButton } from '../act-dialog.js';
import { h } from '../dom.js';
import { forceConsequence, forcing } from '../force.js';
import { age } from '../format.js';
import { badge, empty, heading, holderOf, prefixFinder, since, tableOf } from '../parts.js';

/** @typedef {LockPage['locks'][number]} Lock */

/** As the library names the locks of elections. */
const ELECTION = 'election/';

/** @type {View} */
export const locks = {
  title: 'Locks',
  question: ({ query }) => ({ path: 'locks', query: { prefix: query.prefix } }),
  draw(scene) {
    /** @type {LockPage} */
    const page = scene.data;
    const { prefix = '' } = scene.query;
    const leaders = page.locks.filter(({ key }) => key.startsWith(ELECTION));
    const others = page.locks.filter(({ key }) => !key.startsWith(ELECTION));
    return [
      heading('Locks and leaders'),
      prefixFinder('locks', { prefix, hint: 'reports/', shown: page.locks.length, isMore: page.isMore }),
      leaders.length > 0 && [
        h('h2', 'Leaders'),
        table(leaders, page, scene, { caption: 'Leaders', name: 'election', strip: ELECTION.length }),
      ],
      leaders.length > 0 && others.length > 0 && h('h2', 'Locks'),
      others.length > 0 && table(others, page, scene, { caption: 'Locks', name: 'key', strip: 0 }),
      page.locks.length === 0 &&
        empty(
          prefix === '' ? 'No locks yet.' : `No matching locks for the prefix ${prefix}.`,
          'A lock is listed from its first acquire on: ',
          h('code', 'leasehold run --lock nightly -- ./nightly.sh'),
        ),
    ];
  },
};

/**
 * @param {readonly Lock[]} rows
 * @param {LockPage} page
 * @param {Scene} scene
 * @param {{ caption: string, name: string, strip: number }} words
 */
function table(rows, { now }, { mayAct, refresh }, words) {
  return tableOf(
    words.caption,
    [
      {
        title: words.name,
        class: 'wide',
        cell: (lock) => [lock.key.slice(words.strip), forced(lock, now)],
      },
      { title: 'state', cell: (lock) => stateBadge(lock, now) },
      {
        title: 'holder',
        class: 'holder',
        cell: ({ holder }) => holder && holderOf({ ...holder, token: holder.leaseCounter }),
      },
      { title: 'since', class: 'number', cell: ({ holder }) => holder && since(holder.since, now) },
      { title: 'value', class: 'text', cell: ({ value }) => value },
      { title: 'actions', cell: (lock) => mayAct && releaseButton(lock, refresh) },
    ],
    rows,
    ({ key }) => key,
  );
}

/**
 * That it was taken away from its holder, the last time.
 * @param {Lock} lock
 * @param {number} now
 */
function forced({ lastForced }, now) {
  if (lastForced === undefined) return undefined;
  const { by, at, reason } = lastForced;
  return h('small.below', `force-released by ${by} ${age(now - at)} ago: ${reason}`);
}

/**
 * @param {Lock} lock
 * @param {number} now
 */
function stateBadge({ holder, closedUntil }, now) {
  if (holder !== undefined) return badge('held', 'busy');
  if (closedUntil <= now) return badge('free', 'quiet');
  return [badge('closed', 'warning'), h('small.below', `lock-delay, ${age(closedUntil - now)} left`)];
}

/**
 * @param {Lock} lock
 * @param {() => void} refresh
 */
function releaseButton({ key, holder }, refresh) {
  if (holder === undefined) return undefined;
  const { name, node, leaseCounter } = holder;
  return actButton('Force release…', {
    title: `Force release ${key}`,
    target: key,
    ...forcing(),
    consequence: `${name} on ${node} loses the lock: its token is refused at once. ${forceConsequence('The key opens')}`,
    confirm: 'Force release lock',
    act: { verb: 'lock.release', key, leaseCounter },
    onDone: refresh,
  });
}
