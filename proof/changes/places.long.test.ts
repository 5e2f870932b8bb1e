/** Seeded and blind bugs find their places; `npm run changes` judges them. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { EQUIVALENT } from '../conjuncts/equivalent.ts';
import { BLIND_BUGS } from './blind/all.ts';
import { changed, filesOf } from './change.ts';
import { MUTANTS } from './seeded/all.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

describe('bugs', () => {
  test('have unique names', () => {
    const ids = [...MUTANTS, ...EQUIVALENT, ...BLIND_BUGS].map(({ id }) => id);

    expect(ids).toEqual([...new Set(ids)]);
  });

  test.each([...MUTANTS, ...BLIND_BUGS])('$id finds its places, and leaves code that can be loaded', (bug) => {
    for (const file of filesOf(bug)) {
      const source = readFileSync(path.join(ROOT, file), 'utf8');
      const text = changed(source, file, bug);

      expect(text).not.toBe(source);
      expect(ts.transpileModule(text, { reportDiagnostics: true }).diagnostics).toEqual([]);
    }
  });
});
