/** The middle one; of an even number, the mean of the two in the middle. NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low = NaN, high = NaN] = [(sorted.length - 1) >> 1, sorted.length >> 1].map((index) => sorted[index]);
  return (low + high) / 2;
}
