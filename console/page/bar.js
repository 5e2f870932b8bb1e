/** The bar: where one can go, and how the console stands. */

/** @import { Overview } from '../model.ts' */
/** @import { Child } from './dom.js' */
import { h } from './dom.js';
import { rate, whole } from './format.js';
import { button, to } from './parts.js';

const PAGES = /** @type {const} */ ([
  ['overview', 'Overview'],
  ['queues', 'Queues'],
  ['tasks', 'Tasks'],
  ['sessions', 'Sessions'],
  ['locks', 'Locks'],
  ['semaphores', 'Semaphores'],
  ['schedules', 'Schedules'],
  ['audit', 'Audit'],
]);

const FEED = {
  live: ['live', 'Live', 'pause the updates'],
  stale: ['stale', 'Not up to date', 'pause the updates'],
  opening: ['waiting', 'Connecting', 'pause the updates'],
  resting: ['waiting', 'Paused while hidden', 'pause the updates'],
  paused: ['paused', 'Paused', 'go on with the updates'],
  lost: ['lost', 'Reconnecting…', 'pause the updates'],
};

/**
 * @param {string} page
 * @param {{ readonly overview?: Overview, readonly feed: Exclude<keyof typeof FEED, 'stale'>, readonly isStale: boolean }} state
 * @param {{ readonly pause: () => void, readonly help: () => void }} on
 * @returns {Child}
 */
export function bar(page, { overview, feed, isStale }, on) {
  const [tone, text, act] = FEED[isStale && feed === 'live' ? 'stale' : feed];
  const current = page === 'task' ? 'tasks' : page;
  return [
    h(
      'a.brand',
      { href: to('overview') },
      h('img', { src: 'icon.svg', alt: '', width: 24, height: 24 }),
      h('span', 'Leasehold'),
    ),
    h(
      'nav',
      { 'aria-label': 'Pages' },
      PAGES.map(([name, title], index) =>
        h(
          'a',
          {
            href: to(name),
            'aria-current': name === current && 'page',
            'aria-keyshortcuts': String(index + 1),
            'data-title': title,
          },
          title,
          attention(name, overview),
        ),
      ),
    ),
    h(
      'div.standing',
      h(
        'button',
        {
          type: 'button',
          class: `feed ${tone}`,
          'data-key': 'feed',
          'aria-label': `${text}: ${act}`,
          onclick: on.pause,
        },
        h('i'),
        h('span', text),
      ),
      button('Keys and times', on.help, { class: 'plain' }),
      overview && [
        h('span.table-name', overview.desk.table),
        h('span.place', overview.desk.place),
        overview.desk.isReadOnly && h('span.badge.quiet', 'read-only'),
        h(
          'span.units',
          `Console cost: ${whole(overview.units.total)} read units (${rate(overview.units.perSecond)}/s)`,
        ),
      ],
    ),
  ];
}

/**
 * Returns the items that need attention, for links on the current page.
 * @param {string} page
 * @param {Overview | undefined} overview
 */
function attention(page, overview) {
  if (overview === undefined || page !== 'queues') return undefined;
  const paused = overview.queues.filter(({ isPaused }) => isPaused).length;
  return paused > 0 && h('span.badge.warning', paused, h('span.unseen', ' paused'));
}
