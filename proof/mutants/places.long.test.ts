/** Checks the names and places of the seeded bugs; `npm run mutants` hunts them all. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { MUTANTS } from './all.ts';
import { EQUIVALENT } from '../conjuncts/equivalent.ts';
import { mutated } from './mutated.ts';
import { complaintsOf } from './source.ts';

describe('seeded bugs', () => {
  test('have unique names', () => {
    const ids = [...MUTANTS, ...EQUIVALENT].map(({ id }) => id);

    expect(ids).toEqual([...new Set(ids)]);
  });

  test.each(MUTANTS.map((mutant) => [mutant.id, mutant] as const))(
    '%s finds its places, and leaves code that can be loaded',
    (id, mutant) => {
      for (const [file, edits] of Map.groupBy(mutant.edits, (edit) => edit.file)) {
        const source = sourceOf(file);
        const changed = mutated(id, source, edits);

        expect(changed).not.toBe(source);
        expect(complaintsOf(changed)).toEqual([]);
      }
    },
  );
});

function sourceOf(file: string): string {
  return readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), 'utf8');
}
