/**
 * `leasehold/edge` as isolates run it: bundled for no platform, in contexts that have the web's globals and lack Node's.
 * A killed isolate sends nothing more, and receives no response.
 */
import vm from 'node:vm';
import { build } from 'esbuild';
import type * as edge from '../../api/edge.ts';

export interface Isolate<Exports = typeof edge> {
  readonly exports: Exports;
  readonly fetch: typeof fetch;
  kill(): void;
}

export interface EdgeBundle {
  readonly text: string;
  /** Bundled modules, and modules that it imports from its host. */
  readonly inputs: readonly string[];
  readonly external: readonly string[];
}

export async function bundleEdge(contents = `export * from './api/edge.ts';`): Promise<EdgeBundle> {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: process.cwd() },
    bundle: true,
    write: false,
    metafile: true,
    minify: true,
    format: 'iife',
    globalName: 'edge',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    target: 'es2024',
    logLevel: 'silent',
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  return {
    text: outputFiles[0]?.text ?? '',
    inputs: Object.keys(metafile.inputs),
    external: imports.map(({ path }) => path),
  };
}

/** The part of Node's globals that WinterTC's minimum contains. */
const WEB = {
  AbortController,
  AbortSignal,
  DOMException,
  Event,
  EventTarget,
  Headers,
  Request,
  Response,
  URL,
  TextDecoder,
  TextEncoder,
  DecompressionStream,
  ReadableStream,
  atob,
  btoa,
  console,
  crypto,
  performance,
  queueMicrotask,
  setTimeout,
  clearTimeout,
  structuredClone,
};

export function openIsolate<Exports = typeof edge>({ text }: EdgeBundle): Isolate<Exports> {
  let isAlive = true;
  // Asked in a function, for the compiler takes the answer from before the wait for the last.
  const isKilled = (): boolean => !isAlive;
  const ownFetch: typeof fetch = async (...call) => {
    const never = Promise.withResolvers<Response>().promise;
    if (isKilled()) return never;
    const response = await fetch(...call);
    return isKilled() ? never : response;
  };
  const context = vm.createContext({ ...WEB, fetch: ownFetch });
  vm.runInContext(text, context);
  return {
    exports: (context as unknown as { readonly edge: Exports }).edge,
    fetch: ownFetch,
    kill() {
      isAlive = false;
    },
  };
}
