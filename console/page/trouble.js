/** The banner above a page that is stale or could not be loaded. */

/** @import { Overview } from '../model.ts' */
/** @import { Child } from './dom.js' */
/** @import { Refusal } from './api.js' */
import { h } from './dom.js';
import { moment } from './format.js';

/**
 * @param {{ readonly overview?: Overview, readonly refusal?: Refusal, readonly failure?: string, readonly feed: string, readonly isStale: boolean }} state
 * @returns {Child}
 */
export function trouble({ overview, refusal, failure, feed, isStale }) {
  // The request itself was wrong: waiting does not help.
  if (refusal !== undefined && refusal.status >= 400 && refusal.status < 500)
    return banner('bad', [h('strong', 'The request was refused.'), ' ', refusal.message]);
  const details = refusal?.message ?? failure;
  if (overview === undefined)
    return details === undefined ? undefined : banner('bad', [h('strong', 'The table cannot be read.'), ' ', details]);
  if (!isStale && refusal === undefined) return undefined;
  const who = feed === 'lost' || refusal?.status === 0 ? 'The console' : 'The table';
  return banner('warning', [
    h('strong', `${who} has not answered since ${moment(overview.now)}.`),
    ' Shown: as of then. Trying again.',
    details !== undefined && h('details', h('summary', 'Technical details'), details),
  ]);
}

/**
 * @param {string} tone
 * @param {Child} children
 */
function banner(tone, children) {
  return h('div', { class: `trouble ${tone}`, role: 'alert', 'data-key': 'trouble' }, children);
}
