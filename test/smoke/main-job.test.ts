/** The main job, end to end, like `npm start` with every installed package: here with a few tasks of a file. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, test } from 'vitest';
import { runStart } from '../support/start-command.ts';

const TASKS = fileURLToPath(new URL('../support/tasks-modules/hostile.ts', import.meta.url));

describe.skipIf(inject('embeddedEndpoint') === null)('a queue on this machine', () => {
  test('has each task done once, though a worker is killed in the middle of its tasks and ticks come twice', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'leasehold-'));
    await using files = new AsyncDisposableStack();
    files.defer(() => rm(folder, { recursive: true }));
    const file = path.join(folder, 'tasks.jsonl');
    const tasks = Array.from({ length: 30 }, (_, n) => ({ name: 'long', id: `task-${n}`, input: 10 }));
    await writeFile(file, tasks.map((task) => JSON.stringify(task)).join('\n'));

    const run = await runStart(
      ...['--tasks', file, '--entry', TASKS],
      ...['--workers', '2', '--no-console', '--duplicate-ticks'],
    );

    expect(run.verdict, run.said).toMatchObject({ tasks: 30, done: 30, dead: 0, lost: 0, rejected: 0 });
    expect(run.verdict?.takeovers).toBeGreaterThan(0);
    expect(run.said).toMatch(/^killed .* with SIGKILL, holding \d+ of its tasks$/m);
    expect(run.exitCode).toBe(0);
  });
});
