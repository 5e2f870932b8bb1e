import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Child } from '../../../cli/run/child.ts';

describe('the gate before the program of leasehold run', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'leasehold-gate-'));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true });
  });
  const writing = (file: string): [string, ...string[]] => [
    process.execPath,
    '-e',
    'fs.writeFileSync(process.argv[1], JSON.stringify(process.env))',
    file,
  ];

  test('keeps the program from its first instruction until its guard has been told', async () => {
    const file = path.join(folder, 'begun');
    let hadBegun: boolean | undefined;

    const child = await Child.start(writing(file), process.env, () => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
      hadBegun = existsSync(file);
    });

    expect(await child.ended).toBe(0);
    expect(hadBegun).toBe(false);
    expect(existsSync(file)).toBe(true);
  });

  test('never opens when the guard could not be told', async () => {
    const file = path.join(folder, 'unguarded');
    let group = 0;

    const start = Child.start(writing(file), process.env, (spawned) => {
      group = spawned;
      throw new Error('the guard is gone');
    });

    await expect(start).rejects.toThrow('the guard is gone');
    await expect.poll(() => existsGroup(group)).toBe(false);
    expect(existsSync(file)).toBe(false);
  });

  test('passes on variables whose names a shell would drop', async () => {
    const file = path.join(folder, 'environment');

    const child = await Child.start(
      writing(file),
      { ...process.env, 'spring.profile-name': 'a b', PLAIN: 'c' },
      () => undefined,
    );

    expect(await child.ended).toBe(0);
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ 'spring.profile-name': 'a b', PLAIN: 'c' });
  });

  test.each([
    ['no such program', 'no-such-program', 127],
    ['a folder', '/tmp', 126],
    ['a file without the right to execute it', '/etc/passwd', 126],
  ])('is not even put up before %s', async (_, command, exitCode) => {
    await expect(Child.start([command], process.env, () => expect.unreachable())).rejects.toMatchObject({ exitCode });
  });
});

function existsGroup(group: number): boolean {
  try {
    return process.kill(-group, 0);
  } catch {
    return false;
  }
}
