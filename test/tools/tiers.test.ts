import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { repeatCommand } from '../support/reporter.ts';
import { ALL, TIERS } from '../support/tiers.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

function tiersOf(file: string): string[] {
  return Object.entries(TIERS)
    .filter(([, { include, exclude }]) => isIn(file, include) && !isIn(file, exclude))
    .map(([tier]) => tier);
}

function isIn(file: string, places: readonly string[]): boolean {
  return places.some((place) => path.matchesGlob(file, place));
}

/** The test files that vitest finds in a tier, whatever its configuration excludes, relative to the root. */
function filesIn(tier: string): string[] {
  const vitest = path.join(ROOT, 'node_modules/vitest/vitest.mjs');
  const args = [vitest, 'list', '--filesOnly', '--json', '--mode', tier];
  const stdout = execFileSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
  return (JSON.parse(stdout) as { readonly file: string }[]).map(({ file }) => path.relative(ROOT, file));
}

describe('the tiers of tests', () => {
  test('run every test file, once', () => {
    const found = Object.keys(TIERS).flatMap(filesIn);

    expect(found.toSorted()).toEqual(globSync(ALL, { cwd: ROOT }).toSorted());
  });

  test.each([
    ['test/unit/lock/line.test.ts', 'first'],
    ['test/unit/lock/line.full.test.ts', 'full'],
    ['test/infra/waker.test.ts', 'first'],
    ['test/cli/run.full.test.ts', 'full'],
    ['proof/changes/changes.long.test.ts', 'long'],
    ['test/e2e/start.test.ts', 'full'],
    ['test/a-new-folder/some.test.ts', 'full'],
  ])('%s is of the %s one', (file, tier) => {
    expect(tiersOf(file)).toEqual([tier]);
  });
});

describe('the command that repeats a test', () => {
  test.each(['a lock > is free', "refuses $5 (or 'more') > of [a|b]*", 'C:\\ > ends with a question?'])(
    'finds it: %s',
    (name) => {
      const [, quoted = ''] = / -t '(.*)'$/.exec(repeatCommand('test/unit/x.test.ts', name)) ?? [];

      const pattern = new RegExp(quoted.replaceAll(String.raw`'\''`, "'"));

      expect(name.replaceAll(' > ', ' ')).toMatch(pattern);
    },
  );

  test('names the file if no test was reached', () => {
    expect(repeatCommand('test/unit/x.test.ts')).toBe('npx vitest run test/unit/x.test.ts');
  });
});
