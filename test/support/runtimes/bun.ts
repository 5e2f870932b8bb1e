/** Bun with isolates in it: workers of one process, each with `leasehold` over its own sockets. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { bindToParent, signalGroup } from '../../../local/bind-to-parent.ts';
import { ROOT } from '../documents.ts';
import type { Order, Reply } from './bun-program.ts';
import type { HostSettings, RuntimeHost } from './host.ts';
import type { Errand, Tenure } from './scenario.ts';

export async function startBun({ binary, table, endpoint }: HostSettings): Promise<RuntimeHost> {
  const folder = mkdtempSync(path.join(tmpdir(), 'leasehold-bun-'));
  const program = path.join(folder, 'program.mjs');
  // One file, or each isolate would read three hundred.
  await build({
    entryPoints: [path.join(import.meta.dirname, 'bun-program.ts')],
    outfile: program,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'es2024',
    packages: 'bundle',
    external: ['@aws-sdk/*'],
    absWorkingDir: ROOT,
    logLevel: 'silent',
  });
  const child = spawn(binary, [program, table, endpoint], { detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  bindToParent(child);
  const ended = once(child, 'close');
  const asked = new Map<number, PromiseWithResolvers<unknown>>();
  let hasEnded = false;
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  createInterface(child.stdout).on('line', (line) => {
    const { id, answer, error } = JSON.parse(line) as Reply;
    if (error === undefined) asked.get(id)?.resolve(answer);
    else asked.get(id)?.reject(new Error(error));
    asked.delete(id);
  });
  const failure = (): Error => new Error(`bun has ended: ${said}`);
  void ended.then(() => {
    hasEnded = true;
    for (const { reject } of asked.values()) reject(failure());
  });
  let orders = 0;
  const order = async (isolate: number, errand?: Errand): Promise<unknown> => {
    if (hasEnded) throw failure();
    const id = ++orders;
    const answer = Promise.withResolvers<unknown>();
    asked.set(id, answer);
    child.stdin.write(`${JSON.stringify({ id, isolate, ...(errand && { errand }) } satisfies Order)}\n`);
    return answer.promise;
  };
  return {
    ask: (isolate, errand) => order(isolate, errand) as never,
    hold: (isolate, key) => order(isolate, { kind: 'hold', key }) as Promise<Tenure>,
    async kill(isolate) {
      await order(isolate);
    },
    async [Symbol.asyncDispose]() {
      signalGroup(child, 'SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
