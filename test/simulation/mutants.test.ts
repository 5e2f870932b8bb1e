/** What the seeded bugs rest on: names, and the text that each changes; `npm run mutants` hunts them all. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { MUTANTS } from './mutations/all.ts';
import { EQUIVALENT, KILLED_ELSEWHERE } from './mutations/equivalent.ts';
import { applied } from './mutations/load-mutated.ts';

describe('seeded bugs', () => {
  test('have names of their own', () => {
    const ids = [...MUTANTS, ...KILLED_ELSEWHERE, ...EQUIVALENT].map(({ id }) => id);

    expect(ids).toEqual([...new Set(ids)]);
  });

  test.each(MUTANTS.map((mutant) => [mutant.id, mutant] as const))(
    '%s still finds the text that it changes',
    (id, { edits }) => {
      for (const edit of edits) {
        const source = readFileSync(fileURLToPath(new URL(`../../${edit.file}`, import.meta.url)), 'utf8');

        expect(applied(id, source, edit)).not.toBe(source);
      }
    },
  );

  test.each(KILLED_ELSEWHERE)('$id is killed by a test that is there', ({ by }) => {
    const [file = '', name = ''] = by.split(': ');

    expect(readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), 'utf8')).toContain(name);
  });
});
