/** Semaphores: their slots, who sits in them, and who waits. */

/** @import { SemaphorePage } from '../../model.ts' */
/** @import { Scene, View } from '../app.js' */
import { actButton } from '../act-dialog.js';
import { h } from '../dom.js';
import { forceConsequence, forcing } from '../force.js';
import { plural, whole } from '../format.js';
import { badge, empty, heading, holderOf, prefixFinder, since, tableOf } from '../parts.js';

/** @typedef {SemaphorePage['semaphores'][number]} Semaphore */
/** @typedef {Semaphore['holders'][number]} Holder */

const SLOTS_DRAWN = 120;

/** @type {View} */
export const semaphores = {
  title: 'Semaphores',
  question: ({ query }) => ({ path: 'semaphores', query: { prefix: query.prefix } }),
  draw(scene) {
    /** @type {SemaphorePage} */
    const page = scene.data;
    const { prefix = '' } = scene.query;
    return [
      heading('Semaphores'),
      prefixFinder('semaphores', { prefix, hint: 'workers/', shown: page.semaphores.length, isMore: page.isMore }),
      page.semaphores.length === 0
        ? empty(
            prefix === '' ? 'No semaphores yet.' : `No matching semaphores for the prefix ${prefix}.`,
            'A semaphore is listed from its first contender on: ',
            h('code', 'leasehold run --semaphore uploads=5 -- ./upload.sh'),
          )
        : h(
            'div.cards',
            page.semaphores.map((semaphore) => card(semaphore, page.now, scene)),
          ),
    ];
  },
};

/**
 * @param {Semaphore} semaphore
 * @param {number} now
 * @param {Scene} scene
 */
function card(semaphore, now, scene) {
  const { name, limit, declared, inUse, holders, waiting, lastEviction } = semaphore;
  return h(
    'section.card',
    { 'data-key': name, 'data-row': true, 'aria-label': `semaphore ${name}` },
    h(
      'header',
      h('h2', name),
      badge(`${whole(inUse)} of ${whole(limit)}`, inUse >= limit ? 'warning' : 'quiet'),
      limit !== declared && h('small', `declared ${whole(declared)}`),
    ),
    slots(semaphore),
    waiting.length > 0 && h('p.note.warning', `${whole(waiting.length)} waiting`),
    lastEviction && h('p.quiet', `Last eviction by ${lastEviction.by}: ${lastEviction.reason}`),
    holders.length > 0 &&
      h('details', h('summary', plural(holders.length, 'holder')), holdersTable(semaphore, now, scene)),
  );
}

/** A square for each permit. @param {Semaphore} semaphore */
function slots({ limit, holders }) {
  if (limit > SLOTS_DRAWN) return undefined;
  const taken = holders.flatMap((holder) => Array.from({ length: holder.permits }, () => kindOf(holder)));
  const free = Array.from({ length: Math.max(0, limit - taken.length) }, () => 'free');
  return h(
    'div.slots',
    { role: 'img', 'aria-label': `${taken.length} of ${limit} permits taken` },
    [...taken, ...free].map((kind) => h('i', { class: kind })),
  );
}

/** @param {Holder} holder */
function kindOf({ standing, closedUntil }) {
  if (closedUntil !== undefined) return 'closed';
  return standing === 'live' ? 'taken' : standing === 'closed' ? 'closed' : 'dead';
}

/** @type {Readonly<Record<Holder['standing'], string>>} */
const STANDINGS = {
  live: 'live',
  expired: 'expired',
  closed: 'closed (lock-delay)',
  free: 'released',
  damaged: 'damaged',
};

/** @param {Holder} holder */
function standingOf({ standing, closedUntil }) {
  return closedUntil === undefined ? STANDINGS[standing] : 'evicted';
}

/**
 * @param {Semaphore} semaphore
 * @param {number} now
 * @param {Scene} scene
 */
function holdersTable({ name, holders }, now, { mayAct, refresh }) {
  return tableOf(
    `Holders of ${name}`,
    [
      {
        title: 'holder',
        class: 'holder',
        cell: ({ sessionName: name, node, session, token }) => holderOf({ name, node, session, token }),
      },
      {
        title: 'state',
        cell: (holder) => badge(standingOf(holder), kindOf(holder) === 'taken' ? 'busy' : 'bad'),
      },
      { title: 'permits', class: 'number', cell: ({ permits }) => permits },
      { title: 'since', class: 'number', cell: (holder) => since(holder.since, now) },
      { title: 'actions', cell: (holder) => mayAct && evictButton(name, holder, refresh) },
    ],
    holders,
    ({ token }) => String(token),
  );
}

/**
 * @param {string} name
 * @param {Holder} holder
 * @param {() => void} refresh
 */
function evictButton(name, { token, sessionName: who = 'unknown', node = 'unknown', closedUntil }, refresh) {
  if (closedUntil !== undefined) return undefined;
  return actButton('Evict…', {
    title: `Evict permit of ${name}`,
    target: `${who} on ${node}, token ${token}`,
    ...forcing(),
    consequence: `${who} on ${node} loses its permit. ${forceConsequence('Its place opens')}`,
    confirm: 'Evict',
    act: { verb: 'semaphore.evict', name, leaseCounter: token },
    onDone: refresh,
  });
}
