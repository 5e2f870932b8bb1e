/** Isolates in this process: contexts that have the web's globals and lack Node's, with the program of those in workerd. */
import { bundleEdge, openIsolate } from '../isolates.ts';
import { startTwiceProxy } from '../twice-proxy.ts';
import type { HostSettings, RuntimeHost } from './host.ts';
import type { Errand } from './scenario.ts';
import type program from './workerd-program.ts';

const PROGRAM = `export { default } from './test/support/runtimes/workerd-program.ts';`;

export async function startContexts(
  { isolates, table, endpoint }: HostSettings,
  store = endpoint,
): Promise<RuntimeHost> {
  const bundle = await bundleEdge(PROGRAM);
  const all = Array.from({ length: isolates }, () => openIsolate<{ readonly default: typeof program }>(bundle));
  const ask = async (isolate: number, errand: Errand): Promise<never> => {
    const request = new Request('http://isolate/', { method: 'POST', body: JSON.stringify(errand) });
    const response = await all[isolate]!.exports.default.fetch(request, {
      TABLE: table,
      ENDPOINT: endpoint,
      STORE: store,
    });
    if (!response.ok) throw new Error(`isolate ${isolate}: ${await response.text()}`);
    return (await response.json()) as never;
  };
  return {
    ask,
    hold: (isolate, key) => ask(isolate, { kind: 'hold', key }),
    kill: (isolate) => Promise.resolve(all[isolate]?.kill()),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** Each request of the library arrives twice: the second answer is heard, and others come between the two. */
export async function startContextsHeardTwice(settings: HostSettings): Promise<RuntimeHost> {
  const proxy = await startTwiceProxy(settings.endpoint, { answer: 'second', inARow: false });
  const host = await startContexts({ ...settings, endpoint: proxy.endpoint }, settings.endpoint);
  return { ...host, [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose]() };
}
