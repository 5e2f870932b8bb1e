/** Small plots over time: what a figure has done in the last minutes. */
import { svg } from './dom.js';

const WIDTH = 240;
const HEIGHT = 48;
/** At least so long, so that the first seconds do not look like a day. */
const SHORTEST_MS = 60_000;

/** How much time plots of these points show. @param {readonly { readonly at: number }[]} points */
export function plottedMs(points) {
  return Math.max(SHORTEST_MS, (points.at(-1)?.at ?? 0) - (points[0]?.at ?? 0));
}

/**
 * An area over time. Where no look was taken, nothing is drawn.
 * @param {string} label what it is, for those who do not see it
 * @param {readonly { readonly at: number, readonly value: number }[]} points oldest first
 * @param {{ readonly tone?: string, readonly asBars?: boolean }} [options]
 */
export function plot(label, points, { tone = 'accent', asBars = false } = {}) {
  const until = points.at(-1)?.at ?? 0;
  const from = until - plottedMs(points);
  const most = Math.max(1e-9, ...points.map(({ value }) => value));
  const x = (/** @type {number} */ at) => ((at - from) / (until - from)) * WIDTH;
  const y = (/** @type {number} */ value) => HEIGHT - 2 - (value / most) * (HEIGHT - 6);
  const marks = asBars ? barsOf(points, x, y) : areasOf(points, x, y);
  return svg(
    'svg',
    {
      class: `plot ${tone}`,
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label': label,
    },
    svg('line', { class: 'ground', x1: 0, x2: WIDTH, y1: HEIGHT - 1, y2: HEIGHT - 1 }),
    marks,
  );
}

/** A pause this many times longer than usual is a gap. */
const GAP = 6;

/**
 * @param {readonly { readonly at: number, readonly value: number }[]} points
 * @param {(at: number) => number} x
 * @param {(value: number) => number} y
 */
function areasOf(points, x, y) {
  return runsOf(points).flatMap((run) => {
    const line = run.map(({ at, value }) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`);
    const [first, last] = [run[0], run.at(-1)];
    if (first === undefined || last === undefined) return [];
    const area = `${x(first.at).toFixed(1)},${HEIGHT - 1} ${line.join(' ')} ${x(last.at).toFixed(1)},${HEIGHT - 1}`;
    return [
      svg('polygon', { class: 'area', points: area }),
      svg('polyline', { class: 'line', points: line.join(' ') }),
    ];
  });
}

/**
 * @param {readonly { readonly at: number, readonly value: number }[]} points
 * @param {(at: number) => number} x
 * @param {(value: number) => number} y
 */
function barsOf(points, x, y) {
  return points.flatMap(({ at, value }) =>
    value === 0 ? [] : [svg('line', { class: 'bar', x1: x(at), x2: x(at), y1: HEIGHT - 1, y2: y(value) })],
  );
}

/** @param {readonly { readonly at: number, readonly value: number }[]} points */
function runsOf(points) {
  const pauses = points.slice(1).map(({ at }, index) => at - (points[index]?.at ?? at));
  const usual = pauses.toSorted((one, other) => one - other)[Math.floor(pauses.length / 2)] ?? Infinity;
  /** @type {{ readonly at: number, readonly value: number }[][]} */
  const runs = [[]];
  points.forEach((point, index) => {
    const before = points[index - 1];
    if (before !== undefined && point.at - before.at > usual * GAP) runs.push([]);
    runs.at(-1)?.push(point);
  });
  return runs;
}
