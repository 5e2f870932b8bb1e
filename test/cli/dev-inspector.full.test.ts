/**
 * `leasehold dev` with Node's inspector: a worker that is stopped at a breakpoint is alive.
 * Real processes, and a real debugger session for each; the test waits for their output without a limit.
 */
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RunningCommand } from '../support/command.ts';
import { runHere, spawnCommand } from '../support/command.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** A module with one task; its worker says where to attach a debugger. */
function moduleOf(body: string): string {
  return `
import { writeSync } from 'node:fs';
import inspector from 'node:inspector';
import { setTimeout } from 'node:timers/promises';
import { defineTask } from 'leasehold/tasks';
export const act = defineTask({ name: 'act', async run(_input, task) { ${body} } });
writeSync(1, 'inspector ' + inspector.url() + '\\n');`;
}

describe('leasehold dev with an inspector', () => {
  let folder: string;
  const running: RunningCommand[] = [];
  // Inside of the package, so that `leasehold/tasks` is found.
  beforeEach(() => {
    mkdirSync(path.join(ROOT, '.leasehold'), { recursive: true });
    folder = mkdtempSync(path.join(ROOT, '.leasehold/inspector-'));
  });
  afterEach(async () => {
    for (const dev of running.splice(0)) {
      dev.process.kill('SIGKILL');
      await dev.ended;
    }
    rmSync(folder, { recursive: true });
  });

  function write(name: string, body: string): string {
    const entry = path.join(folder, name);
    writeFileSync(entry, moduleOf(body));
    return entry;
  }

  async function start(entry: string, environment: Readonly<Record<string, string>> = {}): Promise<RunningCommand> {
    const dev = spawnCommand(environment, ['dev', entry, '--port', '0', '--session-ttl', '6s']);
    running.push(dev);
    await dev.said(/^tasks +act/m);
    return dev;
  }

  async function enqueue(dev: RunningCommand): Promise<void> {
    const endpoint = /LEASEHOLD_ENDPOINT=(\S+)/.exec(dev.out())?.[1] ?? '';
    expect(await runHere(['--endpoint', endpoint, 'enqueue', 'act', '--id', 'act-1'])).toMatchObject({ exitCode: 0 });
  }

  /** Starts `dev` with an inspector and a debugger, and returns when its task has stopped at `debugger`. */
  async function atBreakpoint(entry: string): Promise<{ readonly dev: RunningCommand; readonly worker: Debugger }> {
    const dev = await start(entry, { NODE_OPTIONS: '--inspect=127.0.0.1:0' });
    const worker = await Debugger.attach(/^inspector (ws:\S+)$/m.exec(dev.out())?.[1] ?? '');
    await enqueue(dev);
    await worker.paused;
    return { dev, worker };
  }

  test('keeps a task at a breakpoint for longer than the lease of a worker', async () => {
    const loops = await start(write('loop.ts', 'for (;;);'));
    const { dev, worker } = await atBreakpoint(write('act.ts', 'debugger; return task.signal.aborted;'));

    await enqueue(loops);
    // Blocked later than the other, and with the same lease.
    await loops.said(/^killed {3}its lease is lost: act-1 \(act\)/m);
    worker.resume();

    await dev.said(/^(?:done|lost) act-1/m);
    expect(dev.err()).toMatch(/^done act-1 \(act, attempt 1\)$/m);
    expect(dev.err()).not.toMatch(/^(?:stuck|killed|crashed)/m);
  });

  test('replaces a worker at a breakpoint when it continues, although the debugger stays', async () => {
    const entry = write('act.ts', `debugger; await setTimeout(600_000, undefined, { signal: task.signal });`);
    const { dev, worker } = await atBreakpoint(entry);

    write('act.ts', `console.log('mended', task.attempt);`);
    await dev.said(/^waiting {2}the worker does not answer, and an inspector is open; Ctrl\+C again ends everything$/m);
    worker.resume();

    await dev.said(/^changed {2}\S*act\.ts → worker 2 \(1 task handed back: act-1 \(act\)\)$/m);
    await dev.said(/^mended 1$/m);
  });

  test('notices that a task ends its process, though the debugger stays', async () => {
    const { dev, worker } = await atBreakpoint(write('act.ts', 'debugger; process.exit(3);'));

    worker.resume();

    await dev.said(/^crashed {2}exit 3 by act-1 \(act\): again in 1 s$/m);
  });

  test('ends a worker at a breakpoint with the second Ctrl+C', async () => {
    const { dev, worker } = await atBreakpoint(write('act.ts', 'debugger;'));

    dev.process.kill('SIGINT');
    await dev.said(/^waiting {2}the worker does not answer/m);
    expect(worker.isAttached).toBe(true);
    dev.process.kill('SIGINT');

    expect(await dev.ended).toMatchObject({ signal: 'SIGINT' });
    await worker.detached;
  });
});

/** A debugger's session, like that of an editor: the protocol of Node's inspector over its WebSocket. */
class Debugger {
  readonly #socket: WebSocket;
  readonly paused: Promise<unknown>;
  readonly detached: Promise<unknown>;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    this.detached = once(socket, 'close');
    this.paused = new Promise((resolve) => {
      socket.addEventListener('message', ({ data }) => {
        if ((JSON.parse(String(data)) as { readonly method?: string }).method === 'Debugger.paused') resolve(undefined);
      });
    });
  }

  /** Also keeps the process from ending, like an editor that does not detach by itself. */
  static async attach(url: string): Promise<Debugger> {
    const socket = new WebSocket(url);
    await once(socket, 'open');
    const session = new Debugger(socket);
    session.#send(1, 'Debugger.enable');
    return session;
  }

  get isAttached(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  resume(): void {
    this.#send(2, 'Debugger.resume');
  }

  #send(id: number, method: string): void {
    this.#socket.send(JSON.stringify({ id, method }));
  }
}
