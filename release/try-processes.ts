/** Long-running programs of the installed package, started like users start them: `leasehold dev`, and a custom worker. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';

/** Generous, because the machine may be busy; only a stuck program stays silent longer. */
const PATIENCE_MS = 120_000;

interface Program extends AsyncDisposable {
  /** Waits until it has said something that fits. @returns what the first group found */
  until(pattern: RegExp): Promise<string>;
  /** @returns all that it said. @throws when it does not end by itself, and well */
  stop(signal: NodeJS.Signals): Promise<string>;
}

/** @param project has the package */
export function start(
  project: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Program {
  const child = spawn(process.execPath, args, {
    cwd: project,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const what = args.join(' ');
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  return {
    async until(pattern) {
      const patience = AbortSignal.timeout(PATIENCE_MS);
      for (;;) {
        const [, found] = pattern.exec(said) ?? [];
        if (found !== undefined) return found;
        if (hasEnded()) throw new Error(`${what} ended with ${child.exitCode ?? child.signalCode}:\n${said}`);
        const more = [child.stdout, child.stderr].map((stream) => once(stream, 'data', { signal: patience }));
        await Promise.race([...more, once(child, 'close', { signal: patience })]).catch((cause: unknown) => {
          throw new Error(`${what} did not say ${String(pattern)}:\n${said}`, { cause });
        });
        for (const one of more) one.catch(() => undefined);
      }
    },
    async stop(signal) {
      const closed = once(child, 'close', { signal: AbortSignal.timeout(PATIENCE_MS) });
      child.kill(signal);
      if (!hasEnded()) await closed;
      else closed.catch(() => undefined);
      if (child.exitCode !== 0) throw new Error(`${what} ended with ${child.exitCode ?? child.signalCode}:\n${said}`);
      return said;
    },
    [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      return Promise.resolve();
    },
  };
}

const CLI = 'node_modules/leasehold/api/command.js';
const DEV = ['--engine', 'memory', '--port', '0'];

const program = (words: string): string => `
import { defineTask } from 'leasehold/tasks';
console.log('loaded, to say ${words}');

export const greet = defineTask({
  name: 'greet',
  run: ({ name }: { readonly name: string }) => console.log('${words} ' + name),
});`;

/** Adds a task through an endpoint: its name, and its input as JSON. */
type Enqueue = (task: string, input: string, endpoint: string) => void;

/** A task runs, the code changes, and the next one runs the new code. @returns what it saw */
export async function tryDev(project: string, enqueue: Enqueue): Promise<string> {
  const entry = path.join(project, 'spoken.ts');
  writeFileSync(entry, program('hello'));
  await using dev = start(project, [CLI, 'dev', 'spoken.ts', ...DEV]);
  const endpoint = await dev.until(/LEASEHOLD_ENDPOINT=(\S+)/);
  await dev.until(/^tasks +(greet)/m);
  enqueue('greet', '{"name": "Ada"}', endpoint);
  const first = await dev.until(/^(hello Ada)$/m);
  writeFileSync(entry, program('good evening'));
  // Until then the worker with the old code might take the task.
  await dev.until(/^(loaded, to say good evening)$/m);
  enqueue('greet', '{"name": "Mary"}', endpoint);
  const second = await dev.until(/^(good evening Mary)$/m);
  await dev.stop('SIGINT');
  return `“${first}”, and after a change of the code “${second}”`;
}

/** A program on `createWorker`, as a container would run it: a task is done, and SIGTERM ends it well. */
export async function tryContainer(project: string, enqueue: Enqueue, endpoint: string): Promise<string> {
  await using worker = start(project, ['container.mjs'], { LEASEHOLD_ENDPOINT: endpoint });
  enqueue('say', '{"words": "from a container"}', endpoint);
  const said = await worker.until(/^(said: .*)$/m);
  const totals = (await worker.stop('SIGTERM')).trim().split('\n').at(-1) ?? '';
  const { done } = JSON.parse(totals) as { readonly done: number };
  if (done !== 1) throw new Error(`it counted ${totals}`);
  return `“${said}”, and SIGTERM ended it: ${totals}; a plain process, for no container is started here`;
}
