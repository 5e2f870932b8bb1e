/** The command's compile cache: a user who can write there runs code as the command's user. */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';

const MAIN = path.resolve(import.meta.dirname, '../../api/command.ts');

describe.skipIf(process.platform === 'win32')('the compiled code of the command', () => {
  let folder: string;
  let shared: string;
  let home: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'leasehold-cache-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    [shared, home] = ['tmp', 'home'].map((name) => path.join(folder, name)) as [string, string];
    mkdirSync(shared);
    mkdirSync(home, { mode: 0o700 });
  });

  const help = (variables: Readonly<Record<string, string>> = {}) =>
    execFileSync(process.execPath, [MAIN, 'queues', '--help'], {
      env: { PATH: process.env.PATH, TMPDIR: shared, HOME: home, ...variables },
    });
  const own = () => path.join(home, '.cache/leasehold/compiled');

  test("lives in the user's folder, never in the shared temporary folder", () => {
    help();

    expect(readdirSync(shared)).toEqual([]);
    expect(readdirSync(own())).not.toEqual([]);
    expect(statSync(own()).mode & 0o777).toBe(0o700);
  });

  test('is kept below XDG_CACHE_HOME if that is given, and in NODE_COMPILE_CACHE before all', () => {
    const [caches, given] = ['caches', 'given'].map((name) => path.join(folder, name)) as [string, string];
    mkdirSync(caches);

    help({ XDG_CACHE_HOME: caches });
    help({ XDG_CACHE_HOME: caches, NODE_COMPILE_CACHE: given });

    expect(readdirSync(caches)).toEqual(['leasehold']);
    expect(readdirSync(given)).not.toEqual([]);
    expect(existsSync(path.join(home, '.cache'))).toBe(false);
    expect(readdirSync(shared)).toEqual([]);
  });

  test('is not kept without a home', () => {
    help({ HOME: path.join(folder, 'none') });
    help({ XDG_CACHE_HOME: 'caches' });

    expect(readdirSync(folder).sort()).toEqual(['home', 'tmp']);
    expect(readdirSync(shared)).toEqual([]);
  });

  test.each(['', '.cache', '.cache/leasehold', '.cache/leasehold/compiled'])(
    'is not read where others may write to ~/%s',
    (level) => {
      mkdirSync(own(), { recursive: true });
      chmodSync(path.join(home, level), 0o777);

      help();

      expect(readdirSync(own())).toEqual([]);
    },
  );

  // Two users are needed, which only root can play.
  test.skipIf(process.getuid?.() !== 0)('is not read by another user who keeps the HOME of this one', () => {
    chmodSync(folder, 0o755);
    execFileSync('chown', ['4001:4001', home]);

    help();

    expect(readdirSync(home)).toEqual([]);
    expect(readdirSync(shared)).toEqual([]);
  });
});
