/** Where the command keeps the code that it has compiled: whoever may write there runs code as its user. */
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';

const MAIN = path.resolve(import.meta.dirname, '../../cli/main.ts');
const run = promisify(execFile);

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

  const version = (variables: Readonly<Record<string, string>> = {}) =>
    run(process.execPath, [MAIN, '--version'], {
      env: { PATH: process.env.PATH, TMPDIR: shared, HOME: home, ...variables },
    });
  const own = () => path.join(home, '.cache/leasehold/compiled');

  test("is kept in a folder of the user's own, and never in the common temporary folder", async () => {
    await version();

    expect(readdirSync(shared)).toEqual([]);
    expect(readdirSync(own())).not.toEqual([]);
    expect(statSync(own()).mode & 0o777).toBe(0o700);
  });

  test('is kept below XDG_CACHE_HOME if that is given, and in NODE_COMPILE_CACHE before all', async () => {
    const [caches, given] = ['caches', 'given'].map((name) => path.join(folder, name)) as [string, string];
    mkdirSync(caches);

    await version({ XDG_CACHE_HOME: caches });
    await version({ XDG_CACHE_HOME: caches, NODE_COMPILE_CACHE: given });

    expect(readdirSync(caches)).toEqual(['leasehold']);
    expect(readdirSync(given)).not.toEqual([]);
    expect(existsSync(path.join(home, '.cache'))).toBe(false);
    expect(readdirSync(shared)).toEqual([]);
  });

  test('is not kept without a home', async () => {
    await version({ HOME: path.join(folder, 'none') });
    await version({ XDG_CACHE_HOME: 'caches' });

    expect(readdirSync(folder).sort()).toEqual(['home', 'tmp']);
    expect(readdirSync(shared)).toEqual([]);
  });

  test.each(['home', 'own'] as const)('is not read where others may write (%s)', async (which) => {
    mkdirSync(own(), { recursive: true });
    chmodSync(which === 'home' ? home : own(), 0o777);

    await version();

    expect(readdirSync(own())).toEqual([]);
  });

  // Two users are needed, which only root can play.
  test.skipIf(process.getuid?.() !== 0)('is not read by another user who keeps the HOME of this one', async () => {
    chmodSync(folder, 0o755);
    await run('chown', ['4001:4001', home]);

    await version();

    expect(readdirSync(home)).toEqual([]);
    expect(readdirSync(shared)).toEqual([]);
  });
});
