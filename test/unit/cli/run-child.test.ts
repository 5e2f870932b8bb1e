import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Child } from '../../../cli/run/child.ts';
import { ManualClock } from '../../support/manual-clock.ts';

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

  test('keeps the program from its first instruction until its guard is informed', async () => {
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

  test('never opens if the guard could not be informed', async () => {
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

  test.runIf(process.platform === 'linux')('shows no value of a variable in any argument while it waits', async () => {
    const secret = `secret-${process.pid}-${process.hrtime.bigint()}`;
    let shown: string[] = [];
    let group = 0;

    const environment = { ...process.env, 'npm_config_//registry.example/:_authToken': secret, PLAIN: secret };
    const child = await Child.start([process.execPath, '--version'], environment, (spawned) => {
      group = spawned;
      shown = argumentsOf(readdirSync('/proc'));
    });

    expect(await child.ended).toBe(0);
    expect(group).toBe(child.group);
    expect(shown.length).toBeGreaterThan(1);
    expect(shown.filter((line) => line.includes(secret))).toEqual([]);
  });

  describe.each([
    ['names that every shell keeps', {}],
    ['a name that no shell keeps', { 'a.b': '1' }],
  ])('for %s', (_, odd) => {
    const environment = { ...process.env, ...odd };

    test('leads to a program with its own group, its signals as they are by default, and no pipe left open', async () => {
      const file = path.join(folder, 'state');
      const script = `{ grep -h '^SigIgn' /proc/self/status; ls /proc/$$/fd; echo $$; } > ${file} 2>&1; kill -s TERM $$`;

      const child = await Child.start(['/bin/sh', '-c', script], environment, () => undefined);

      expect(await child.ended).toBe(128 + 15);
      const state = (await readFile(file, 'utf8')).split('\n');
      expect(state).toContain(String(child.group));
      if (process.platform === 'linux') {
        expect(state[0]).toBe('SigIgn:\t0000000000000000');
        expect(state).not.toContain('3');
      }
    });

    test('ends with the signal that ends it while it waits', async () => {
      const file = path.join(folder, 'killed');

      const child = await Child.start(writing(file), environment, (group) => {
        process.kill(-group, 'SIGKILL');
      });

      expect(await child.ended).toBe(128 + 9);
      expect(existsSync(file)).toBe(false);
    });

    test('hands the arguments over as they are', async () => {
      const file = path.join(folder, 'arguments');
      const program = 'fs.writeFileSync(process.argv[1], JSON.stringify(process.argv.slice(2)))';
      const given = ['', 'a b', '--', '-e', "it's", '$HOME', 'A=B'];

      const child = await Child.start(
        [process.execPath, '-e', program, '--', file, ...given],
        environment,
        () => undefined,
      );

      expect(await child.ended).toBe(0);
      expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(given);
    });
  });

  test('takes no options of Node from the variables that it hands over', async () => {
    const environment = { ...process.env, 'a.b': '1', NODE_OPTIONS: '--require=/no/such/module' };

    const child = await Child.start(['/bin/sh', '-c', 'exit 5'], environment, () => undefined);

    expect(await child.ended).toBe(5);
  });

  test('finds a program in a part of the search path that is empty, which is the working folder, and behind parts without it', async () => {
    const search = (PATH: string) => Child.start(['vitest.config.ts'], { PATH }, () => expect.unreachable());

    await expect(search('/nowhere::/tmp')).rejects.toMatchObject({ exitCode: 126 });
    await expect(search('/nowhere:/tmp')).rejects.toMatchObject({ exitCode: 127 });
    await expect(search('/etc/passwd:/tmp')).rejects.toMatchObject({ exitCode: 127 });
  });

  test.each([
    ['no such program', 'no-such-program', 127],
    ['a folder', '/tmp', 126],
    ['a file without the right to execute it', '/etc/passwd', 126],
  ])('is not even put up before %s', async (_, command, exitCode) => {
    await expect(Child.start([command], process.env, () => expect.unreachable())).rejects.toMatchObject({ exitCode });
  });
});

test('the rest of a program gets a request to stop, time for it, and an end', async () => {
  const child = await Child.start(['/bin/sh', '-c', 'exit 0'], process.env, () => undefined);
  await child.ended;
  const story = async (graceMs: number, endsAtMs: number): Promise<string> => {
    const clock = new ManualClock('2026-01-01T00:00:00Z');
    const signals: string[] = [];
    let looks = 0;
    const kill = vi.spyOn(process, 'kill').mockImplementation((pid, signal) => {
      expect(pid).toBe(-child.group);
      if (clock.monotonic() >= endsAtMs) throw new Error('no such process');
      if (signal === 0) looks++;
      else signals.push(`+${clock.monotonic()} ms ${String(signal)}`);
      return true;
    });
    try {
      await clock.runUntil(child.stop(graceMs, clock), () => true);
    } finally {
      kill.mockRestore();
    }
    return `grace ${graceMs} ms, ends at ${endsAtMs} ms: ${[...signals, `over at ${clock.monotonic()} ms, seen alive ${looks} times`].join(', ')}`;
  };

  const stories = [
    await story(0, 0),
    await story(0, 99),
    await story(100, 60),
    await story(100, 100),
    await story(5_000, 9_000),
  ];

  expect(stories).toEqual([
    'grace 0 ms, ends at 0 ms: over at 0 ms, seen alive 0 times',
    'grace 0 ms, ends at 99 ms: +0 ms SIGTERM, +0 ms SIGCONT, +0 ms SIGKILL, over at 0 ms, seen alive 2 times',
    'grace 100 ms, ends at 60 ms: +0 ms SIGTERM, +0 ms SIGCONT, over at 75 ms, seen alive 4 times',
    'grace 100 ms, ends at 100 ms: +0 ms SIGTERM, +0 ms SIGCONT, over at 100 ms, seen alive 5 times',
    'grace 5000 ms, ends at 9000 ms: +0 ms SIGTERM, +0 ms SIGCONT, +5000 ms SIGKILL, over at 5000 ms, seen alive 202 times',
  ]);
});

function argumentsOf(pids: readonly string[]): string[] {
  return pids.flatMap((pid) => {
    try {
      return [readFileSync(`/proc/${pid}/cmdline`, 'utf8')];
    } catch {
      return []; // No process, or an ended one.
    }
  });
}

function existsGroup(group: number): boolean {
  try {
    return process.kill(-group, 0);
  } catch {
    return false;
  }
}
