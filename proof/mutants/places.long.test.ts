/** Seeded and blind bugs find their places; `npm run mutants` hunts all seeded ones. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { filesOf } from '../blind/bug.ts';
import { BLIND_BUGS } from '../blind/bugs.ts';
import { swapped } from '../blind/swap.ts';
import { EQUIVALENT } from '../conjuncts/equivalent.ts';
import { MUTANTS } from './all.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

describe('bugs', () => {
  test('have unique names', () => {
    const ids = [...MUTANTS, ...EQUIVALENT, ...BLIND_BUGS].map(({ id }) => id);

    expect(ids).toEqual([...new Set(ids)]);
  });

  test.each([...MUTANTS, ...BLIND_BUGS])('$id finds its places, and leaves code that can be loaded', (bug) => {
    for (const file of filesOf(bug)) {
      const source = readFileSync(path.join(ROOT, file), 'utf8');
      const changed = swapped(source, file, bug);

      expect(changed).not.toBe(source);
      expect(ts.transpileModule(changed, { reportDiagnostics: true }).diagnostics).toEqual([]);
    }
  });
});
