/** Pieces that several pages are made of. */

/** @import { Child, Props } from './dom.js' */
/** @import { Holding, SessionStanding, TaskLine } from '../model.ts' */
import { h } from './dom.js';
import { age, moment, momentText, relative, shortId } from './format.js';
import { isOn } from './settings.js';
import { toast } from './toast.js';

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
 * @param {string} queue
 * @param {string} id
 */
export function taskLink(queue, id) {
  return h('a', { href: to('task', { queue, id }) }, id);
}

/**
 * @param {string} text
 * @param {'good' | 'bad' | 'busy' | 'waiting' | 'warning' | 'quiet'} tone
 */
export function badge(text, tone) {
  return h('span', { class: `badge ${tone}` }, text);
}

/** @type {Readonly<Record<string, Parameters<typeof badge>[1]>>} */
const TASK_TONES = { running: 'busy', done: 'good', dead: 'bad' };

/**
 * A task's state, as the page and its addresses name it.
 * @param {{ readonly state: string, readonly readyAt?: number | undefined, readonly waitsForChildren?: boolean | undefined, readonly isSuspended?: boolean | undefined }} task
 * @param {number} now
 */
export function taskState({ state, readyAt = 0, waitsForChildren = false, isSuspended = false }, now) {
  if (state !== 'ready') return state;
  if (isSuspended) return 'suspended';
  if (waitsForChildren) return 'waiting for its children';
  return readyAt > now ? 'delayed' : state;
}

/** A label in sentence case. @param {string} label */
export function sentence(label) {
  return label.charAt(0).toUpperCase() + label.slice(1);
}

/** @param {string} state */
export function taskBadge(state) {
  return badge(state, TASK_TONES[state] ?? 'quiet');
}

/** @type {Readonly<Record<SessionStanding, Parameters<typeof badge>[1]>>} */
const STANDING_TONES = { live: 'good', expired: 'bad', damaged: 'bad', ended: 'quiet', lost: 'bad' };

/** @param {SessionStanding} standing */
export function standingBadge(standing) {
  return badge(standing, STANDING_TONES[standing]);
}

/**
 * How long ago or how soon, or the moment itself: as the person at the page has chosen. The other one is shown on hovering.
 * @param {number | undefined} at
 * @param {number} now
 */
export function when(at, now) {
  return at === undefined ? undefined : timeOf(at, momentText(at, now), relative(at, now));
}

/**
 * The running time since a moment, or that moment.
 * @param {number} at
 * @param {number} now
 */
export function since(at, now) {
  return timeOf(at, isOn('absoluteTimes') ? moment(at) : age(now - at), age(now - at));
}

/**
 * @param {number} at
 * @param {string} text
 * @param {string} relativeText
 */
function timeOf(at, text, relativeText) {
  return h(
    'time',
    { datetime: new Date(at).toISOString(), title: text === relativeText ? moment(at) : relativeText },
    text,
  );
}

/** An id as a whole, to be copied. @param {string} id @param {string} what */
export function copyable(id, what) {
  return h(
    'span.copyable',
    h('code', id),
    ' ',
    copyButton(() => id, what),
  );
}

/**
 * @param {() => string} textOf
 * @param {string} what
 */
export function copyButton(textOf, what) {
  const copy = () =>
    navigator.clipboard.writeText(textOf()).then(
      () => toast('Copied.'),
      () => toast('This browser does not let the page copy: select the text instead.'),
    );
  return button('Copy', copy, { class: 'small', 'aria-label': `Copy ${what}` });
}

/** @param {string} id */
export function sessionName(id) {
  return h('code.session', shortId(id));
}

/**
 * A holder in one line, with details to open.
 * @param {{ readonly name?: string | undefined, readonly node?: string | undefined, readonly session: string, readonly token?: number }}
 * holder
 */
export function holderOf({ name = 'unknown', node = 'unknown', session, token }) {
  return h(
    'details.who',
    h('summary', h('span.line', h('span', `${name} on ${node}`), sessionName(session))),
    factsOf([
      ['host', node],
      ['session', copyable(session, 'the session id')],
      ['token', token === undefined ? undefined : h('span.counter', token)],
    ]),
  );
}

/**
 * @template T
 * @typedef {{ readonly title: string, readonly cell: (row: T) => Child, readonly class?: string }} Column
 */

/**
 * A table, which becomes one card per row on a narrow screen. Empty columns are left out;
 * the first column names the row.
 * @template T
 * @param {string} caption for screen readers
 * @param {readonly Column<T>[]} columns
 * @param {readonly T[]} rows
 * @param {(row: T) => string} keyOf
 */
export function tableOf(caption, columns, rows, keyOf) {
  const lines = rows.map((row) => ({ key: keyOf(row), cells: columns.map(({ cell }) => cell(row)) }));
  const isShown = columns.map((_, index) => lines.some(({ cells }) => hasContent(cells[index])));
  return h(
    'div.table-frame',
    h(
      'table',
      h('caption.unseen', caption),
      h(
        'thead',
        h(
          'tr',
          columns.map(
            ({ title, class: kind }, index) =>
              isShown[index] && h('th', { scope: 'col', class: kind }, sentence(title)),
          ),
        ),
      ),
      h(
        'tbody',
        lines.map(({ key, cells }) =>
          h(
            'tr',
            { 'data-key': key },
            columns.map(
              ({ title, class: kind }, index) =>
                isShown[index] &&
                h(
                  index === 0 ? 'th' : 'td',
                  { 'data-title': sentence(title), class: kind, scope: index === 0 && 'row' },
                  hasContent(cells[index]) && h('div', cells[index]),
                ),
            ),
          ),
        ),
      ),
    ),
  );
}

/** @typedef {{ readonly id: string } & { readonly [Field in keyof TaskLine]?: TaskLine[Field] | undefined }} ListedTask */

/**
 * A table of tasks.
 * @template {ListedTask} T
 * @param {string} caption
 * @param {readonly T[]} tasks
 * @param {{ readonly queue: string, readonly now: number }} page
 * @param {(columns: ReturnType<typeof taskColumns>) => readonly Column<T>[]} columns
 */
export function taskTable(caption, tasks, page, columns) {
  return tableOf(caption, columns(taskColumns(page)), tasks, ({ id }) => id);
}

/** @param {{ readonly queue: string, readonly now: number }} page */
function taskColumns({ queue, now }) {
  return /** @satisfies {Readonly<Record<string, Column<ListedTask>>>} */ ({
    id: { title: 'id', class: 'wide', cell: ({ id }) => taskLink(queue, id) },
    name: { title: 'name', class: 'name', cell: ({ name }) => name },
    label: { title: 'label', class: 'name', cell: ({ label }) => label },
    outcome: { title: 'outcome', cell: ({ state = 'damaged entry' }) => taskBadge(state) },
    priority: { title: 'priority', cell: ({ priority }) => (priority === 'normal' ? undefined : priority) },
    tenant: { title: 'tenant', class: 'name', cell: ({ tenant }) => tenant },
    attempts: { title: 'attempts', class: 'number', cell: ({ attempts }) => attempts },
    ended: { title: 'ended', class: 'number', cell: ({ finishedAt }) => when(finishedAt, now) },
    error: { title: 'last error', class: 'text', cell: ({ lastError }) => lastError },
  });
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
    'dl.facts',
    known.map(([name, value]) => h('div', h('dt', sentence(name)), h('dd', value))),
  );
}

/** Explains `Finished ≥ 44/s` in a sentence. */
export const FINISHED_NOTE =
  'Tasks that left the backlog in the last 30 seconds, whether done, dead or cancelled; tasks that came and went between two polls are missing.';

/**
 * Shown in place of an empty list, with advice.
 * @param {string} title
 * @param {...Child} text
 */
export function empty(title, ...text) {
  return h('div.empty', h('strong', title), h('p', text));
}

/**
 * @param {string} title
 * @param {...Child} controls controls at the other end of the row
 */
export function heading(title, ...controls) {
  return h('div.heading', h('h1', { tabindex: -1 }, title), h('div.controls', controls));
}

/**
 * @param {string} text
 * @param {() => void} act
 * @param {Props} [props]
 */
export function button(text, act, props = {}) {
  return h('button', { type: 'button', onclick: act, ...props }, text);
}

/**
 * A value as JSON, of any kind and size; long ones scroll.
 * @param {unknown} value
 * @param {string} label
 */
export function json(value, label) {
  return h('pre.json', { role: 'region', tabindex: 0, 'aria-label': label }, JSON.stringify(value, undefined, 2));
}

/**
 * A field of a form that searches.
 * @param {string} label
 * @param {Props & { readonly name: string }} props of the field
 * @param {Props} [around] of its label
 */
export function searchField(label, props, around = {}) {
  return h('label', around, h('span', label), h('input', { autocomplete: 'off', spellcheck: 'false', ...props }));
}

/**
 * A form that searches.
 * @param {Props} props
 * @param {(text: (name: string) => string) => void} onask called with how to read its fields
 * @param {...Child} children
 */
export function searchForm(props, onask, ...children) {
  /** @param {SubmitEvent} event */
  const onsubmit = (event) => {
    event.preventDefault();
    const given = new FormData(/** @type {HTMLFormElement} */ (event.target));
    onask((name) => String(given.get(name) ?? ''));
  };
  return h('form', { role: 'search', onsubmit, ...props }, children);
}

/**
 * A form with one search field for this page.
 * @param {{ label: string, name: string, value: string, hint: string, known?: readonly string[], onask: (text: string) => void }} field
 *   `known`: suggestions; other text may be typed
 */
export function finder({ label, name, value, hint, known = [], onask }) {
  return searchForm(
    { class: 'finder' },
    (text) => onask(text(name)),
    searchField(label, {
      name,
      value,
      placeholder: hint,
      list: known.length > 0 && `known-${name}`,
      oninput: (/** @type {InputEvent} */ { inputType, target }) => {
        // Choosing from the list fires one event, under any name; typing continues until Enter.
        const text = /** @type {HTMLInputElement} */ (target).value;
        if ((inputType === undefined || inputType === 'insertReplacementText') && known.includes(text)) onask(text);
      },
    }),
    known.length > 0 && suggestions(`known-${name}`, known),
  );
}

/**
 * What a field with this `list` suggests.
 * @param {string} id
 * @param {readonly string[]} values
 */
export function suggestions(id, values) {
  return h(
    'datalist',
    { id },
    values.map((value) => h('option', { value })),
  );
}

/**
 * The prefix that a list's names begin with, and a note if the list was cut.
 * @param {string} page
 * @param {{ prefix: string, hint: string, shown: number, isMore: boolean }} list
 */
export function prefixFinder(page, { prefix, hint, shown, isMore }) {
  return h(
    'div.tools',
    finder({
      label: 'Prefix',
      name: 'prefix',
      value: prefix,
      hint,
      onask: (text) => (location.hash = to(page, { prefix: text === '' ? undefined : text })),
    }),
    isMore && h('small.quiet', `the first ${shown}; there are more: give a prefix`),
  );
}

/**
 * @param {Holding} holding
 * @param {number} [times] that it is held
 */
export function holdingLink({ kind, name, queue }, times = 1) {
  const href =
    kind === 'task'
      ? to('task', { queue, id: name })
      : kind === 'lock'
        ? to('locks', { prefix: name })
        : to('semaphores', { prefix: name });
  return h('a.chip', { href }, h('i', kind), ' ', name, times > 1 && h('i', ` × ${times}`));
}
