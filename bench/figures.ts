/** Figures of a bench: statistics and their format. */
import Table from 'cli-table3';

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

/** Names at the left, figures right-aligned. */
export function tableOf(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const colAligns = head.map((_, at) => (at === 0 ? 'left' : 'right'));
  const table = new Table({ head: [...head], colAligns, style: { head: [], border: [], compact: true } });
  table.push(...rows.map((row) => [...row]));
  return table.toString();
}
