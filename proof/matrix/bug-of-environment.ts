/** Source with the bug in it that the environment names. */
import { BLIND_BUGS } from '../blind/bugs.ts';
import { swapped } from '../blind/swap.ts';
import { MUTANTS } from '../mutants/all.ts';
import { drawnByEnvironment, spliced } from '../stryker/drawn.ts';

/** `KNOWN_BUG` names a seeded or a blind bug; `DRAWN_MUTANT` describes a change. */
export function bugOfEnvironment(): (source: string, file: string) => string {
  const drawn = drawnByEnvironment();
  const bug = [...MUTANTS, ...BLIND_BUGS].find(({ id }) => id === process.env.KNOWN_BUG);
  return (source, file) => {
    if (drawn !== undefined) return drawn.file === file ? spliced(source, drawn) : source;
    return bug === undefined ? source : swapped(source, file, bug);
  };
}
