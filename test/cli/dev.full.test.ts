/** `leasehold dev` as a user starts it: real processes, a real change of code. The test waits for their output without a timeout. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startEngine } from '../../local/engine.ts';
import { probe } from '../../local/engine/probe.ts';
import type { RunningCommand } from '../support/command.ts';
import { runHere, spawnCommand } from '../support/command.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const TASKS = `
import { defineTask } from 'leasehold/tasks';
import { greeting } from './words.ts';

export const greet = defineTask({
  name: 'greet',
  run: ({ name }: { name: string }) => console.log(greeting + ', ' + name + '!'),
});`;

describe('leasehold dev', () => {
  let folder: string;
  let entry: string;
  // Inside of the package, so that `leasehold/tasks` is found.
  beforeAll(() => {
    mkdirSync(path.join(ROOT, '.leasehold'), { recursive: true });
    folder = mkdtempSync(path.join(ROOT, '.leasehold/dev-'));
    entry = path.join(folder, 'tasks.ts');
    writeFileSync(entry, TASKS);
    writeWords("export const greeting = 'Hello';");
  });
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  function writeWords(text: string): void {
    writeFileSync(path.join(folder, 'words.ts'), text);
  }

  test('runs tasks, follows a change of an imported file, survives a broken one, and takes all with it', async () => {
    const dev = spawnCommand({}, ['dev', entry, '--engine', 'memory', '--port', '0']);
    try {
      await dev.said(/^tasks +greet/m);
      const endpoint = /LEASEHOLD_ENDPOINT=(\S+)/.exec(dev.out())?.[1] ?? '';
      const address = /^console +(\S+)/m.exec(dev.out())?.[1] ?? '';
      const run = (...argv: readonly string[]) => runHere(['--endpoint', endpoint, ...argv]);
      const enqueue = (name: string) => run('enqueue', 'greet', JSON.stringify({ name }));

      expect(await enqueue('Ada')).toMatchObject({ exitCode: 0 });
      await dev.said(/^Hello, Ada!$/m);
      await dev.said(/^done \S+ \(greet, attempt 1\)$/m);
      const mistyped = await run('enqueue', 'gret', '--delay', '1h');
      expect(mistyped.err).toMatch(/ defines a task named gret; did you mean greet\? To add it anyway, pass --force$/m);
      // It lets the browser in.
      expect((await fetch(address, { redirect: 'manual' })).headers.get('set-cookie')).not.toBeNull();

      const broken = /^error: .*tasks\.ts cannot be loaded: .* \(\S*words\.ts:1\)/m;
      writeWords('export const greeting = ;');
      await dev.said(broken);
      await enqueue('Mary');
      writeWords("export const greeting = 'Good evening';");
      await dev.said(/^Good evening, Mary!$/m);

      dev.process.kill('SIGINT');
      expect(await dev.ended).toMatchObject({ exitCode: 0 });
      expect(await probe(endpoint, 5_000)).toMatchObject({ kind: 'silent' });
    } finally {
      await stopped(dev);
    }
  });

  test('hands back what runs before it starts the worker again, without counting the attempt', async () => {
    const long = path.join(folder, 'long.ts');
    const program = (word: string) => `
import { defineTask } from 'leasehold/tasks';
import { setTimeout } from 'node:timers/promises';
export const rest = defineTask({
  name: 'rest',
  async run(_input, task) {
    console.log('${word}', task.attempt);
    if ('${word}' === 'first') await setTimeout(600_000, undefined, { signal: task.signal });
  },
});`;
    writeFileSync(long, program('first'));
    const dev = spawnCommand({}, ['dev', long, '--engine', 'memory', '--port', '0']);
    try {
      await dev.said(/^tasks +rest/m);
      const endpoint = /LEASEHOLD_ENDPOINT=(\S+)/.exec(dev.out())?.[1] ?? '';
      await runHere(['--endpoint', endpoint, 'enqueue', 'rest']);
      await dev.said(/^first 1$/m);

      writeFileSync(long, program('second'));
      await dev.said(/^second 1$/m);
    } finally {
      await stopped(dev);
    }
  });

  test('reports an invalid module before it starts anything', async () => {
    const empty = path.join(folder, 'empty.ts');
    writeFileSync(empty, 'export const nothing = 1;');

    expect(await runHere(['dev', path.join(folder, 'none.ts')])).toMatchObject({
      exitCode: 2,
      err: expect.stringMatching(/there is no .*none\.ts: pass the module that defines the tasks/) as string,
    });
    expect(await runHere(['dev', empty])).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining('no task found among the exports: export at least one defineTask(...)') as string,
    });
  });

  test('makes the tables and tasks that the module names, in an engine that runs already', async () => {
    const engine = await startEngine({ kind: 'memory' });
    const file = path.join(folder, 'tables.ts');
    writeFileSync(
      file,
      `
import { defineTask, spawn } from 'leasehold/tasks';
export const devTables = [{ name: 'reports', partitionKey: 'pk', sortKey: 'at' }];
export const write = defineTask({
  name: 'write',
  run: (_input, task) => task.commit('written', [{ Put: { TableName: 'reports', Item: { pk: 'r', at: 'today' } } }]),
});
export const devTasks = [spawn(write, null)];`,
    );
    const dev = spawnCommand({}, ['dev', file, '--engine', engine.endpoint]);
    try {
      await dev.said(/^tables +reports$/m);
      await dev.said(/^done dev-1 \(write, attempt 1\)$/m);

      const end = await runHere(['--endpoint', engine.endpoint, 'enqueue', 'write', '--wait', '5m']);

      expect(end).toMatchObject({ exitCode: 0, out: '"written"\n' });
      await stopped(dev);
      // It existed before, and stays.
      expect(await probe(engine.endpoint, 5_000)).toMatchObject({ kind: 'ready' });
    } finally {
      await stopped(dev);
      await engine.stop();
    }
  });

  test('follows what ends in another terminal', async () => {
    const dev = spawnCommand({}, ['dev', entry, '--port', '0']);
    await dev.said(/^tasks/m);
    const endpoint = /LEASEHOLD_ENDPOINT=(\S+)/.exec(dev.out())?.[1] ?? '';
    const tail = spawnCommand({}, ['--endpoint', endpoint, 'tasks', 'tail', '--name', 'greet']);
    try {
      // Tasks that ended before it listened are not reported, so this repeats until one is.
      for (let at = 0; !tail.out().includes('greet'); at++)
        await runHere(['--endpoint', endpoint, 'enqueue', 'greet', '{"name":"x"}', '--id', `t${at}`, '--wait', '5m']);

      expect(tail.out()).toMatch(/^\S+Z {2}done +greet t\d+ {2}attempt 1, /m);
    } finally {
      await stopped(tail);
      await stopped(dev);
    }
  });

  test.each([
    ['devTables that are none', `export const devTables = {};`, /exports devTables = \{\}: export a list such as/],
    [
      'devTasks that are none',
      `export const devTasks = [one];`,
      /devTasks: number 1 is not a task request; create it with/,
    ],
    ['a table without a key', `export const devTables = [{ name: 'x' }];`, /export a list such as/],
  ])('refuses %s', async (_, text, message) => {
    const file = path.join(folder, 'bad-tables.ts');
    writeFileSync(
      file,
      `import { defineTask } from 'leasehold/tasks';
export const one = defineTask({ name: 'one', run: () => 1 });
${text}`,
    );

    const end = await runHere(['dev', file, '--port', '0']);

    expect(end.exitCode).toBe(2);
    expect(end.err).toMatch(message);
  });

  test('names the line to change in a package that npm made', async () => {
    mkdirSync(path.join(folder, 'made'));
    const file = path.join(folder, 'made/tasks.ts');
    writeFileSync(path.join(folder, 'made/package.json'), '{ "name": "made", "type": "commonjs" }');
    writeFileSync(file, TASKS.replace('./words.ts', '../words.ts'));

    const end = await runHere(['dev', file, '--port', '0']);

    expect(end.exitCode).toBe(2);
    expect(end.err).toMatch(
      /tasks\.ts cannot be loaded: .*made\/package\.json says "type": "commonjs"; make it "type": "module", or name the module tasks\.mts/,
    );
  });

  test('reports that its port is taken, and that it starts its own engine', async () => {
    const engine = await startEngine({ kind: 'memory' });
    try {
      const port = new URL(engine.endpoint).port;

      const taken = await runHere(['dev', entry, '--engine', 'memory', '--port', port]);
      const elsewhere = await runHere(['dev', entry, '--endpoint', 'http://127.0.0.1:9', '--port', port]);

      expect(taken.exitCode).toBe(2);
      expect(taken.err).toContain(`port ${port} of 127.0.0.1 cannot be used (EADDRINUSE)`);
      expect(elsewhere.exitCode).toBe(2);
      expect(elsewhere.err).toContain('dev works with the engine at');
    } finally {
      await engine.stop();
    }
  });
});

async function stopped(dev: RunningCommand): Promise<void> {
  dev.process.kill('SIGINT');
  await dev.ended;
}
