import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installedPackages } from '../../examples/demonstration/inventory/input.ts';
import { runStart, runStartUntil } from '../support/start-command.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const HOSTILE = fileURLToPath(new URL('../support/tasks-modules/hostile.ts', import.meta.url));

describe('npm start', () => {
  test('counts the files of each package exactly once, though a worker is killed and ticks come twice', async () => {
    const run = await runStart('--duplicate-ticks');

    const packages = installedPackages(ROOT).length;
    expect(run.verdict, run.said).toMatchObject({
      tasks: packages,
      done: packages,
      dead: 0,
      lost: 0,
      doubleCommits: 0,
      missingCommits: 0,
      rejected: 0,
    });
    expect(run.exitCode).toBe(0);
    expect(run.verdict?.takenOver.length).toBeGreaterThan(0);
    expect(run.said).toMatch(/^console +http:\/\/127\.0\.0\.1:\d+\/[0-9a-f-]{36}\/\?token=/m);
  });

  test('names a missing engine', async () => {
    const run = await runStart('--engine', 'http://127.0.0.1:9');

    expect(run.exitCode).toBe(2);
    expect(run.said).toMatch(/error: endpoint http:\/\/127\.0\.0\.1:9 did not answer/);
  });

  test.each([
    ['an option that is not there', ['--colour', 'red'], /error: unknown option '--colour'/],
    ['a TTL that cannot work', ['--session-ttl', '1ms'], /error: ttl = 1: must be 300 ms to a day/],
    ['more at a time than a worker takes', ['--concurrency', '5000'], /error: .*--concurrency.* from 1 to 1000/],
    ['more workers than a machine carries', ['--workers', '5000'], /error: .*--workers.* from 1 to 64/],
    ['a module without a file of tasks', ['--entry', 'tasks.ts'], /error: --entry .* pass --tasks as well/],
    [
      'a module that is not there',
      ['--tasks', 'a.jsonl', '--entry', 'nowhere.ts'],
      /error: there is no .*nowhere\.ts: pass the module that defines the tasks/,
    ],
  ])('refuses %s before it starts anything, in a line', async (_what, flags, message) => {
    const run = await runStart(...flags);

    expect(run.exitCode).toBe(2);
    expect(run.said).toMatch(message);
    expect(run.said).not.toMatch(/^\s+at |engine/m);
  });
});

describe('a file of tasks', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'leasehold-'));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true });
  });

  async function runFile(lines: readonly (string | object)[], ...flags: string[]) {
    const file = path.join(folder, 'tasks.jsonl');
    await writeFile(file, lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'));
    return runStart('--tasks', file, '--entry', HOSTILE, '--no-kill', '--no-console', ...flags);
  }

  test('survives tasks that throw, never end, exit, or boast: each is dead and named, and all others are done', async () => {
    const fine = Array.from({ length: 30 }, (_, n) => ({ name: 'fine', id: `fine-${n}`, input: { n } }));
    const bad = ['throws', 'throws.nonsense', 'gave.up', 'never.ends', 'exits', 'boasts'];

    const run = await runFile(
      [...fine, ...bad.map((name) => ({ name, id: name, input: null }))],
      '--queue',
      'odd # % queue/ü',
    );

    expect(run.verdict).toMatchObject({ tasks: 36, done: 30, dead: 6, lost: 0 });
    // Its last attempt may have shared a worker with the task that ends their process.
    expect(run.said).toMatch(/dead +throws: (?:Error: it always throws|WorkerDied)/);
    expect(run.said).toMatch(/dead +throws.nonsense: Error: an error that cannot be printed/);
    expect(run.said).toMatch(/dead +gave.up: DoNotRetry: this will never work/);
    expect(run.said).toMatch(/dead +never.ends: TaskTimeoutError: the attempt took longer than its timeout of 300 ms/);
    expect(run.said).toMatch(/dead +exits: WorkerDied: its worker died 2 times without a word/);
    expect(run.said).toMatch(/dead +boasts: DoNotRetry: the result of task boasts of queue .* has 100011 bytes/);
  });

  test('stays after the verdict until it is interrupted, which is then no failure, on the engine in memory', async () => {
    const file = path.join(folder, 'one.jsonl');
    await writeFile(file, JSON.stringify({ name: 'fine', id: 'one', input: { n: 1 } }));
    const flags = ['--tasks', file, '--entry', HOSTILE, '--engine', 'memory', '--workers', '1', '--no-kill', '--stay'];

    const run = await runStartUntil(/^stays .*\n/m, ...flags);

    expect(run).toMatchObject({ exitCode: 0, verdict: { tasks: 1, done: 1 } });
  });
});
