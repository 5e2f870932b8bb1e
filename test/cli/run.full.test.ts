import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { RunningCommand } from '../support/command.ts';
import { endCommand, runCommand, startCommand } from '../support/command.ts';
import type { CommandTable } from '../support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../support/command-table.ts';
import { expectGone, isRunning } from '../support/processes.ts';

const endpoint = inject('embeddedEndpoint');
/** Prints its pid, and runs until stopped. */
const SLEEPER = ['sh', '-c', 'echo pid $$; while :; do sleep 0.1; done'];

describe.skipIf(endpoint === null)('leasehold run', () => {
  let table: CommandTable;
  let folder: string;
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
    folder = await mkdtemp(path.join(tmpdir(), 'leasehold-run-'));
  });
  afterAll(async () => {
    closeCommandTable(table);
    await rm(folder, { recursive: true });
  });

  const run = (...argv: string[]) => endCommand(table, 'run', ...argv);
  const start = (...argv: string[]) => startCommand(table, 'run', ...argv);
  const holderOf = async (key: string) => (await table.leasehold.locks.get(key))?.holder;

  test('runs a program under a lock, passes its streams and its exit code on, and gives the lock back', async () => {
    const command = start('--lock', 'plain', '--', 'sh', '-c', 'read line; echo "got $line"; echo aside >&2; exit 7');
    command.process.stdin?.end('input\n');
    const end = await command.ended;

    expect(end).toMatchObject({ exitCode: 7, out: 'got input\n', err: 'aside\n' });
    expect(await holderOf('plain')).toBeUndefined();
  });

  test('proves the lease to the program', async () => {
    const end = await run(
      '--lock',
      'proof',
      '--',
      'sh',
      '-c',
      'echo "$LEASEHOLD_FENCING_TOKEN $LEASEHOLD_SEQUENCER $LEASEHOLD_SESSION"',
    );

    const [token, sequencer = '', session = ''] = end.out.trim().split(' ');
    expect(Number(token)).toBe((await table.leasehold.locks.get('proof'))?.leaseCounter);
    expect(await table.leasehold.verify(sequencer)).toEqual({ kind: 'released' });
    expect(await table.leasehold.sessions.get(session)).toMatchObject({
      status: 'invalid',
      reason: 'ended',
      name: 'sh',
    });
  });

  test('says who has the lock when it is held, and does not start the program', async () => {
    await using session = await table.leasehold.session({ name: 'rival', node: 'elsewhere' });
    await session.lock('taken');

    const end = await run('--lock', 'taken', '--', 'echo', 'started');

    expect(end).toMatchObject({ exitCode: 75, out: '' });
    expect(end.err).toMatch(
      /^error: not acquired without a wait .*taken: held since .* by session .* \(rival on elsewhere\)/,
    );
  });

  test.each([['--lock'], ['--leader'], ['--semaphore']])(
    'refuses a second %s, because it could keep only one',
    async (option) => {
      const [first, second] = option === '--semaphore' ? ['a=1', 'b=1'] : ['a', 'b'];

      const end = await runCommand(table, 'run', option, first, option, second, '--', 'echo', 'started');

      expect(end).toMatchObject({ exitCode: 2, out: '' });
      expect(end.err).toMatch(/must be given once: one (?:lock|election|semaphore) for each run/);
    },
  );

  test('waits for the lock up to the given time', async () => {
    const session = await table.leasehold.session();
    await session.lock('awaited');
    const command = start('--lock', 'awaited', '--wait', '20s', '--', 'echo', 'started');
    await expect.poll(async () => countSessions(table, 'echo')).toBe(1);

    await session.end();

    expect(await command.ended).toMatchObject({ exitCode: 0, out: 'started\n' });
  });

  test('lets no two of many run at once', async () => {
    const log = path.join(folder, 'overlap');
    const script = `echo in >> ${log}; sleep 0.2; echo out >> ${log}`;
    const ends = await Promise.all(
      [1, 2, 3].map(() => run('--lock', 'crowd', '--wait', '30s', '--', 'sh', '-c', script)),
    );

    expect(ends.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
    expect((await readFile(log, 'utf8')).trim().split('\n')).toEqual(['in', 'out', 'in', 'out', 'in', 'out']);
  });

  test('holds a permit of a semaphore, and is refused when there is none left', async () => {
    const first = start('--semaphore', 'slots=1', '--', ...SLEEPER);
    const pid = await pidOf(first);

    const second = await run('--semaphore', 'slots=1', '--', 'true');
    const other = await run('--semaphore', 'slots=2', '--', 'true');

    expect(second).toMatchObject({ exitCode: 75 });
    expect(second.err).toContain('semaphore slots is full (1 of 1 in use)');
    expect(other).toMatchObject({ exitCode: 5 });
    first.process.kill('SIGTERM');
    await expectGone([pid]);
  });

  test('is the leader of an election', async () => {
    const leader = start('--leader', 'boss', '--', ...SLEEPER);
    await pidOf(leader);

    expect(await table.leasehold.elections.get('boss')).toMatchObject({ name: 'sh' });
    expect(await run('--leader', 'boss', '--', 'true')).toMatchObject({ exitCode: 75 });
    leader.process.kill('SIGTERM');
    await leader.ended;
    expect(await table.leasehold.elections.get('boss')).toBeUndefined();
  });

  test('passes Ctrl+C on, and gives the lock back at once', async () => {
    const command = start('--lock', 'interrupted', '--', ...SLEEPER);
    const pid = await pidOf(command);

    command.process.kill('SIGINT');

    expect(await command.ended).toMatchObject({ exitCode: 130 });
    expect(isRunning(pid)).toBe(false);
    expect(await run('--lock', 'interrupted', '--', 'true')).toMatchObject({ exitCode: 0 });
  });

  test('leaves it to the program what a signal means', async () => {
    const mayEnd = path.join(folder, 'may-end');
    const command = start(
      '--lock',
      'stubborn',
      '--',
      'sh',
      '-c',
      // It prints its pid once both of its processes ignore the signal, and runs until the test lets it end.
      `trap "echo ouch" TERM; (trap "" TERM; echo pid $$; while [ ! -e ${mayEnd} ]; do sleep 0.1; done) & wait; wait; exit 3`,
    );
    await pidOf(command);

    command.process.kill('SIGTERM');
    await expect.poll(() => command.out()).toContain('ouch');
    expect(await holderOf('stubborn')).toBeDefined();
    await writeFile(mayEnd, '');

    expect(await command.ended).toMatchObject({ exitCode: 3 });
  });

  test('is interrupted while it waits', async () => {
    await using session = await table.leasehold.session();
    await session.lock('never');
    const command = start('--lock', 'never', '--wait', '1h', '--name', 'waiter', '--', 'true');
    await expect.poll(async () => countSessions(table, 'waiter')).toBe(1);

    command.process.kill('SIGINT');

    const end = await command.ended;
    expect(end).toMatchObject({ exitCode: 130, out: '' });
    expect(end.err).toContain('interrupted by SIGINT');
    expect(await liveSessions(table, 'waiter')).toBe(0);
  });

  test('killed outright, it takes the program along and leaves the lock to its TTL', async () => {
    const command = start('--lock', 'orphan', '--wait', '5m', '--ttl', '10s', '--lock-delay', '1s', '--', ...SLEEPER);
    const pid = await pidOf(command);

    command.process.kill('SIGKILL');

    await command.ended;
    await expectGone([pid]);
    // In this process, because a separate one might start only after the TTL.
    const refused = await runCommand(table, 'run', '--lock', 'orphan', '--', 'true');
    expect(refused).toMatchObject({ exitCode: 75 });
    expect(refused.err).toContain('(sh on ');
    expect(await run('--lock', 'orphan', '--wait', '5m', '--', 'true')).toMatchObject({ exitCode: 0 });
  });

  test('frozen, it loses the program to the guard before another can have the lock', async () => {
    const command = start('--lock', 'frozen', '--ttl', '10s', '--lock-delay', '60s', '--grace', '1s', '--', ...SLEEPER);
    const pid = await pidOf(command);

    command.process.kill('SIGSTOP');
    await expectGone([pid]);
    expect(await run('--lock', 'frozen', '--', 'true')).toMatchObject({ exitCode: 75 });
    command.process.kill('SIGCONT');

    expect(await command.ended).toMatchObject({ exitCode: 76 });
  });

  test('stops the program when the lock is taken away, first kindly', async () => {
    const script = 'trap "echo bye; exit 0" TERM; echo pid $$; while :; do sleep 0.1; done';
    const command = start('--lock', 'revoked', '--ttl', '10s', '--', 'sh', '-c', script);
    await pidOf(command);
    const held = await holderOf('revoked');

    const leaseCounter = held?.leaseCounter ?? 0;
    await table.leasehold.locks.forceRelease('revoked', { by: 'test', reason: 'because', leaseCounter });

    const end = await command.ended;
    expect(end.exitCode).toBe(76);
    expect(end.out).toContain('bye');
    expect(end.err).toMatch(/error: sh was stopped: lost lock revoked/);
  });

  test('kills what does not stop when its session is destroyed, and everything that it has started', async () => {
    const script = 'trap "" TERM; sh -c "trap \\"\\" TERM; echo pid \\$\\$; while :; do sleep 0.1; done" & wait; wait';
    const command = start('--lock', 'destroyed', '--ttl', '10s', '--grace', '500ms', '--', 'sh', '-c', script);
    const grandchild = await pidOf(command);
    const held = await holderOf('destroyed');

    await table.leasehold.sessions.destroy(held?.session ?? '');

    expect(await command.ended).toMatchObject({ exitCode: 76 });
    await expectGone([grandchild]);
  });

  test('ends what the program has left behind', async () => {
    const command = start('--lock', 'leftover', '--', 'sh', '-c', 'sleep 600 & echo pid $!');
    const pid = await pidOf(command);

    expect(await command.ended).toMatchObject({ exitCode: 0 });
    await expectGone([pid]);
  });

  test('keeps the lock for the given time', async () => {
    const command = start('--lock', 'held-on', '--hold-for', '15s', '--', 'echo', 'quick');
    await expect.poll(() => command.out()).toContain('quick');

    expect(await runCommand(table, 'run', '--lock', 'held-on', '--', 'true')).toMatchObject({ exitCode: 75 });
    expect(await command.ended).toMatchObject({ exitCode: 0 });
    expect(await run('--lock', 'held-on', '--', 'true')).toMatchObject({ exitCode: 0 });
  });

  test.each([
    [
      'a program that is not there',
      127,
      'there is no command no-such-program',
      ['--lock', 'x', '--', 'no-such-program'],
    ],
    ['a program that is none', 126, 'could not be executed (EACCES)', ['--lock', 'x', '--', '/etc/passwd']],
    [
      'a span that is none',
      2,
      "must be milliseconds, or a text such as '30s'",
      ['--lock', 'x', '--wait', 'soon', '--', 'true'],
    ],
    ['an empty key', 2, 'is empty', ['--lock', '', '--', 'true']],
  ])('names %s', async (_what, exitCode, message, argv) => {
    const end = await runCommand(table, 'run', ...argv);

    expect(end.err).toContain(message);
    expect(end).toMatchObject({ exitCode, out: '' });
    expect(end.err.trim().split('\n').length).toBeLessThanOrEqual(2);
  });
});

async function pidOf(command: RunningCommand): Promise<number> {
  await command.said(/pid \d+/);
  return Number(/pid (\d+)/.exec(command.out())?.[1]);
}

async function countSessions({ leasehold }: CommandTable, name: string): Promise<number> {
  let count = 0;
  for await (const _ of leasehold.sessions.list(name)) count++;
  return count;
}

async function liveSessions({ leasehold }: CommandTable, name: string): Promise<number> {
  let count = 0;
  for await (const { status } of leasehold.sessions.list(name)) if (status === 'live') count++;
  return count;
}
