/** `leasehold dev` of the installed package, as its user starts it: a task runs, the code changes, and the next one runs the new code. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';

/** Generous: the machine may be busy, and only a `dev` that is stuck says nothing for so long. */
const PATIENCE_MS = 120_000;

const program = (words: string): string => `
import { defineTask } from 'leasehold/tasks';

export const greet = defineTask({
  name: 'greet',
  run: ({ name }: { readonly name: string }) => console.log('${words} ' + name),
});`;

/**
 * @param project has the package
 * @param enqueue adds a task of that name through an endpoint
 * @returns what it saw
 */
export async function tryDev(project: string, enqueue: (name: string, endpoint: string) => void): Promise<string> {
  const entry = path.join(project, 'spoken.ts');
  writeFileSync(entry, program('hello'));
  const cli = path.join(project, 'node_modules/leasehold/cli/main.js');
  const dev = spawn(process.execPath, [cli, 'dev', 'spoken.ts', '--engine', 'memory', '--port', '0'], {
    cwd: project,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [dev.stdout, dev.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  const until = async (pattern: RegExp): Promise<string> => {
    const patience = AbortSignal.timeout(PATIENCE_MS);
    for (;;) {
      const [, found] = pattern.exec(said) ?? [];
      if (found !== undefined) return found;
      if (dev.exitCode !== null) throw new Error(`leasehold dev ended with ${dev.exitCode}:\n${said}`);
      const more = [dev.stdout, dev.stderr].map((stream) => once(stream, 'data', { signal: patience }));
      await Promise.race([...more, once(dev, 'close', { signal: patience })]).catch((cause: unknown) => {
        throw new Error(`leasehold dev did not say ${String(pattern)}:\n${said}`, { cause });
      });
      for (const one of more) one.catch(() => undefined);
    }
  };
  try {
    const endpoint = await until(/LEASEHOLD_ENDPOINT=(\S+)/);
    await until(/^tasks +(greet)/m);
    enqueue('Ada', endpoint);
    const first = await until(/^(hello Ada)$/m);
    writeFileSync(entry, program('good evening'));
    enqueue('Mary', endpoint);
    const second = await until(/^(good evening Mary)$/m);
    dev.kill('SIGINT');
    if (dev.exitCode === null) await once(dev, 'close', { signal: AbortSignal.timeout(PATIENCE_MS) });
    if (dev.exitCode !== 0)
      throw new Error(`leasehold dev ended with ${dev.exitCode ?? dev.signalCode ?? 'nothing'}:\n${said}`);
    return `“${first}”, and after a change of the code “${second}”`;
  } finally {
    dev.kill('SIGKILL');
  }
}
