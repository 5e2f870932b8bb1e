/**
 * Tasks that have ended: from the list of their queue, if it has one. Otherwise the whole table is read: at once where that is free, and
 * elsewhere after a click.
 */

/** @import { ConnectionInfo, FinishedPage, ScanPage, ScanPrice } from '../../model.ts' */
/** @import { ListedTask } from '../parts.js' */
/** @import { Question, Scene } from '../app.js' */
import { quoted } from '../command.js';
import { h } from '../dom.js';
import { plural, span, whole } from '../format.js';
import { button, empty, sentence, tableOf, taskTable, to, when } from '../parts.js';
import { plot } from '../plot.js';

/** Limit without a person's consent: about a cent. */
const FREE_UNITS = 32_768;
/** Beyond the price that was named, because the table grows on. */
const MARGIN = 1.2;
const OUTCOMES = /** @type {const} */ (['done', 'dead', 'cancelled', 'failed']);
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Units that a person has agreed to, by query. @type {Map<string, number>} */
const agreed = new Map();
/** Queues that have a list, which may be read again and again. @type {Set<string>} */
const listing = new Set();

/**
 * Free on a local engine, and cheap where there is a list; elsewhere we ask for the price first.
 * @param {Record<string, string>} query
 * @param {{ readonly queue: string, readonly name: string | undefined, readonly id: string | undefined }} filters
 * @param {ConnectionInfo} desk
 * @returns {Question}
 */
export function finishedQuestion({ outcome }, filters, { isLocal }) {
  const query = { ...filters, outcome };
  const units = isLocal ? FREE_UNITS : agreed.get(JSON.stringify(query));
  return {
    path: 'finished',
    query: { ...query, units: units === undefined ? undefined : String(units) },
    isOnce: !isLocal && !listing.has(filters.queue),
  };
}

/**
 * Shown until a person agrees to the price.
 * @param {object} query
 * @param {ScanPrice} price
 * @param {() => void} refresh
 */
function offer(query, { units }, refresh) {
  const bound = units === null ? FREE_UNITS : Math.ceil(units * MARGIN);
  const text = units === null ? `at most ${whole(bound)} units` : `about ${plural(units, 'unit')}`;
  return empty(
    'This queue does not list its finished tasks.',
    h(
      'span',
      'Its workers can: ',
      h('code', 'listFinished: true'),
      ', or ',
      h('code', 'leasehold work --list-finished'),
      '. To find those that have ended, the whole table is read, once. ',
    ),
    button(
      `Read the table (${text})`,
      () => {
        agreed.set(JSON.stringify(query), bound);
        refresh();
      },
      { class: 'primary' },
    ),
  );
}

/**
 * @param {Scene} scene
 * @param {string} queue
 */
export function finished({ query, data, refresh }, queue) {
  const { outcome, name, id } = query;
  if ('entries' in data) {
    listing.add(queue);
    return [...picture(data), tabs(queue, query), ...list(data, query)];
  }
  if (!('tasks' in data)) return offer({ queue, name, id, outcome }, data, refresh);
  return [tabs(queue, query), ...scanned(data)];
}

/**
 * @param {string} queue
 * @param {Record<string, string>} query
 */
function tabs(queue, { outcome, name, id }) {
  return h(
    'nav.tabs',
    { 'aria-label': 'Outcomes' },
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
  );
}

/** The last hour. @param {FinishedPage} page */
function picture({ names, perMinute, now, cutAt = 0, read }) {
  const points = perMinute.map((value, nth) => ({ at: now - (perMinute.length - 1 - nth) * MINUTE_MS, value }));
  return [
    plot('Ended a minute', points, { as: 'bars', text: whole }),
    names.length > 0 &&
      tableOf(
        cutAt > now - HOUR_MS ? `By name, of the last ${whole(read)}` : 'By name, in the last hour',
        [
          { title: 'name', class: 'wide', cell: (one) => one.name },
          { title: 'ended', class: 'number', cell: ({ ended }) => whole(ended) },
          { title: 'failed', class: 'number', cell: ({ failed }) => whole(failed) },
          { title: 'retried', class: 'number', cell: ({ retried }) => whole(retried) },
          { title: 'waited p50', class: 'number', cell: ({ waitedMs }) => spanOf(waitedMs?.p50) },
          { title: 'waited p95', class: 'number', cell: ({ waitedMs }) => spanOf(waitedMs?.p95) },
          { title: 'ran p50', class: 'number', cell: ({ ranMs }) => spanOf(ranMs?.p50) },
          { title: 'ran p95', class: 'number', cell: ({ ranMs }) => spanOf(ranMs?.p95) },
        ],
        names,
        (one) => one.name,
      ),
  ];
}

/**
 * @param {FinishedPage} page
 * @param {Record<string, string>} query
 */
function list({ queue, entries, now, found, read, cutAt, listedSince }, { id }) {
  /** @type {readonly (ListedTask & { readonly waitedMs?: number, readonly ranMs?: number, readonly key?: string })[]} */
  const known = entries.map((entry) =>
    entry.kind === 'damaged' ? { id: entry.id, label: entry.text } : { ...entry, finishedAt: entry.at },
  );
  return [
    known.length === 0
      ? empty('No finished tasks.', 'A task that has ended is kept for 14 days.')
      : taskTable('Finished tasks', known, { queue, now }, (columns) => [
          columns.id,
          columns.label,
          columns.name,
          columns.outcome,
          columns.attempts,
          { title: 'waited', class: 'number', cell: ({ waitedMs }) => spanOf(waitedMs) },
          { title: 'last attempt took', class: 'number', cell: ({ ranMs }) => spanOf(ranMs) },
          { title: 'key', class: 'name', cell: ({ key }) => key },
          columns.ended,
        ]),
    h(
      'p.pager.quiet',
      `The latest ${whole(known.length)} of ${whole(found)}; complete since `,
      when(listedSince, now),
      '.',
      cutAt !== undefined && [
        ` Of the last ${whole(read)} that ended: those before `,
        when(cutAt, now),
        ' were not read. See them by ',
        h(
          'code',
          `leasehold tasks ${id === undefined ? earlier(cutAt) : `find ${quoted(id)}`} --queue ${quoted(queue)}`,
        ),
        '.',
      ],
    ),
  ];
}

/** @param {number} at */
function earlier(at) {
  return `list --state done --until ${new Date(at).toISOString()}`;
}

/** @param {number | undefined} ms */
function spanOf(ms) {
  return ms === undefined ? undefined : span(ms);
}

/** @param {ScanPage} page */
function scanned(page) {
  return [
    page.tasks.length === 0
      ? empty('No finished tasks.', 'A task that has ended is kept for 14 days.')
      : taskTable('Finished tasks', page.tasks, page, (columns) => [
          columns.id,
          columns.name,
          columns.outcome,
          columns.attempts,
          {
            title: 'last attempt took',
            class: 'number',
            cell: ({ claimedAt, finishedAt = 0 }) => claimedAt && span(finishedAt - claimedAt),
          },
          columns.tenant,
          columns.ended,
          columns.error,
        ]),
    h(
      'p.pager.quiet',
      `The latest ${whole(page.tasks.length)} of ${whole(page.found)}; ${whole(page.units)} units were read`,
      page.isCut && ', which is not the whole table',
      '.',
    ),
  ];
}
