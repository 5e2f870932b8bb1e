/** Sittings of the trace check, added up. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Exported } from './export.ts';
import { nothingFrom, readSum, rowsOf, unseenIn, withHistory, writeSum } from './sum.ts';

const HISTORY: Exported = {
  seed: 7n,
  holds: true,
  skewMs: 100,
  events: ['<<>>', '<<>>', '<<>>'],
  traces: [
    { kind: 'task', row: 'task#1', sessions: [1], events: [1, 2] },
    { kind: 'session', row: 'session#1', sessions: [1], events: [3] },
  ],
  verbs: new Map([
    ['task.claim', 2],
    ['session.create', 1],
  ]),
  leftOut: new Map([['never written', 1]]),
};

test('two histories add up to their rows, their events and the rows left out', () => {
  const sum = withHistory(withHistory(nothingFrom(7), HISTORY), HISTORY);

  expect(sum).toMatchObject({ from: 7, histories: 2, traces: { task: 2, session: 2 }, events: 6 });
  expect(sum.verbs).toEqual({ 'task.claim': 4, 'session.create': 2 });
  expect(rowsOf(sum)).toEqual({ checked: 4, leftOut: 2 });
});

test('operators without an event are named', () => {
  const unseen = unseenIn(withHistory(nothingFrom(1), HISTORY));

  expect(unseen).toContain('lock.acquire');
  expect(unseen).not.toContain('task.claim');
});

test('finds the sum of the previous run', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'leasehold-sum-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  const file = path.join(folder, 'sum.json');
  expect(readSum(file)).toBeUndefined();

  writeSum(file, withHistory(nothingFrom(1), HISTORY));

  expect(readSum(file)).toEqual(withHistory(nothingFrom(1), HISTORY));
});
