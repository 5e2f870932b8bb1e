/** The page: which view, with what data, and again whenever there is news. */

/** @import { Overview } from '../model.ts' */
/** @import { Child } from './dom.js' */
import { Refusal, ask, follow } from './api.js';
import { bar } from './bar.js';
import { h, morph } from './dom.js';
import { empty } from './parts.js';
import { audit } from './views/audit.js';
import { locks } from './views/locks.js';
import { overviewPage } from './views/overview.js';
import { queues } from './views/queues.js';
import { schedules } from './views/schedules.js';
import { semaphores } from './views/semaphores.js';
import { sessions } from './views/sessions.js';
import { task } from './views/task.js';
import { tasks } from './views/tasks.js';

/**
 * @typedef {object} Place where the address points
 * @property {string} page
 * @property {Record<string, string>} query
 */
/**
 * @typedef {object} Scene what a view is drawn from
 * @property {Record<string, string>} query
 * @property {Overview} overview
 * @property {any} data what the view asked for
 * @property {boolean} mayAct
 * @property {() => void} refresh looks again, at once
 */
/**
 * @typedef {object} View
 * @property {string} title
 * @property {(place: Place, overview: Overview) => { path: string, query?: Record<string, string | undefined> } | undefined} [question]
 *   what it asks the server for; it is asked again whenever there is news
 * @property {(scene: Scene) => Child} draw
 */

/** @type {Readonly<Record<string, View>>} */
const VIEWS = { overview: overviewPage, queues, tasks, task, sessions, locks, semaphores, schedules, audit };

/** @type {{ overview?: Overview, data?: any, isAnswered: boolean, refusal?: Refusal, failure?: string, feed: 'live' | 'lost' | 'resting' | 'opening' }} */
const state = { isAnswered: false, feed: 'opening' };
let asked = 0;

const main = /** @type {HTMLElement} */ (document.getElementById('main'));
const header = /** @type {HTMLElement} */ (document.getElementById('bar'));

/** @returns {Place} */
function placeOf() {
  const [page = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  return {
    page: Object.hasOwn(VIEWS, page) ? page : 'overview',
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

function viewOf() {
  return VIEWS[placeOf().page] ?? overviewPage;
}

async function load() {
  const place = placeOf();
  const question = state.overview && viewOf().question?.(place, state.overview);
  asked++;
  const mine = asked;
  if (question === undefined) {
    state.isAnswered = true;
    delete state.refusal;
    draw();
    return;
  }
  try {
    const data = await ask(question.path, question.query);
    // Another page was opened meanwhile, or a later answer was here first.
    if (mine !== asked) return;
    state.data = data;
    delete state.refusal;
  } catch (error) {
    if (mine !== asked) return;
    state.refusal = error instanceof Refusal ? error : new Refusal(0, String(error));
  }
  state.isAnswered = true;
  draw();
}

function draw() {
  const { page } = placeOf();
  document.title = `${viewOf().title} · Leasehold`;
  morph(header, h('header', { id: 'bar' }, bar(page, state)));
  morph(
    main,
    h('main', { id: 'main', tabindex: -1, class: `page-${page}`, 'aria-busy': !state.isAnswered }, content()),
  );
}

/** @returns {Child} */
function content() {
  const { overview, data, refusal, failure, isAnswered } = state;
  const trouble = refusal?.message ?? failure;
  if (refusal?.status === 401) return empty('Sign-in expired.', 'Open the address printed by leasehold console.');
  if (overview === undefined)
    return trouble === undefined ? h('p', { class: 'quiet' }, 'Reading the table…') : troubleOf(trouble);
  if (refusal?.status === 404)
    return empty('Not found.', `${refusal.message}; finished tasks are deleted 14 days after they end.`);
  const { query } = placeOf();
  const mayAct = !overview.desk.isReadOnly;
  // What is there stays in view while the store is in trouble.
  const shown =
    isAnswered && refusal === undefined ? viewOf().draw({ query, overview, data, mayAct, refresh: load }) : undefined;
  return [
    trouble !== undefined && troubleOf(trouble),
    shown ?? (refusal === undefined && h('p', { class: 'quiet' }, 'Loading…')),
  ];
}

/** @param {string} message */
function troubleOf(message) {
  return h(
    'div',
    { class: 'trouble', role: 'alert', 'data-key': 'trouble' },
    h('strong', {}, 'Request failed.'),
    ' ',
    message,
  );
}

/** On a narrow screen there are more pages than fit. */
function showTab() {
  header.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
}

addEventListener('hashchange', () => {
  state.isAnswered = false;
  state.data = undefined;
  delete state.refusal;
  draw();
  showTab();
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
  void load();
});

addEventListener('keydown', (event) => {
  const { target, key, ctrlKey, metaKey, altKey } = event;
  const isTyping = target instanceof HTMLElement && target.closest('input, select, textarea, dialog') !== null;
  if (isTyping || ctrlKey || metaKey || altKey) return;
  if (key === '/') {
    event.preventDefault();
    const search = document.querySelector('form[role=search] input');
    if (search instanceof HTMLElement) search.focus();
    else location.hash = '#/tasks';
  }
  const link = header.querySelector(`[aria-keyshortcuts="${CSS.escape(key)}"]`);
  if (link instanceof HTMLElement) link.click();
});

follow({
  onOverview(overview) {
    state.overview = overview;
    delete state.failure;
    void load();
  },
  onFailure(message) {
    state.failure = message;
    draw();
  },
  onState(feed) {
    if (state.feed === feed) return;
    state.feed = feed;
    draw();
  },
  onRefused(refusal) {
    state.refusal = refusal;
    draw();
  },
});
draw();
showTab();
