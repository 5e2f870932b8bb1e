import { expect, test } from 'vitest';
import { exportedPayloads } from '../../../../shared/tasks/task/payload.ts';
import { MemoryPayloads } from '../../../../shared/testing/memory-payloads.ts';

test('finds the store that a module of tasks exports', () => {
  const payloads = new MemoryPayloads();

  expect(exportedPayloads({ payloads, other: 1 })).toBe(payloads);
});

test('finds none in a module that exports nothing of that name', () => {
  expect(exportedPayloads({})).toBeUndefined();
});

test.each([
  ['something else', ['a', 'b']],
  ['half a store', { get: () => undefined }],
  ['nothing at all', null],
])('refuses %s, because inputs would get lost', (_what, payloads) => {
  expect(() => exportedPayloads({ payloads })).toThrow(
    /exports payloads = .*: export a store with put, get, delete, or name it otherwise/,
  );
});
