/** Code that computes, with workers as processes, a session's TTL of 3 s, and a rival that would take over what is lost. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunningCommand } from '../support/command.ts';
import { runHere, spawnCommand } from '../support/command.ts';

const ENTRY = fileURLToPath(new URL('../support/tasks-modules/computing.ts', import.meta.url));
const FOLDER = mkdtempSync(path.join(tmpdir(), 'computing-'));
let engine: RunningCommand;
let endpoint = '';

beforeAll(async () => {
  engine = spawnCommand({}, ['engine', '--port', '0']);
  await engine.said(/LEASEHOLD_ENDPOINT=\S+/);
  endpoint = /LEASEHOLD_ENDPOINT=(\S+)/.exec(engine.out())?.[1] ?? '';
});
afterAll(async () => {
  engine.process.kill('SIGINT');
  await engine.ended;
  rmSync(FOLDER, { recursive: true });
});

test.each([
  ['at.once', 8, 4],
  ['afterwards', 8, 1],
  ['full.pool', 1, 1],
  ['in.thread', 1, 1],
] as const)('%s: %i tasks, %i at once, lose no session, and each begins once', async (name, tasks, concurrency) => {
  const log = path.join(FOLDER, name);
  const ids = Array.from({ length: tasks }, (_, n) => `${name}-${n}`);
  for (const id of ids)
    expect(
      await runHere(['--endpoint', endpoint, 'enqueue', name, JSON.stringify(log), '--id', id, '--queue', name]),
    ).toMatchObject({ exitCode: 0 });
  const work = ['work', '--entry', ENTRY, '--queue', name, '--session-ttl', '3s', '--concurrency', `${concurrency}`];
  const workers = [0, 1].map(() => spawnCommand({ LEASEHOLD_ENDPOINT: endpoint }, [...work, '--until-drained']));

  const ends = await Promise.all(workers.map(({ ended }) => ended));

  const said = ends.map(({ out, err }) => `${out}${err}`).join('\n');
  expect(ends.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
  expect(said).not.toContain('session lost');
  expect(readFileSync(log, 'utf8').trim().split('\n').sort()).toEqual(ids);
});
