import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { durableTask } from '../../api/durable.ts';
import { createWorker } from '../../shared/client/create-worker.ts';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import type { CommandTable } from '../support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../support/command-table.ts';

const endpoint = inject('embeddedEndpoint');
const SILENT = { info: ignore, warn: ignore, error: ignore, debug: ignore };
const HOSTILE = fileURLToPath(new URL('../support/tasks-modules/hostile.ts', import.meta.url));

describe.skipIf(endpoint === null)('leasehold enqueue, tasks and queues', () => {
  let table: CommandTable;
  let folder: string;
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
    folder = await mkdtemp(path.join(tmpdir(), 'leasehold-cli-'));
  });
  afterAll(async () => {
    closeCommandTable(table);
    await rm(folder, { recursive: true });
  });

  const run = (...argv: string[]) => runCommand(table, ...argv);
  const json = async (...argv: string[]): Promise<unknown> => JSON.parse((await run(...argv, '--json')).out);
  const fileOf = async (lines: readonly (string | object)[]): Promise<string> => {
    const file = path.join(folder, 'tasks.jsonl');
    await writeFile(file, lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'));
    return file;
  };

  test('shows an input that its row has deflated, here and to programs', async () => {
    const input = { n: 1, text: 'a long story '.repeat(100) };
    await run('enqueue', 'fine', JSON.stringify(input), '--id', 'long', '--queue', 'long');

    expect((await run('tasks', 'show', 'long', '--queue', 'long')).out).toContain('"text":"a long story a long story');
    expect(await json('tasks', 'show', 'long', '--queue', 'long')).toMatchObject({ input });
    await run('work', '--entry', HOSTILE, '--until-drained', '--queue', 'long', '--code-version', 'a1b2c3');
    expect((await run('tasks', 'show', 'long', '--queue', 'long')).out).toMatch(
      /^20\S+Z \([\d.]+s ago\) +claimed +on \S+, code a1b2c3, token \d+$/m,
    );
    // Done tasks are read from the table as they are.
    expect(await json('tasks', 'list', '--state', 'done', '--queue', 'long')).toMatchObject([{ id: 'long', input }]);
  });

  test('lists and finds finished tasks of a queue that lists them, without reading the table', async () => {
    const queue = ['--queue', 'listed'];
    await run('enqueue', 'fine', '{"n": 1}', '--id', 'a', '--label', 'order o-7', '--key', 'customer#1', ...queue);
    await run('enqueue', 'fine', '{"n": 2}', '--id', 'b', '--label', 'order o-8', ...queue);
    await run('work', '--entry', HOSTILE, '--until-drained', '--list-finished', ...queue);
    await run('enqueue', 'fine', '{"n": 3}', '--id', 'c', '--label', 'order o-9', ...queue);
    await run('tasks', 'cancel', 'c', '--reason', 'test', '--yes', 'c', ...queue);
    await run('enqueue', 'fine', '{"n": 4}', '--id', 'd', '--label', 'order o-7 again', ...queue);

    const done = await json('tasks', 'list', '--state', 'done', '--since', '1h', ...queue);
    expect(done).toHaveLength(2);
    expect(done).toContainEqual(
      expect.objectContaining({
        id: 'a',
        state: 'done',
        name: 'fine',
        key: 'customer#1',
        label: 'order o-7',
        attempts: 1,
      }),
    );
    expect(await json('tasks', 'list', '--state', 'cancelled', ...queue)).toMatchObject([
      { id: 'c', label: 'order o-9' },
    ]);
    expect(await json('tasks', 'list', '--failed', ...queue)).toEqual([]);
    expect(await json('tasks', 'find', 'o-7', ...queue)).toMatchObject([
      { id: 'd', state: 'ready' },
      { id: 'a', state: 'done' },
    ]);
    expect(await json('queues', 'stats', 'listed')).toMatchObject({
      byName: { read: 3, isCut: false, names: [{ name: 'fine', ended: 3, failed: 0, retried: 0 }] },
    });
    const found = await run('tasks', 'find', 'customer#1', ...queue);
    expect(found.out).toContain('order o-7');
    expect(found.err).toMatch(/tasks read, \d+ read units/);
    expect((await run('tasks', 'list', '--state', 'done', ...queue)).err).toContain('complete since');
    expect((await run('tasks', 'list', '--state', 'done', '--name', 'fin', ...queue)).out).toBe(
      'no ended tasks (done) of fin, but of fine, in queue listed\n',
    );
    expect((await run('tasks', 'find', 'o-7', '--max-read-units', '1', ...queue)).err).toMatch(
      /stopped after \d+ read units, before the tasks that wait or run \(see --max-read-units\)/,
    );
    const wrong = await run('tasks', 'list', '--state', 'done', '--since', '2999-01-01T00:00:00Z', ...queue);
    expect(wrong).toMatchObject({ exitCode: 2 });
    expect(wrong.err).toContain('is in the future');
    const without = await run('tasks', 'list', '--failed', '--queue', 'plain');
    expect(without.err).toContain('does not list its finished tasks');
    expect((await run('tasks', 'list', '--since', '1h', ...queue)).err).toContain('are for ended tasks');
  });

  test('lists what is done for as long as it is kept, by reading the table', async () => {
    const queue = ['--queue', 'over'];
    for (const n of [1, 2, 3]) await run('enqueue', 'fine', JSON.stringify({ n }), '--id', `over-${n}`, ...queue);
    await run('work', '--entry', HOSTILE, '--until-drained', ...queue);
    await run('enqueue', 'fine', '{"n": 4}', '--id', 'over-4', ...queue);
    await run('tasks', 'cancel', 'over-4', '--reason', 'test', '--yes', 'over-4', ...queue);

    const done = (await json('tasks', 'list', '--state', 'done', ...queue)) as { readonly id: string }[];
    expect(done.map(({ id }) => id).sort()).toEqual(['over-1', 'over-2', 'over-3']);
    expect(await json('tasks', 'list', '--state', 'cancelled', ...queue)).toMatchObject([{ id: 'over-4' }]);
    expect(await json('tasks', 'list', '--state', 'done', '--queue', 'other')).toEqual([]);
    expect((await run('tasks', 'list', '--state', 'done', '--limit', '1', ...queue)).err).toContain('the first 1');
  });

  test('writes nothing of 10,000 lines when one of them is bad, and names that one', async () => {
    const lines: (string | object)[] = Array.from({ length: 10_000 }, (_, n) => ({
      name: 'fine',
      id: `line-${n}`,
      input: { n },
    }));
    lines[7_776] = '{"name": "fine", "id": ';

    const end = await run('enqueue', '--file', await fileOf(lines), '--queue', 'lines');

    expect(end).toMatchObject({ exitCode: 1, out: '1 bad line, 9,999 good ones: nothing was added\n' });
    expect(end.err).toMatch(/^line 7777: not JSON: .*\n$/);
    expect(await json('tasks', 'list', '--queue', 'lines')).toEqual([]);
  });

  test('reports every invalid line and its fault', async () => {
    const file = await fileOf([
      { name: 'fine', id: 'a', input: { n: 1 } },
      '',
      '[]',
      { name: 'unheard.of' },
      { name: 'fine', input: { n: 'text' } },
      { name: 'fine', id: 'a', input: { n: 2 } },
      { name: 'fine', input: { n: 1 }, prioriti: 'high' },
      { name: 'fine', input: { n: 1 }, delay: 'tomorrow' },
      { input: {} },
    ]);

    const end = await run('enqueue', '--file', file, '--entry', HOSTILE, '--queue', 'bad', '--json');

    expect(end.exitCode).toBe(1);
    expect(JSON.parse(end.out)).toEqual({
      added: 0,
      bad: [
        [3, 'not a JSON object'],
        [4, 'no task is named "unheard.of"'],
        [5, 'does not fit the schema of fine'],
        [6, 'id "a" stands in line 1 for other work'],
        [7, 'unknown field "prioriti"'],
        [8, 'delay = "tomorrow": must be a text with a unit'],
        [9, 'it has no name'],
      ].map(([line, error]) => ({ line, error: expect.stringContaining(String(error)) as string })),
    });
  });

  test('retries the dead tasks that each option selects', async () => {
    const queue = ['--queue', 'graves'];
    for (const id of ['a', 'b', 'c']) await run('enqueue', 'gave.up', '--id', id, ...queue);
    await run('work', '--entry', HOSTILE, '--until-drained', ...queue);
    const retried = (...options: string[]) =>
      json('tasks', 'retry', '--all', '--yes', 'graves', ...queue, ...options) as Promise<{ readonly retried: number }>;

    expect(await retried('--name', 'fine')).toEqual({ retried: 0 });
    expect(await retried('--error', 'another')).toEqual({ retried: 0 });
    expect(await retried('--limit', '2')).toEqual({ retried: 2 });
    expect(await retried()).toEqual({ retried: 1 });
  });

  test('shows the callback of a suspended task in every listing, and answers it', async () => {
    const queue = 'durable';
    const order = durableTask({
      name: 'order',
      run: async (_: unknown, ctx) => {
        await ctx.step('charge', async () => 'charged');
        return ctx.waitForCallback('approval', async () => undefined, { timeout: { hours: 2 } });
      },
    });
    const work = () =>
      createWorker(
        { order },
        { endpoint: table.endpoint, table: table.table, queue, untilDrained: true, log: SILENT },
      ).run();
    await table.leasehold.tasks.enqueue(order, null, { id: 'r', queue });
    await work();

    const shown = await run('tasks', 'show', 'r', '--queue', queue);
    const [, id = ''] = /^waits for +approval \(callback (\S+)\)$/m.exec(shown.out) ?? [];
    expect(shown.out).toMatch(/ExecutionStarted(?:.|\n)*StepSucceeded.*charge.*charged(?:.|\n)*CallbackStarted/);
    expect(shown.out).toMatch(/^due +in \d+m, or when it is answered$/m);
    expect(await json('tasks', 'show', 'r', '--queue', queue)).toMatchObject({
      waitsFor: [{ name: 'approval', callback: id }],
    });
    const waits = 'suspended, waits for 1 answer or task';
    expect((await run('tasks', 'list', '--state', 'suspended', '--queue', queue)).out).toContain(waits);
    expect((await run('queues', 'stats', queue)).out).toMatch(/^suspended +1$/m);
    const drained = await run('queues', 'drain', queue);
    expect(drained.out).toBe(`queue durable is drained, but for 1 durable task:\n  r: ${waits}\n`);

    expect((await run('callbacks', 'succeed', id, 'yes')).out).toBe('accepted\n');
    await work();
    expect(await json('tasks', 'show', 'r', '--queue', queue)).toMatchObject({ state: 'done', result: 'yes' });
  });
});

function ignore(): void {}
