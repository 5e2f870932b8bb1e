/** Source with a blind bug in it. */
import type { BlindBug } from './bug.ts';

/** @throws if a piece does not occur exactly once */
export function swapped(source: string, file: string, { id, swaps }: BlindBug): string {
  return swaps
    .filter((swap) => swap.file === file)
    .reduce((text, { from, to }) => {
      const found = text.split(from).length - 1;
      if (found !== 1) throw new Error(`blind bug ${id}: ${JSON.stringify(from)} is in ${file} ${found} times`);
      return text.replace(from, () => to);
    }, source);
}
