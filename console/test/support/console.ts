/** A console over a table of a test's own. */
import type { Overview } from '../../model.ts';
import type { PageOptions } from '../../../cli/page.ts';
import type { RunningConsole } from '../../server/server.ts';
import { startConsole } from '../../server/server.ts';
import { DEFAULT_MAX_CLOCK_SKEW_MS } from '../../../shared/core/lease/timing.ts';
import { systemRuntime } from '../../../shared/core/runtime/runtime.ts';
import type { CommandSettings } from '../../../test/support/command.ts';

export const CONSOLE_SHARDS = 8;

/** Polls often, so that tests need not wait. */
const EVERY_MS = 200;

export function openConsole(
  { endpoint, table }: CommandSettings,
  changes: Partial<PageOptions> = {},
): Promise<RunningConsole> {
  return startConsole(
    {
      endpoint,
      table,
      shards: CONSOLE_SHARDS,
      maxClockSkewMs: DEFAULT_MAX_CLOCK_SKEW_MS,
      queues: ['default'],
      isReadOnly: false,
      by: 'ann@desk',
      port: 0,
      everyMs: EVERY_MS,
      ...changes,
    },
    systemRuntime,
  );
}

/** Exchanges the token in the address for the cookie, as a browser does. */
export async function enter(running: RunningConsole): Promise<ConsoleVisitor> {
  const { address } = running;
  const { origin } = new URL(address);
  const response = await fetch(running.invite(), { redirect: 'manual' });
  const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';');
  return {
    origin,
    cookie,
    address,
    get: (path) => fetch(new URL(path, address), { headers: { cookie } }),
    act: (act) =>
      fetch(new URL('api/acts', address), {
        method: 'POST',
        headers: { cookie, origin, 'content-type': 'application/json' },
        body: JSON.stringify(act),
      }),
  };
}

export interface ConsoleVisitor {
  readonly origin: string;
  readonly address: string;
  readonly cookie: string;
  /** @param path below the console's own */
  get(path: string): Promise<Response>;
  act(act: unknown): Promise<Response>;
}

/** The console's news about its table, poll by poll. */
export async function* newsOf({ address, cookie }: ConsoleVisitor, signal?: AbortSignal): AsyncGenerator<Overview> {
  const response = await fetch(new URL('api/live', address), { headers: { cookie }, signal: signal ?? null });
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const events = text.split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const [, kind] = /^event: (\w+)$/m.exec(event) ?? [];
      const [, data = ''] = /^data: (.*)$/m.exec(event) ?? [];
      if (kind === 'overview') yield (JSON.parse(data) as { overview: Overview }).overview;
    }
  }
}

export async function firstNews(visitor: ConsoleVisitor): Promise<Overview> {
  for await (const overview of newsOf(visitor)) return overview;
  throw new Error('the feed ended without news');
}
