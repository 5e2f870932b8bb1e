/** Figures of a bench: statistics and their format. */
import { inspect } from 'node:util';

/** The middle one; of an even number, the mean of the two in the middle. NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low = NaN, high = NaN] = [(sorted.length - 1) >> 1, sorted.length >> 1].map((index) => sorted[index]);
  return (low + high) / 2;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN;
}

export function round(figure: number): number {
  return Math.round(figure * 100) / 100;
}

export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), least: Math.min(...values), most: Math.max(...values) };
}

const READABLE = { depth: Infinity, maxArrayLength: null, breakLength: 120 } as const;

/** Prints one JSON object for programs; or, for people, the same with four digits. */
export function print(figures: object, json = false): void {
  if (json) console.log(JSON.stringify(figures));
  else console.log(inspect(JSON.parse(JSON.stringify(figures, withFourDigits)), READABLE));
}

function withFourDigits(_name: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value;
}
