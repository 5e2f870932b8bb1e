/** One path of each command, as a shell starts it: that its program, its table and its exit code hang together. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { SATELLITES } from '../../api/satellites.ts';
import type { Bind } from '../../cli/context.ts';
import { EXIT } from '../../cli/exit.ts';
import { createProgram } from '../../cli/program.ts';
import { callbackIdOf } from '../../shared/tasks/durable/callback-id.ts';
import type { CommandEnd, RunningCommand } from '../support/command.ts';
import { spawnCommand, startCommand } from '../support/command.ts';
import type { CommandTable } from '../support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../support/command-table.ts';

const endpoint = inject('embeddedEndpoint');
const ENTRY = fileURLToPath(new URL('../support/tasks-modules/hostile.ts', import.meta.url));
const JUST = ['--reason', 'a drill', '--by', 'ann'];

/** Commands that end by themselves: arguments and expected output. In this order, each building on the state left by the earlier ones. */
const PATHS: readonly (readonly [argv: readonly string[], out: RegExp])[] = [
  [['up'], /^table \S+ exists/],
  [['doctor'], /✓ keys/],
  [['enqueue', 'fine', '{"n": 1}', '--id', 'first', '--key', 'orders', '--limit', '1'], /^added first$/m],
  [['keys', 'show', 'orders'], /orders/],
  [['queues', 'pause', 'default', ...JUST], /^queue default is paused$/m],
  [['queues', 'resume', 'default', ...JUST], /^queue default is active$/m],
  [['work', '--entry', ENTRY, '--until-drained'], /^1 done, 0 retried, 0 dead$/m],
  [['tasks', 'show', 'first'], /done/],
  [['run', '--lock', 'nightly', '--', process.execPath, '--print', '6 * 7'], /^42$/m],
  [['locks', 'list', '--all'], /^nightly +free/m],
  [['sessions', 'list'], /^SESSION|^ID|^no /m],
  [['semaphores', 'list'], /./],
  [['schedules', 'list'], /schedule/],
  [['version'], /^\d+\.\d+\.\d+$/m],
  [['audit'], /queue\.pause/],
  // It needs a table at rest, as `test/cli/epoch.full.test.ts` has one.
  [['epoch', '--help'], /raise/],
  // It runs for long, as in `test/cli/engine.full.test.ts`.
  [['engine', '--help'], /engine/],
  [['cost', '--tasks-per-day', '1e6'], /\$/],
];

/** Commands that run until interrupted. */
const SERVING: readonly (readonly [argv: readonly string[], firstWords: RegExp])[] = [
  [['watch', '--every', '100ms', '--json'], /"queue":"default"/],
];

describe.skipIf(endpoint === null)('the command line, as a shell starts it', () => {
  let table: CommandTable;
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
  });
  afterAll(() => {
    closeCommandTable(table);
  });

  test('does one thing by each command that ends by itself', async () => {
    for (const [argv, out] of PATHS) {
      const end = await ended(startCommand(table, ...argv));

      expect(end, argv.join(' ')).toMatchObject({ exitCode: 0 });
      expect(end.out).toMatch(out);
    }
  });

  test('refuses to answer what waits no longer', async () => {
    const callback = callbackIdOf({ queue: 'default', id: 'first' }, 'c.1');

    const end = await ended(startCommand(table, 'callbacks', 'succeed', callback, 'yes'));

    expect(end).toMatchObject({ exitCode: EXIT.refused });
    expect(end.err).toContain('the callback is over');
  });

  test.each(SERVING)('continues with %s until it is interrupted', async (argv, firstWords) => {
    const command = startCommand(table, ...argv);
    await command.said(firstWords);

    command.process.kill('SIGINT');

    expect(await command.ended).toMatchObject({ exitCode: 0 });
  });

  test('brings an engine, a worker and the console by dev, until it is interrupted', async () => {
    const dev = spawnCommand({}, ['dev', ENTRY, '--engine', 'memory', '--port', '0']);
    await dev.said(/^engine +memory.*http:\/\/127\.0\.0\.1:\d+$/m);

    dev.process.kill('SIGINT');

    expect(await ended(dev)).toMatchObject({ exitCode: 0 });
  });

  test('runs every command', async () => {
    // Each satellite tries its own, and `npm run test:package` tries init, which needs the package.
    const own = Object.keys(SATELLITES);
    const tried = ['init', 'dev', 'callbacks', ...own, ...[...PATHS, ...SERVING].map(([[command]]) => command)];

    expect([...new Set(tried)].toSorted()).toEqual(
      (await createProgram(bare, SATELLITES)).commands.map((command) => command.name()).toSorted(),
    );
  });

  test('says on standard error what is wrong with a line, and prints its version', async () => {
    expect(await ended(spawnCommand({}, ['tasks', 'list', '--stat', 'dead']))).toMatchObject({ exitCode: 2, out: '' });
    expect(await ended(spawnCommand({}, ['--version']))).toMatchObject({ exitCode: 0, err: '' });
  });
});

/** Not to be run. */
const bare: Bind = (command) => command;

async function ended(command: RunningCommand): Promise<CommandEnd> {
  command.process.stdin?.end();
  return command.ended;
}
