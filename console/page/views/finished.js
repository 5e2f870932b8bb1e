/** Tasks that have ended. No index lists them, so the whole table is read: at once where that is free, and elsewhere after a click. */

/** @import { ConnectionInfo, ScanPage, ScanPrice } from '../../model.ts' */
/** @import { Question, Scene } from '../app.js' */
import { h } from '../dom.js';
import { plural, span, whole } from '../format.js';
import { button, empty, sentence, tableOf, taskBadge, taskLink, to, when } from '../parts.js';

/** Limit without a person's consent: about a cent. */
export const FREE_UNITS = 32_768;
/** Beyond the price that was named, because the table grows on. */
const MARGIN = 1.2;
const OUTCOMES = /** @type {const} */ (['done', 'dead', 'cancelled']);

/** Units that a person has agreed to, by view. @type {Map<string, number>} */
const agreed = new Map();

/**
 * A request that needs a scan: free on a local engine; elsewhere we ask for its price first.
 * @param {string} path
 * @param {Record<string, string | undefined>} query
 * @param {ConnectionInfo} desk
 * @returns {Question}
 */
export function scanQuestion(path, query, { isLocal }) {
  const units = isLocal ? FREE_UNITS : agreed.get(JSON.stringify([path, query]));
  if (units === undefined) return { path: 'price', isOnce: true };
  return { path, query: { ...query, units: String(units) }, isOnce: !isLocal };
}

/**
 * Shown until a person agrees to the price.
 * @param {string} path
 * @param {Record<string, string | undefined>} query
 * @param {ScanPrice} price
 * @param {() => void} refresh
 */
export function offer(path, query, { units }, refresh) {
  const bound = units === null ? FREE_UNITS : Math.ceil(units * MARGIN);
  const text = units === null ? `at most ${whole(bound)} units` : `about ${plural(units, 'unit')}`;
  return empty(
    'These tasks are in no index.',
    h('span', {}, 'To find them, the whole table is read, once. '),
    button(
      `Read the table (${text})`,
      () => {
        agreed.set(JSON.stringify([path, query]), bound);
        refresh();
      },
      { class: 'primary' },
    ),
  );
}

/**
 * @param {Record<string, string>} query
 * @param {{ readonly queue: string, readonly name: string | undefined, readonly id: string | undefined }} filters
 * @param {ConnectionInfo} desk
 */
export function finishedQuestion({ outcome }, filters, desk) {
  return scanQuestion('finished', { ...filters, outcome }, desk);
}

/**
 * @param {Scene} scene
 * @param {string} queue
 */
export function finished({ query, data, refresh }, queue) {
  const { outcome, name, id } = query;
  if (!('tasks' in data)) return offer('finished', { queue, name, id, outcome }, data, refresh);
  /** @type {ScanPage} */
  const page = data;
  return [
    h(
      'nav',
      { class: 'tabs', 'aria-label': 'Outcomes' },
      [undefined, ...OUTCOMES].map((one) =>
        h(
          'a',
          {
            href: to('tasks', { queue, state: 'finished', name, id, outcome: one }),
            'aria-current': one === outcome && 'true',
          },
          sentence(one ?? 'all'),
        ),
      ),
    ),
    page.tasks.length === 0
      ? empty('No finished tasks.', 'A task that has ended is kept for 14 days.')
      : tableOf(
          'Finished tasks',
          [
            { title: 'id', class: 'wide', cell: ({ id: one }) => taskLink(page.queue, one) },
            { title: 'name', class: 'name', cell: (task) => task.name },
            { title: 'outcome', cell: ({ state }) => taskBadge(state) },
            { title: 'attempts', class: 'number', cell: ({ attempts }) => attempts },
            {
              title: 'last attempt took',
              class: 'number',
              cell: ({ claimedAt, finishedAt }) =>
                claimedAt === undefined || finishedAt === undefined ? undefined : span(finishedAt - claimedAt),
            },
            { title: 'tenant', class: 'name', cell: ({ tenant }) => tenant },
            { title: 'ended', class: 'number', cell: ({ finishedAt = 0 }) => when(finishedAt, page.now) },
            { title: 'last error', class: 'text', cell: ({ lastError }) => lastError },
          ],
          page.tasks,
          ({ id: one }) => one,
        ),
    h(
      'p',
      { class: 'pager quiet' },
      `The latest ${whole(page.tasks.length)} of ${whole(page.found)}; ${whole(page.units)} units were read`,
      page.isCut && ', which is not the whole table',
      '.',
    ),
  ];
}
