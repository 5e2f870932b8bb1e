import { expect, test } from 'vitest';
import { exportedPayloads } from '../../../../shared/tasks/task/payload.ts';
import { MemoryPayloads } from '../../../../shared/testing/memory-payloads.ts';

test('finds the store that a module of tasks exports', () => {
  const payloads = new MemoryPayloads();

  expect(exportedPayloads({ payloads, other: 1 })).toBe(payloads);
});

test.each([
  ['nothing of that name', {}],
  ['something else', { payloads: ['a', 'b'] }],
  ['half a store', { payloads: { get: () => undefined } }],
  ['nothing at all', { payloads: null }],
])('finds none in a module that exports %s', (_what, exports) => {
  expect(exportedPayloads(exports)).toBeUndefined();
});
