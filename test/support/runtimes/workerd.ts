/** workerd with isolates in it, each with `leasehold/edge` and a door: a request to `/<isolate>` is an errand. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { build } from 'esbuild';
import { bindToParent, signalGroup } from '../../../local/bind-to-parent.ts';
import { ROOT } from '../documents.ts';
import type { HostSettings, RuntimeHost } from './host.ts';
import type { Errand, Tenure } from './scenario.ts';

export async function startWorkerd({ isolates, table, endpoint, ...rest }: HostSettings): Promise<RuntimeHost> {
  const program = path.join(import.meta.dirname, 'workerd-program.ts');
  const server = await serveIsolates({ ...rest, program, isolates, env: { TABLE: table, ENDPOINT: endpoint } });
  const send = async (isolate: number, errand: Errand, headers: Record<string, string> = {}): Promise<Response> => {
    const response = await fetch(`${server.address}/${isolate}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(errand),
    });
    if (!response.ok) throw new Error(`isolate ${isolate}: ${await response.text()}`);
    return response;
  };
  return {
    ask: async (isolate, errand) => (await (await send(isolate, errand)).json()) as never,
    // Within a request that stays open.
    async hold(isolate, key) {
      const response = await send(isolate, { kind: 'hold', key }, { stay: 'yes' });
      const reader = response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
      return JSON.parse(new TextDecoder().decode((await reader.read()).value)) as Tenure;
    },
    kill: () => server.kill(),
    [Symbol.asyncDispose]: () => server.kill(),
  };
}

interface Isolates {
  /** The door's address; the path's first part is the number of an isolate. */
  readonly address: string;
  /** All of them at once: they share a process. */
  kill(): Promise<void>;
}

export async function serveIsolates({
  binary,
  program,
  isolates,
  env,
}: {
  readonly binary: string;
  readonly program: string;
  readonly isolates: number;
  /** Variables of each isolate, in addition to its requests. */
  readonly env: Readonly<Record<string, string>>;
}): Promise<Isolates> {
  const folder = mkdtempSync(path.join(tmpdir(), 'leasehold-workerd-'));
  await build({
    entryPoints: [program],
    outfile: path.join(folder, 'program.js'),
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    target: 'es2024',
    absWorkingDir: ROOT,
    logLevel: 'silent',
  });
  writeFileSync(path.join(folder, 'door.js'), DOOR);
  writeFileSync(path.join(folder, 'config.capnp'), configOf(isolates, env));
  const child = spawn(binary, ['serve', path.join(folder, 'config.capnp'), '--control-fd=3'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  bindToParent(child);
  const ended = once(child, 'close');
  let said = '';
  for (const stream of [child.stdout, child.stderr] as Readable[])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  const port = await Promise.race([
    portFrom(child.stdio[3] as Readable),
    ended.then(() => Promise.reject(new Error(`workerd has ended: ${said}`))),
  ]);
  return {
    address: `http://127.0.0.1:${port}`,
    async kill() {
      signalGroup(child, 'SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The first line that says where it listens. */
async function portFrom(control: Readable): Promise<number> {
  for await (const line of createInterface(control)) {
    const { event, port } = JSON.parse(line) as { readonly event: string; readonly port?: number };
    if (event === 'listen' && port !== undefined) return port;
  }
  throw new Error('workerd said nothing of a port');
}

/** Passes each request on to the isolate that its path names. */
const DOOR = `export default {
  fetch(request, env) {
    const [, isolate, ...rest] = new URL(request.url).pathname.split('/');
    return env['isolate' + isolate].fetch(new Request(new URL('/' + rest.join('/'), request.url), request));
  },
};`;

/** Each service is a separate isolate; the network is open, because the engine is on the loopback interface. */
function configOf(isolates: number, env: Readonly<Record<string, string>>): string {
  const names = Array.from({ length: isolates }, (_, at) => `isolate${at}`);
  const texts = Object.entries(env).map(([name, text]) => `(name = "${name}", text = ${JSON.stringify(text)})`);
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "internet", network = (allow = ["public", "private", "local"])),
    (name = "door", worker = (
      modules = [(name = "door.js", esModule = embed "door.js")],
      compatibilityDate = "2026-07-01",
      bindings = [${names.map((name) => `(name = "${name}", service = "${name}")`).join(', ')}],
    )),
    ${names.map((name) => `(name = "${name}", worker = .program)`).join(',\n    ')}
  ],
  sockets = [(name = "door", address = "127.0.0.1:0", http = (), service = "door")],
);

const program :Workerd.Worker = (
  modules = [(name = "program.js", esModule = embed "program.js")],
  compatibilityDate = "2026-07-01",
  bindings = [${texts.join(', ')}],
);
`;
}
