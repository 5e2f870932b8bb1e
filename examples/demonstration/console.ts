/** The console over the demonstration's table. */
import { SATELLITES } from '../../api/satellites.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import type { Platform } from '../platform/platform.ts';
import { SHARDS, TABLE_NAME } from '../platform/platform.ts';
import type { Display } from './display.ts';

/** Often: a read unit of this engine costs nothing. */
const EVERY_MS = 500;

/** Says where its page is, and again when a browser was let in, for another one. */
export async function serveConsole(
  { engine }: Platform,
  settings: { readonly queue: string; readonly maxClockSkewMs: number },
  display: Display,
): Promise<AsyncDisposable> {
  const console = await SATELLITES.console?.();
  const page = await console?.openPage?.(
    {
      table: TABLE_NAME,
      endpoint: engine.endpoint,
      shards: SHARDS,
      maxClockSkewMs: settings.maxClockSkewMs,
      queues: [settings.queue],
      isReadOnly: false,
      by: 'you, at the demonstration',
      port: 0,
      everyMs: EVERY_MS,
      onEntered: (next) => display.note(`console    for another browser: ${next}`),
    },
    systemRuntime,
  );
  display.note(`console    ${page?.invite() ?? 'no console installed'}`);
  return { [Symbol.asyncDispose]: async () => page?.close() };
}
