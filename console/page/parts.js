/** Pieces that several pages are made of. */

/** @import { Child, Props } from './dom.js' */
/** @import { Holding, SessionStanding } from '../model.ts' */
import { h } from './dom.js';
import { moment, relative, shortId, span } from './format.js';

/**
 * An address within the console.
 * @param {string} page
 * @param {Readonly<Record<string, string | undefined>>} [query]
 */
export function to(page, query = {}) {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  return given.length === 0 ? `#/${page}` : `#/${page}?${new URLSearchParams(given)}`;
}

/**
 * @param {string} text
 * @param {'good' | 'bad' | 'busy' | 'waiting' | 'warning' | 'quiet'} tone
 */
export function badge(text, tone) {
  return h('span', { class: `badge ${tone}` }, text);
}

/** @type {Readonly<Record<string, Parameters<typeof badge>[1]>>} */
const TASK_TONES = { ready: 'waiting', later: 'quiet', running: 'busy', done: 'good', dead: 'bad', cancelled: 'quiet' };

/**
 * A task's state; one that waits for its time is for later.
 * @param {{ readonly state: string, readonly readyAt?: number | undefined }} task
 * @param {number} now
 */
export function taskState({ state, readyAt = 0 }, now) {
  return state === 'ready' && readyAt > now ? 'later' : state;
}

/** A label in sentence case. @param {string} label */
function sentence(label) {
  return label.charAt(0).toUpperCase() + label.slice(1);
}

/** A state as the page names it; addresses and the console's interface say `later` for `delayed`. @param {string} state */
export function stateLabel(state) {
  return state === 'later' ? 'delayed' : state;
}

/** @param {string} state */
export function taskBadge(state) {
  return badge(stateLabel(state), TASK_TONES[state] ?? 'quiet');
}

/** @type {Readonly<Record<SessionStanding, Parameters<typeof badge>[1]>>} */
const STANDING_TONES = { live: 'good', expired: 'bad', damaged: 'bad', ended: 'quiet', lost: 'bad' };

/** @param {SessionStanding} standing */
export function standingBadge(standing) {
  return badge(standing, STANDING_TONES[standing]);
}

/**
 * How long ago or how soon, with the moment itself on hovering.
 * @param {number} at
 * @param {number} now
 */
export function when(at, now) {
  return h('time', { datetime: new Date(at).toISOString(), title: moment(at) }, relative(at, now));
}

/**
 * Time since a moment, as it goes on.
 * @param {number} at
 * @param {number} now
 */
export function since(at, now) {
  return h('time', { datetime: new Date(at).toISOString(), title: moment(at) }, span(now - at));
}

/** @param {string} id */
export function code(id) {
  return h('code', { title: id }, id);
}

/** @param {string} id */
export function sessionName(id) {
  return h('code', { class: 'session', title: `session ${id}` }, shortId(id));
}

/**
 * @template T
 * @typedef {{ readonly title: string, readonly cell: (row: T) => Child, readonly class?: string }} Column
 */

/**
 * A table, which on a narrow screen becomes a card for each row. Columns in which no row has anything are left out.
 * @template T
 * @param {string} caption for those who do not see it
 * @param {readonly Column<T>[]} columns
 * @param {readonly T[]} rows
 * @param {(row: T) => string} keyOf
 */
export function tableOf(caption, columns, rows, keyOf) {
  const lines = rows.map((row) => ({ key: keyOf(row), cells: columns.map(({ cell }) => cell(row)) }));
  const isShown = columns.map((_, index) => lines.some(({ cells }) => hasContent(cells[index])));
  return h(
    'div',
    { class: 'table-frame' },
    h(
      'table',
      {},
      h('caption', { class: 'unseen' }, caption),
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          columns.map(
            ({ title, class: kind }, index) =>
              isShown[index] && h('th', { scope: 'col', class: kind }, sentence(title)),
          ),
        ),
      ),
      h(
        'tbody',
        {},
        lines.map(({ key, cells }) =>
          h(
            'tr',
            { 'data-key': key },
            columns.map(
              ({ title, class: kind }, index) =>
                isShown[index] &&
                h(
                  'td',
                  { 'data-title': sentence(title), class: kind },
                  hasContent(cells[index]) && h('div', {}, cells[index]),
                ),
            ),
          ),
        ),
      ),
    ),
  );
}

/** @param {Child} cell */
function hasContent(cell) {
  return cell !== undefined && cell !== null && cell !== false && cell !== '';
}

/**
 * Names and values of one thing; those without a value are left out.
 * @param {readonly (readonly [string, Child])[]} facts
 */
export function factsOf(facts) {
  const known = facts.filter(([, value]) => hasContent(value));
  return h(
    'dl',
    { class: 'facts' },
    known.map(([name, value]) => h('div', {}, h('dt', {}, sentence(name)), h('dd', {}, value))),
  );
}

/** What `Finished ≥ 44/s` counts, in a sentence. */
export const FINISHED_NOTE =
  'Tasks that left the backlog between two looks, whether done, dead or cancelled, a pack of small tasks counted as one; those that came and went in between are not seen.';

/**
 * What stands where there is nothing to show, and what to do about it.
 * @param {string} title
 * @param {...Child} text
 */
export function empty(title, ...text) {
  return h('div', { class: 'empty' }, h('strong', {}, title), h('p', {}, text));
}

/**
 * @param {string} title
 * @param {...Child} beside controls, at the other end of the line
 */
export function heading(title, ...beside) {
  return h('div', { class: 'heading' }, h('h1', {}, title), h('div', { class: 'beside' }, beside));
}

/**
 * @param {string} text
 * @param {() => void} act
 * @param {Props} [props]
 */
export function button(text, act, props = {}) {
  return h('button', { type: 'button', onclick: act, ...props }, text);
}

/** A value as JSON, of any kind and size; long ones scroll. @param {unknown} value */
export function json(value) {
  return h('pre', { class: 'json', tabindex: 0 }, JSON.stringify(value, undefined, 2));
}

/**
 * A form whose one field asks for something in this page.
 * @param {{ label: string, name: string, value: string, hint: string, onask: (text: string) => void }} field
 */
export function finder({ label, name, value, hint, onask }) {
  return h(
    'form',
    {
      class: 'finder',
      role: 'search',
      onsubmit: (/** @type {SubmitEvent} */ event) => {
        event.preventDefault();
        const form = /** @type {HTMLFormElement} */ (event.target);
        onask(String(new FormData(form).get(name) ?? ''));
      },
    },
    h(
      'label',
      {},
      h('span', {}, label),
      h('input', { name, value, placeholder: hint, autocomplete: 'off', spellcheck: 'false' }),
    ),
  );
}

/** @param {Holding} holding */
export function holdingLink({ kind, name, queue }) {
  const href =
    kind === 'task'
      ? to('task', { queue, id: name })
      : kind === 'lock'
        ? to('locks', { prefix: name })
        : to('semaphores', { prefix: name });
  return h('a', { class: 'chip', href, title: `${kind} ${name}` }, h('i', {}, kind), ' ', name);
}
