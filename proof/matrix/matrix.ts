/** Judges the seeded and the blind bugs by every notation, and writes `proof/matrix.md`. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { sideBySide } from '../../shared/core/runtime/in-flight.ts';
import { startTestEngines } from '../../test/support/engines.ts';
import type { Bug as Seeded } from '../blind/bug.ts';
import { filesOf } from '../blind/bug.ts';
import { BLIND_BUGS } from '../blind/bugs.ts';
import { MUTANTS } from '../mutants/all.ts';
import type { Bug } from './judge.ts';
import { Judge, NOTATIONS } from './judge.ts';
import { pageOf } from './page.ts';

const PAGE = path.resolve(import.meta.dirname, '../matrix.md');
const SECTIONS = { 'Seeded bugs': MUTANTS.map(bugOf), 'Blind bugs': BLIND_BUGS.map(bugOf) };

/** @param options.minutes begins no further cell after these */
export async function writeMatrix(
  file: string,
  { workers, minutes }: { readonly workers: number; readonly minutes: number },
): Promise<void> {
  const engines = await startTestEngines({ required: false });
  const endsAt = Date.now() + minutes * 60_000;
  try {
    const judge = new Judge(file, engines.embedded?.endpoint);
    const limit = sideBySide(workers);
    const cells = Object.values(SECTIONS).flatMap((bugs) =>
      NOTATIONS.flatMap((notation) => bugs.map((bug) => ({ bug, notation }))),
    );
    await Promise.all(
      cells.map(({ bug, notation }) =>
        limit(async () => {
          if (Date.now() < endsAt) await judge.judge(bug, notation);
        }),
      ),
    );
    const sections = Object.fromEntries(
      Object.entries(SECTIONS).map(([title, bugs]) => [
        title,
        bugs.map((bug) => ({ ...bug, cells: judge.cells(bug), isComplete: judge.isComplete(bug) })),
      ]),
    );
    writeFileSync(PAGE, pageOf(sections, [...judge.commits]));
  } finally {
    await engines.stop();
  }
}

function bugOf(bug: Seeded) {
  const { id, what } = bug;
  return { id, what, files: filesOf(bug), env: { KNOWN_BUG: id } } satisfies Bug & { what: string };
}
