/** Source with a blind or a seeded bug in it. */
import type { Bug } from './bug.ts';

/** @throws if a piece does not occur exactly once */
export function swapped(source: string, file: string, { id, also = [], ...first }: Bug): string {
  return [first, ...also]
    .filter((swap) => swap.file === file)
    .reduce((text, { from, to }) => {
      const found = text.split(from).length - 1;
      if (found !== 1)
        throw new Error(`bug ${id}: ${JSON.stringify(from)} is in ${file} ${found} times, once is needed`);
      return text.replace(from, () => to);
    }, source);
}
