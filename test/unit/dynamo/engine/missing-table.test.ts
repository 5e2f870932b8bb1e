import { expect, test } from 'vitest';
import { isMissingTable } from '../../../../shared/dynamo/engine/missing-table.ts';

const named = (name: string, cause?: unknown) => Object.assign(new Error('no', { cause }), { name });
const coded = (code: string, cause?: unknown) => Object.assign(new Error('no', { cause }), { code });
const MISSING = 'ResourceNotFoundException';

test.each<[string, unknown, boolean]>([
  ["the SDK's error", named(MISSING), true],
  ["a driver's fault", coded(MISSING), true],
  ['an error that it caused', named('ConfigurationError', coded(MISSING)), true],
  ['an error whose cause it caused', new Error('a', { cause: new Error('b', { cause: named(MISSING) }) }), true],
  ['another error', named('ValidationException', coded('AccessDeniedException')), false],
  ['no error', MISSING, false],
  ['an error caused by none', new Error('a', { cause: { name: MISSING } }), false],
])('%s says that the table is missing, or not', (_what, thrown, isMissing) => {
  expect(isMissingTable(thrown)).toBe(isMissing);
});
