/** Small plots of a figure over the last minutes. */
import { h, svg } from './dom.js';
import { moment } from './format.js';

/** @typedef {{ readonly at: number, readonly value: number }} Point */

const WIDTH = 240;
const HEIGHT = 48;
/** Shortest time axis, so that the first seconds do not look like a day. */
const SHORTEST_MS = 60_000;

/** The pointer's position, by plot: from 0 at the left to 1. @type {Map<string, number>} */
const pointers = new Map();

/** How much time plots of these points show. @param {readonly { readonly at: number }[]} points */
export function plottedMs(points) {
  return Math.max(SHORTEST_MS, (points.at(-1)?.at ?? 0) - (points[0]?.at ?? 0));
}

/**
 * A line over time, from the left. Gaps mark times without a poll.
 * @param {string} label what it is
 * @param {readonly Point[]} points oldest first
 * @param {{ readonly tone?: string, readonly as?: 'area' | 'line' | 'bars', readonly text: (value: number) => string }} options
 */
export function plot(label, points, { tone = 'neutral', as = 'area', text }) {
  const from = points[0]?.at ?? 0;
  const until = from + plottedMs(points);
  const values = points.map(({ value }) => value);
  const most = Math.max(0, ...values);
  const x = (/** @type {number} */ at) => ((at - from) / (until - from)) * WIDTH;
  const y = (/** @type {number} */ value) => HEIGHT - 2 - (value / Math.max(1e-9, most)) * (HEIGHT - 6);
  const numbers =
    points.length === 0
      ? 'no value yet'
      : `now ${text(values.at(-1) ?? 0)}, highest ${text(most)}, lowest ${text(Math.min(...values))}`;
  /** @param {PointerEvent} event */
  const onpointermove = ({ currentTarget, clientX }) => {
    const { left, width } = /** @type {Element} */ (currentTarget).getBoundingClientRect();
    pointers.set(label, (clientX - left) / width);
    show(/** @type {Element} */ (currentTarget));
  };
  /** @param {PointerEvent} event */
  const onpointerleave = ({ currentTarget }) => {
    pointers.delete(label);
    show(/** @type {Element} */ (currentTarget));
  };
  const pointed = () => {
    const place = pointers.get(label);
    if (place === undefined) return `highest ${text(most)}`;
    const at = from + place * (until - from);
    const near = points.toSorted((one, other) => Math.abs(one.at - at) - Math.abs(other.at - at))[0];
    return near === undefined ? '' : `${text(near.value)} at ${moment(near.at)}`;
  };
  /** @param {Element} picture */
  const show = (picture) => {
    const caption = picture.querySelector('figcaption');
    if (caption !== null) caption.textContent = pointed();
  };
  return h(
    'figure',
    { class: `plot ${tone}`, onpointermove, onpointerleave },
    h('figcaption', { 'aria-hidden': 'true' }, pointed()),
    svg(
      'svg',
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        preserveAspectRatio: 'none',
        role: 'img',
        'aria-label': `${label}: ${numbers}`,
      },
      svg('line.ground', { x1: 0, x2: WIDTH, y1: HEIGHT - 1, y2: HEIGHT - 1 }),
      as === 'bars' ? barsOf(points, x, y) : runsOf(points).flatMap((run) => lineOf(run, x, y, as === 'area')),
    ),
  );
}

/** A pause this many times longer than usual is a gap. */
const GAP = 6;

/**
 * @param {readonly Point[]} run
 * @param {(at: number) => number} x
 * @param {(value: number) => number} y
 * @param {boolean} hasArea
 */
function lineOf(run, x, y, hasArea) {
  const line = run.map(({ at, value }) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(' ');
  const [first, last] = [run[0], run.at(-1)];
  if (first === undefined || last === undefined) return [];
  const area = `${x(first.at).toFixed(1)},${HEIGHT - 1} ${line} ${x(last.at).toFixed(1)},${HEIGHT - 1}`;
  return [...(hasArea ? [svg('polygon.area', { points: area })] : []), svg('polyline.line', { points: line })];
}

/**
 * @param {readonly Point[]} points
 * @param {(at: number) => number} x
 * @param {(value: number) => number} y
 */
function barsOf(points, x, y) {
  return points.flatMap(({ at, value }) =>
    value === 0 ? [] : [svg('line.bar', { x1: x(at), x2: x(at), y1: HEIGHT - 1, y2: y(value) })],
  );
}

/** @param {readonly Point[]} points */
function runsOf(points) {
  const pauses = points.slice(1).map(({ at }, index) => at - (points[index]?.at ?? at));
  const usual = pauses.toSorted((one, other) => one - other)[Math.floor(pauses.length / 2)] ?? Infinity;
  /** @type {Point[][]} */
  const runs = [[]];
  points.forEach((point, index) => {
    const before = points[index - 1];
    if (before !== undefined && point.at - before.at > usual * GAP) runs.push([]);
    runs.at(-1)?.push(point);
  });
  return runs;
}
