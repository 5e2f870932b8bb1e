/** The page: which view, with what data, and again whenever there is news. */

/** @import { Overview } from '../model.ts' */
/** @import { Child } from './dom.js' */
import { Refusal, ask, follow } from './api.js';
import { closeDialog, setDesk } from './dialog.js';
import { bar } from './bar.js';
import { h, keepingFocus, morph } from './dom.js';
import { empty, heading, to } from './parts.js';
import { listenToKeys, openHelp } from './keys.js';
import { trouble } from './trouble.js';

/**
 * @typedef {object} Place where the address points
 * @property {string} page
 * @property {Record<string, string>} query
 */
/**
 * @typedef {object} Question
 * @property {string} path
 * @property {Record<string, string | undefined>} [query]
 * @property {boolean} [isOnce] its answer costs much: it is not asked again when there is news
 */
/**
 * @typedef {object} Scene the data of a view
 * @property {Record<string, string>} query
 * @property {Overview} overview
 * @property {any} data the view's own data
 * @property {boolean} mayAct
 * @property {number} clock the server's time by this browser's clock, which continues without news
 * @property {() => void} refresh polls again at once
 */
/**
 * @typedef {object} View
 * @property {string} title
 * @property {(place: Place, overview: Overview) => Question | undefined} [question]
 *   what it asks the server for; it is asked again whenever there is news
 * @property {(scene: Scene) => Child} draw
 */

/**
 * The overview is drawn first and comes with the page; the other views are loaded after it, or when one of them is asked for.
 * @type {Readonly<Record<string, () => Promise<View>>>}
 */
const LOADERS = {
  overview: async () => (await import('./views/overview.js')).overviewPage,
  queues: async () => (await import('./views/queues.js')).queues,
  tasks: async () => (await import('./views/tasks.js')).tasks,
  task: async () => (await import('./views/task.js')).task,
  sessions: async () => (await import('./views/sessions.js')).sessions,
  locks: async () => (await import('./views/locks.js')).locks,
  semaphores: async () => (await import('./views/semaphores.js')).semaphores,
  schedules: async () => (await import('./views/schedules.js')).schedules,
  audit: async () => (await import('./views/audit.js')).audit,
};

/** Those that are loaded. @type {Map<string, View>} */
const views = new Map();

/** As many as the server keeps. */
const READINGS_KEPT = 300;
/** Extra time for a poll before the page calls it overdue. */
const GRACE_MS = 4_000;
const TICK_MS = 1_000;

/**
 * @type {{
 *   overview?: Overview, data?: any, isAnswered: boolean, refusal?: Refusal, failure?: string,
 *   feed: 'live' | 'lost' | 'resting' | 'opening' | 'paused', isStale: boolean, dueAt: number, heardAt: number, isShown: boolean,
 * }}
 */
const state = { isAnswered: false, isShown: false, feed: 'opening', isStale: false, dueAt: Infinity, heardAt: 0 };
let asked = 0;
/** The question whose answer is shown. */
let answered = '';

/** The place whose data `state` holds. The address changes before `hashchange` is heard, and news may be drawn in between. */
let place = placeOf();

const main = /** @type {HTMLElement} */ (document.getElementById('main'));
const header = /** @type {HTMLElement} */ (document.getElementById('bar'));

/** @returns {Place} */
function placeOf() {
  const [page = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  return {
    page: Object.hasOwn(LOADERS, page) ? page : 'overview',
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

function viewOf() {
  return views.get(place.page);
}

/** @param {string} page */
async function fetchView(page) {
  if (views.has(page)) return;
  const view = await LOADERS[page]?.().catch(() => {
    throw new Refusal(0, 'the console does not answer: is leasehold console still running?');
  });
  if (view !== undefined) views.set(page, view);
}

/** So that no page waits for its view. */
async function fetchViews() {
  for (const page of Object.keys(LOADERS)) await fetchView(page).catch(() => undefined);
}

async function load(isNews = false) {
  asked++;
  const mine = asked;
  try {
    await fetchView(place.page);
  } catch (error) {
    state.refusal = /** @type {Refusal} */ (error);
    draw();
    return;
  }
  if (mine !== asked) return;
  const question = state.overview && viewOf()?.question?.(place, state.overview);
  const name = JSON.stringify(question ?? null);
  if (question === undefined || (isNews && question.isOnce && name === answered)) {
    state.isAnswered = true;
    delete state.refusal;
    draw();
    return;
  }
  try {
    const data = await ask(question.path, question.query);
    // Another page was opened in the meantime, or a later answer arrived first.
    if (mine !== asked) return;
    state.data = data;
    answered = name;
    delete state.refusal;
  } catch (error) {
    if (mine !== asked) return;
    state.refusal = error instanceof Refusal ? error : new Refusal(0, String(error));
  }
  state.isAnswered = true;
  draw();
}

function draw() {
  const { page } = place;
  const { isStale, feed } = state;
  document.title = [viewOf()?.title ?? [], 'Leasehold'].flat().join(' · ');
  document.body.dataset.feed = isStale ? 'stale' : feed;
  keepingFocus(() => {
    morph(header, h('header', { id: 'bar' }, bar(page, state, { pause: togglePause, help: () => openHelp(draw) })));
    // While another list of the same page is asked for, the one before stays in view, and the fields in it.
    if (!state.isAnswered && state.isShown) main.setAttribute('aria-busy', '');
    else
      morph(
        main,
        h('main', { id: 'main', tabindex: -1, class: `page-${page}`, 'aria-busy': !state.isAnswered }, content()),
      );
  });
}

/** @returns {Child} */
function content() {
  const { overview, data, refusal, isAnswered } = state;
  if (refusal?.status === 401)
    return [heading('Sign-in expired'), empty('This browser is not signed in.', refusal.message)];
  const banner = trouble(state);
  if (overview === undefined) return [banner ?? h('p.quiet', 'Reading the table…')];
  if (refusal?.status === 404)
    return [
      heading('Not found'),
      empty(
        `${refusal.message.charAt(0).toUpperCase()}${refusal.message.slice(1)}.`,
        'Finished tasks are deleted 14 days after they end. ',
        h('a', { href: to('tasks', { queue: place.query.queue }) }, 'Back to the tasks'),
      ),
    ];
  const { query } = place;
  const scene = {
    query,
    overview,
    data,
    mayAct: !overview.desk.isReadOnly,
    clock: clock(),
    refresh: () => void load(),
  };
  // Keep showing the last data while the table does not answer.
  const view = viewOf();
  const isShown = isAnswered && (view?.question === undefined || data !== undefined);
  return [banner, isShown && view !== undefined ? view.draw(scene) : refusal === undefined && h('p.quiet', 'Loading…')];
}

/** The time of the last news, plus the time since. */
function clock() {
  return (state.overview?.now ?? 0) + (performance.now() - state.heardAt);
}

/** @param {Overview} overview the readings in it are those since the last one */
function withReadings(overview) {
  const [first] = overview.readings;
  const before = (state.overview?.readings ?? []).filter(({ at }) => first === undefined || at < first.at);
  return { ...overview, readings: [...before, ...overview.readings].slice(-READINGS_KEPT) };
}

function togglePause() {
  feed.pause(state.feed !== 'paused');
}

/** On a narrow screen there are more pages than fit. */
function showTab() {
  header.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
}

addEventListener('hashchange', () => {
  closeDialog();
  state.isAnswered = false;
  state.data = undefined;
  delete state.refusal;
  const { page } = place;
  place = placeOf();
  const isOther = place.page !== page;
  state.isShown = !isOther;
  draw();
  // If only the filters changed, keep the focus.
  if (isOther) {
    showTab();
    main.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  void load();
});

listenToKeys(header, () => openHelp(draw));

const feed = follow({
  onOverview(overview, nextInMs) {
    state.overview = withReadings(overview);
    state.heardAt = performance.now();
    state.dueAt = state.heardAt + nextInMs + GRACE_MS;
    state.isStale = false;
    delete state.failure;
    setDesk(overview.desk);
    void load(true).then(fetchViews);
  },
  onFailure(message) {
    state.failure = message;
    state.isStale = state.overview !== undefined;
    draw();
  },
  onState(now) {
    if (state.feed === now) return;
    state.feed = now;
    state.isStale = now === 'lost' && state.overview !== undefined;
    if (now !== 'live') state.dueAt = Infinity;
    draw();
  },
  onRefused(refusal) {
    state.refusal = refusal;
    draw();
  },
});
setInterval(() => {
  if (document.hidden) return;
  if (performance.now() > state.dueAt) state.isStale = true;
  if (state.isStale || state.feed === 'paused') draw();
}, TICK_MS);
draw();
showTab();
