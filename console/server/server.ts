/**
 * The console: a page on loopback that shows a table and acts on it with its operator's own credentials.
 * It has no protocol of its own: all reads and writes go through the library's clients and stores.
 */
import type { Server } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
import type { Context } from 'hono';
import { Hono } from 'hono';
import type { Page, PageOptions } from '../../cli/page.ts';
import { LOOPBACK, close, listen } from '../../shared/core/listen.ts';
import type { Runtime } from '../../shared/core/runtime/runtime.ts';
import { answerWith, readAssets } from './assets.ts';
import { ConsoleConnection } from './connection.ts';
import { Feed } from './feed.ts';
import { Gate } from './gate.ts';
import { OverviewReader } from './views/overview.ts';
import { SessionBook } from './views/session-book.ts';
import { createRoutes } from './routes.ts';
import { SharedReads } from './shared-reads.ts';

export interface RunningConsole extends Page {
  /** Its page, for browsers that were let in. */
  readonly address: string;
  readonly port: number;
  /** Read units used so far. */
  readUnits(): number;
  /** Whether it reads the table: only while a page is open. */
  isLooking(): boolean;
}

/** Price limit of each page while it is open: about a cent an hour. */
const UNITS_PER_SECOND = 20;
/** An engine on this machine costs no money, and only some of its CPU time. */
const LOCAL_UNITS_PER_SECOND = 400;

/** @throws ConfigurationError if the port is not available */
export async function startConsole(options: PageOptions, runtime: Runtime): Promise<RunningConsole> {
  const assets = await readAssets();
  const connection = new ConsoleConnection(options, runtime);
  const book = new SessionBook(connection);
  const overview = new OverviewReader(connection, book);
  const pace = {
    everyMs: options.everyMs,
    unitsPerSecond: connection.isLocal ? LOCAL_UNITS_PER_SECOND : UNITS_PER_SECOND,
  };
  const feed = new Feed(overview, { runtime, ...pace });
  const reads = new SharedReads(runtime.clock, pace);
  const gate = new Gate(runtime.ids, () => options.onEntered?.(gate.invite()));

  const app = new Hono();
  app.use(gate.headers, gate.guard);
  app.route(`${gate.root}api`, createRoutes({ connection, feed, overview, book, reads }));
  const serve = (name: string, context: Context): Response | Promise<Response> => {
    const asset = assets.get(name);
    return asset === undefined ? context.notFound() : answerWith(asset, context.req.raw);
  };
  app.get(`${gate.root}*`, (context) => serve(context.req.path.slice(gate.root.length) || 'index.html', context));
  // Files that the gate shows to everybody.
  app.get('/:file', (context) => serve(context.req.param('file'), context));

  const server = createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false }) as Server;
  const { port } = options;
  const refusal = (code: string): string =>
    `cannot listen on ${LOOPBACK} port ${port} (${code}): choose another, or 0 for any that is free`;
  const address = await listen(server, { host: LOOPBACK, port, refusal }).catch((error: unknown) => {
    connection[Symbol.dispose]();
    throw error;
  });
  gate.port = address.port;
  return {
    invite: () => gate.invite(),
    address: `http://${LOOPBACK}:${address.port}${gate.root}`,
    port: address.port,
    readUnits: () => connection.readUnits(),
    isLooking: () => feed.isRunning,
    async close() {
      await feed.close();
      await close(server);
      connection[Symbol.dispose]();
    },
  };
}
