/**
 * `leasehold dev` in a pseudo-terminal: crashes, loops, broken code, both ways of saving, and Ctrl+C during each.
 * Real processes; the test waits for their output without a timeout.
 */
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { probe } from '../../local/engine/probe.ts';
import { runHere } from '../support/command.ts';
import { TerminalCommand, missingTerminal } from '../support/terminal.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const missing = missingTerminal();

/** @param body body of a task named `act`; a second task `rest` with one attempt runs until stopped, or ends if a file `rested` exists */
function moduleOf(body: string, version = 0): string {
  return `
import { defineTask } from 'leasehold/tasks';
import { existsSync, writeSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
writeSync(1, 'version ${version} pid ' + process.pid + '\\n');
export const act = defineTask({ name: 'act', retry: { maxAttempts: 2 }, async run(_input, task) { ${body} } });
export const rest = defineTask({
  name: 'rest',
  retry: { maxAttempts: 1 },
  async run(_input, task) {
    const isOver = existsSync(new URL('rested', import.meta.url));
    console.log('resting', task.attempt);
    if (isOver) return;
    await setTimeout(600_000, undefined, { signal: task.signal });
  },
});`;
}

describe.skipIf(missing !== undefined)(
  `leasehold dev on a terminal${missing === undefined ? '' : ` (${missing})`}`,
  () => {
    let folder: string;
    let entry: string;
    let dev: TerminalCommand | undefined;
    let endpoint: string;
    // Inside of the package, so that `leasehold/tasks` is found.
    beforeEach(() => {
      mkdirSync(path.join(ROOT, '.leasehold'), { recursive: true });
      folder = mkdtempSync(path.join(ROOT, '.leasehold/terminal-'));
      entry = path.join(folder, 'tasks.ts');
    });
    afterEach(async () => {
      await dev?.close();
      rmSync(folder, { recursive: true });
    });

    async function start(text: string): Promise<TerminalCommand> {
      writeFileSync(entry, text);
      dev = new TerminalCommand(['dev', entry, '--port', '0']);
      [, endpoint = ''] = await dev.said(/LEASEHOLD_ENDPOINT=(\S+)/);
      await dev.said(/^tasks {4}act, rest/m);
      return dev;
    }

    function saveInPlace(text: string): void {
      writeFileSync(entry, text);
    }

    function saveByRenaming(text: string): void {
      writeFileSync(`${entry}.new`, text);
      renameSync(`${entry}.new`, entry);
    }

    async function enqueue(...words: string[]): Promise<void> {
      expect(await runHere(['--endpoint', endpoint, 'enqueue', ...words])).toMatchObject({ exitCode: 0 });
    }

    /** Ends in order, and takes engine and worker with it. */
    async function endsWithCtrlC(running: TerminalCommand): Promise<void> {
      running.pressCtrlC();
      expect(await running.ended, running.text).toBe(0);
      expect(await probe(endpoint, 5_000)).toMatchObject({ kind: 'silent' });
      const pids = [...running.text.matchAll(/pid (\d+)/g)].map(([, pid]) => Number(pid));
      expect(pids).not.toEqual([]);
      for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    }

    test('says a failure in full: frames of the user, causes, and how to try again', async () => {
      const running = await start(
        moduleOf(`console.log('hello'); throw new Error('no address', { cause: new TypeError('no rows') });`),
      );

      await enqueue('act', '--id', 'invoice-107');

      await running.said(/^act invoice-107 │ hello$/m);
      await running.said(/^✗ act invoice-107 {2}attempt 1\/2, \d+ ms → tried again$/m);
      await running.said(
        /^ {2}Error: no address\n {4}at Object\.run \(\S*tasks\.ts:6:\d+\) {2}\(\+\d+ of leasehold.*\)$/m,
      );
      await running.said(/^ {2}caused by TypeError: no rows$/m);
      await running.said(/^ {2}again: leasehold tasks retry invoice-107$/m);
      await endsWithCtrlC(running);
    });

    test.each([
      ['process.exit', `process.exit(3)`, 'exit 3'],
      [
        'a rejection that nobody awaits',
        `void Promise.reject(new Error('alone')); await setTimeout(600_000)`,
        'exit 1',
      ],
    ])('works on after %s, and gives its neighbour back', async (_, body, how) => {
      const running = await start(moduleOf(body));
      await enqueue('rest', '--id', 'rest-1');
      await running.said(/resting 1$/m);
      writeFileSync(path.join(folder, 'rested'), '');

      await enqueue('act', '--id', 'act-1');

      await running.said(
        new RegExp(
          `^crashed {2}${how} by act-1 \\(act\\) \\(1 task handed back: rest-1 \\(rest\\)\\): again in 1 s$`,
          'm',
        ),
      );
      await running.saidAll(
        // Its only attempt was not counted.
        /^✓ rest rest-1 {2}attempt 1\/1, /m,
        new RegExp(`^crashed {2}${how} by act-1 \\(act\\).*: again in 1 s$`, 'm'),
        /^✗ act act-1 {2}attempt 2\/2 → dead$/m,
      );
      await enqueue('act', '--id', 'act-2');
      await running.said(/^crashed {2}.* by act-2/m);
      // While it waits to start another worker.
      await endsWithCtrlC(running);
    });

    test('names the task that blocks the event loop, and ends it when its code is saved', async () => {
      const loop = `writeSync(1, 'looping ' + task.attempt + '\\n'); for (;;);`;
      const running = await start(moduleOf(loop));
      await enqueue('act', '--id', 'act-1');

      await running.said(
        /^stuck {4}event loop blocked for 5 s by act-1 \(act\), at Object\.run \(\S*tasks\.ts:6:\d+\)$/m,
      );
      saveByRenaming(moduleOf(`console.log('mended', task.attempt);`, 1));

      await running.said(/^changed {2}\S*tasks\.ts → worker 2 \(1 task handed back: act-1 \(act\)\)$/m);
      await running.said(/mended 1$/m);
      saveByRenaming(moduleOf(loop, 2));
      await running.said(/^version 2/m);
      await enqueue('act', '--id', 'act-2');
      await running.said(/^looping 1$/m);
      // Before it is noticed.
      await endsWithCtrlC(running);
    });

    test('ends a worker that blocks its event loop for as long as its lease', async () => {
      writeFileSync(entry, moduleOf(`for (;;);`));
      dev = new TerminalCommand(['dev', entry, '--port', '0', '--session-ttl', '6s']);
      [, endpoint = ''] = await dev.said(/LEASEHOLD_ENDPOINT=(\S+)/);
      await dev.said(/^tasks/m);

      await enqueue('act', '--id', 'act-1');

      await dev.said(/^stuck .* by act-1/m);
      await dev.said(/^killed {3}its lease is lost: act-1 \(act\)$/m);
      await dev.said(/^stuck .* by act-1/m);
      await dev.said(/^killed {3}its lease is lost: act-1 \(act\)$/m);
      await dev.said(/^✗ act act-1 {2}attempt 2\/2 → dead$/m);
      await endsWithCtrlC(dev);
    });

    test('waits for broken code to be mended', async () => {
      const running = await start(moduleOf(`console.log('first');`));

      saveInPlace(`${moduleOf('')} export const broken = ;`);
      await running.said(/^error: .*tasks\.ts cannot be loaded: .*$/m);
      await running.said(/^waiting /m);
      saveByRenaming(`${moduleOf('')} import './later.ts';`);
      await running.said(/^error: .*later\.ts.*$/m);
      await running.said(/^waiting /m);
      // The file that was missing.
      writeFileSync(path.join(folder, 'later.ts'), `console.log('later is here');`);
      await running.said(/^later is here$/m);
      saveInPlace(`export const broken = ;`);
      await running.said(/^waiting /m);
      await endsWithCtrlC(running);
    });

    test.each([
      ['in place', saveInPlace],
      ['by renaming another file onto it', saveByRenaming],
    ])('follows each of ten saves %s', async (_, save) => {
      const running = await start(moduleOf(''));

      for (let version = 1; version <= 10; version++) {
        save(moduleOf('', version));
        await running.said(new RegExp(`^version ${version} `, 'm'));
      }

      await enqueue('rest', '--id', 'rest-1');
      await running.said(/resting 1$/m);
      save(moduleOf('', 11));
      // While the worker is being replaced.
      await endsWithCtrlC(running);
    });
  },
);
