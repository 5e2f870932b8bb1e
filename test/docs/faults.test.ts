/** The table of faults in `docs/operating.md`: each line names a test that is there, and tells of signs that the code gives. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../support/documents.ts';

const ROW = /^\| (?<fault>[^|]+) \| (?<signs>[^|]+) \| `(?<file>test\/[^`|]+\.test\.ts)`: (?<title>[^|]+?) \|$/gm;
const guide = readFileSync(path.join(ROOT, 'docs/operating.md'), 'utf8');
const [, chapter = ''] = guide.split('## Symptoms by fault\n');
const table = chapter.split('\n## ')[0] ?? '';
const rows = [...table.matchAll(ROW)].map(
  ({ groups = {} }) => groups as Record<'fault' | 'signs' | 'file' | 'title', string>,
);
const sources = globSync('{functions,shared,cli,infra}/**/*.ts', { cwd: ROOT })
  .map((file) => readFileSync(path.join(ROOT, file), 'utf8'))
  .join('\n');

test('covers each line of the table', () => {
  // Less its head and the line below that.
  expect(rows).toHaveLength(table.split('\n').filter((line) => line.startsWith('|')).length - 2);
  expect(rows.length).toBeGreaterThanOrEqual(12);
});

describe.each(rows)('$fault', ({ signs, file, title }) => {
  test('is tried by the test that the table names', () => {
    expect(existsSync(path.join(ROOT, file))).toBe(true);
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
