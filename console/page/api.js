/** The way to the server: questions, acts, and the feed of news. */

/** @import { Act, ActAnswer, Overview } from '../model.ts' */

/** The server's error in place of an answer. */
export class Refusal extends Error {
  /**
   * @param {number} status 0: it could not be reached
   * @param {string} message
   */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * @param {string} path
 * @param {Readonly<Record<string, string | undefined>>} [query]
 * @returns {Promise<any>}
 * @throws {Refusal}
 */
export async function ask(path, query = {}) {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  return answerOf(await reach(`api/${path}?${new URLSearchParams(given)}`, {}));
}

/**
 * @param {Act} act
 * @returns {Promise<ActAnswer>} refusals included: those are answers
 * @throws {Refusal} when it was not understood, or is not allowed
 */
export async function perform(act) {
  const headers = { 'Content-Type': 'application/json' };
  const response = await reach('api/acts', { method: 'POST', headers, body: JSON.stringify(act) });
  return response.status === 409 ? response.json() : answerOf(response);
}

const RETRY_MS = 1_500;

/**
 * Follows the news while the page is seen, and until it is paused; a page in the background costs nothing.
 * @param {{
 *   onOverview: (overview: Overview, nextInMs: number) => void,
 *   onFailure: (message: string) => void,
 *   onState: (state: 'live' | 'lost' | 'resting' | 'paused') => void,
 *   onRefused: (refusal: Refusal) => void,
 * }} listener
 * @returns {{ pause: (on: boolean) => void }}
 */
export function follow({ onOverview, onFailure, onState, onRefused }) {
  let isPaused = false;
  /** @type {EventSource | undefined} */
  let source;
  const rest = () => {
    source?.close();
    source = undefined;
  };
  const open = () => {
    source = new EventSource('api/live');
    source.addEventListener('overview', ({ data }) => {
      onState('live');
      const { overview, nextInMs } = JSON.parse(data);
      onOverview(overview, nextInMs);
    });
    source.addEventListener('failure', ({ data }) => {
      onState('live');
      onFailure(JSON.parse(data).message);
    });
    source.onerror = () => {
      rest();
      onState('lost');
      retryLater();
    };
  };
  // A feed that breaks says no reason; a question does.
  const retry = async () => {
    if (isPaused || document.hidden || source !== undefined) return;
    try {
      await ask('connection');
      open();
    } catch (error) {
      if (error instanceof Refusal && error.status === 401) onRefused(error);
      else retryLater();
    }
  };
  const retryLater = () => setTimeout(() => void retry(), RETRY_MS);
  const change = () => {
    if (isPaused || document.hidden) {
      rest();
      onState(isPaused ? 'paused' : 'resting');
    } else if (source === undefined) open();
  };
  document.addEventListener('visibilitychange', change);
  change();
  return {
    pause(on) {
      isPaused = on;
      change();
    },
  };
}

/**
 * @param {string} path
 * @param {RequestInit} init
 */
async function reach(path, init) {
  try {
    return await fetch(path, init);
  } catch {
    throw new Refusal(0, 'the console does not answer: is leasehold console still running?');
  }
}

/** @param {Response} response */
async function answerOf(response) {
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refusal(response.status, answer.error ?? `the console answered ${response.status}`);
  return answer;
}
