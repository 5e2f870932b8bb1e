/** Formats numbers and times for display. */

/** @import { Count, QueueFigures } from '../model.ts' */
import { isOn } from './settings.js';

/** How long something has gone on: whole units, so that it does not flicker. @param {number} ms */
export function age(ms) {
  const seconds = Math.floor(Math.abs(ms) / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** How long something took, or may take. @param {number} ms */
export function span(ms) {
  if (Math.abs(ms) < 1_000) return `${Math.round(ms)} ms`;
  return Math.abs(ms) < 10_000 ? `${Number((ms / 1_000).toFixed(1))} s` : age(ms);
}

const NOW_MS = 2_000;

/**
 * `12 s ago`, or `in 3 min`.
 * @param {number} at
 * @param {number} now
 */
export function relative(at, now) {
  if (Math.abs(now - at) < NOW_MS) return 'now';
  return at <= now ? `${age(now - at)} ago` : `in ${age(at - now)}`;
}

/** A moment in this browser's zone, to the second; the date only if it is not today. @param {number} at */
export function moment(at) {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  return date.toLocaleString(undefined, {
    ...(isToday ? {} : { year: 'numeric', month: 'short', day: 'numeric' }),
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'short',
  });
}

/**
 * A moment as the person at the page wants moments.
 * @param {number} at
 * @param {number} now
 */
export function momentText(at, now) {
  return isOn('absoluteTimes') ? moment(at) : relative(at, now);
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

/** Formats a rate per second as a lower bound. @param {number} n */
export function rateSeen(n) {
  if (n === 0) return 'none seen';
  return `≥ ${n < 0.1 ? n.toPrecision(1) : rate(n)}/s`;
}

/** Formats a count with an upper bound. @param {Count} counted */
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

/** An id's beginning and end. @param {string} id */
export function shortId(id) {
  return id.length > 14 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id;
}
