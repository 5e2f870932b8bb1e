/** The specification cannot drift from the statements: `proof/spec/README.md` says how to change both before a release. */
import { expect, test } from 'vitest';
import { disagreements } from './verbs.ts';

test('matches the statement that each operator was written from', () => {
  expect(
    disagreements(),
    'read the statement and its operator side by side, then: npm run spec -- --digest (see proof/spec/README.md)',
  ).toEqual([]);
});
