/** Numbers and times as people read them. */

/** @import { Count, QueueFigures } from '../model.ts' */

/** A span: two digits are enough. @param {number} ms */
export function span(ms) {
  const seconds = Math.abs(ms) / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} d`;
}

/**
 * `12 s ago`, or `in 3 min`.
 * @param {number} at
 * @param {number} now
 */
export function relative(at, now) {
  return at <= now ? `${span(now - at)} ago` : `in ${span(at - now)}`;
}

/** A moment in this browser's zone, to the second. @param {number} at */
export function moment(at) {
  return new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
}

/** @param {number} n */
export function whole(n) {
  return Math.round(n).toLocaleString('en-US');
}

/**
 * Workers, and how many of them are deployed.
 * @param {QueueFigures['workers']} workers
 */
export function workersText({ live, permits, limit }) {
  return limit === 0 ? String(live) : `${live}, with ${permits} of ${limit} permits`;
}

/** A rate a second. @param {number} n */
export function rate(n) {
  return n === 0 ? '0' : n < 10 ? n.toFixed(1) : whole(n);
}

/** What was counted up to a bound. @param {Count} counted */
export function counted({ count, isMore }) {
  return isMore ? `≥ ${whole(count)}` : whole(count);
}

/**
 * @param {number} count
 * @param {string} singular
 */
export function plural(count, singular) {
  return `${whole(count)} ${singular}${count === 1 ? '' : 's'}`;
}

/** An id's beginning and end; the whole is in its title. @param {string} id */
export function shortId(id) {
  return id.length > 14 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id;
}
