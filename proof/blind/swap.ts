/** Source with a blind or a seeded bug in it. */
import type { BlindBug } from './bug.ts';

/** @throws if a piece does not occur exactly once */
export function swapped(source: string, file: string, { id, swaps }: Pick<BlindBug, 'id' | 'swaps'>): string {
  return swaps
    .filter((swap) => swap.file === file)
    .reduce((text, { from, to }) => {
      const found = text.split(from).length - 1;
      if (found !== 1)
        throw new Error(`bug ${id}: ${JSON.stringify(from)} is in ${file} ${found} times, once is needed`);
      return text.replace(from, () => to);
    }, source);
}
