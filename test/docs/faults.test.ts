/** The table of faults in `docs/operating.md`: each fault is tried by a test, and shows signs that the code really gives. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../support/documents.ts';

/** The test of each fault: its file, and a part of it that names the case. */
const TESTS: Readonly<Record<string, readonly [file: string, title: string]>> = {
  'a worker runs out of memory': ['test/functions/metrics.full.test.ts', 'a heap that is full'],
  'task code calls `process.exit`': ['test/functions/metrics.full.test.ts', 'process.exit'],
  'an unhandled rejection in task code': ['test/functions/metrics.full.test.ts', 'an unhandled rejection'],
  'the worker function fails at any moment': ['test/infra/alarms-ring.full.test.ts', 'worker-errors'],
  'a blocked event loop': [
    'test/unit/session/blocked-loop.test.ts',
    'reports a session lost to a blocked event loop, with the remedy',
  ],
  'a task that kills its workers': ['test/unit/tasks/task/retry-policy.test.ts', 'WorkerDied'],
  'a task whose name no worker knows': [
    'test/infra/alarms-ring.full.test.ts',
    'rings for tasks whose names no worker knows',
  ],
  "a task that never fits into a worker's lifetime": [
    'test/unit/tasks/task/stalled.test.ts',
    'are dead after five lives without progress, with the reason, and counted from the second on',
  ],
  'a task that fails for ten minutes': [
    'test/infra/alarms-ring.full.test.ts',
    'rings for a task that has been failing for ten minutes, by one report',
  ],
  'a full disk under task code': [
    'test/unit/tasks/run/full-disk.test.ts',
    'a task that writes to a full disk is tried again, says so, and is told of when it lasts',
  ],
  'DynamoDB throttles': ['test/infra/alarms-ring.full.test.ts', 'rings for a table that throttles'],
  'the worker lacks a permission to end a task': [
    'test/unit/tasks/task/ends.test.ts',
    'a completion for which a permission is missing fails the attempt, and the row names the grant',
  ],
  'the dispatcher may start no worker': ['test/functions/printed.test.ts', 'a tick that can start none'],
  'a wrong clock': [
    'test/conformance/task/skew.test.ts',
    'expires no session, reports that once, and claims tasks without a holder',
  ],
  'a damaged row': ['test/infra/alarms-ring.full.test.ts', 'rings for rows that stay damaged'],
  'a schedule that cannot be carried out': [
    'test/conformance/task/schedules.test.ts',
    "reports a name that is too long for its task's key, and enqueues the others",
  ],
  'a restored table': [
    'test/cli/epoch.full.test.ts',
    'lets no token be given twice, after it has refused for as long as anything is at work',
  ],
};

const guide = readFileSync(path.join(ROOT, 'docs/operating.md'), 'utf8');
const [, chapter = ''] = guide.split('## Symptoms by fault\n');
const rows = Array.from((chapter.split('\n## ')[0] ?? '').matchAll(/^\| ([^|]+) \| ([^|]+) \|$/gm))
  .map(([, fault = '', signs = '']) => ({ fault, signs }))
  .slice(2);
const sources = globSync('{functions,shared,cli,infra}/**/*.ts', { cwd: ROOT })
  .map((file) => readFileSync(path.join(ROOT, file), 'utf8'))
  .join('\n');

test('lists each fault that has a test, and no other', () => {
  expect(rows.map(({ fault }) => fault)).toEqual(Object.keys(TESTS));
});

describe.each(rows)('$fault', ({ fault, signs }) => {
  test('is tried by its test', () => {
    const [file = '', title = ''] = TESTS[fault] ?? [];
    expect(readFileSync(path.join(ROOT, file), 'utf8')).toContain(title);
  });

  test('shows the signs that the table promises for $fault', () => {
    const words = [...signs.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word);
    expect(words.length).toBeGreaterThan(0);
    // A command is looked up by `commands.test.ts`, a runbook by `links.test.ts`.
    const ours = words.filter((word) => !word.startsWith('leasehold '));
    expect(ours.filter((word) => !sources.includes(word))).toEqual([]);
  });
});
