/** What the page asks for: looks, shared by all viewers; acts; and the feed of news. */
import type { Context } from 'hono';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { streamSSE } from 'hono/streaming';
import { isMissingTable, missingTable } from '../shared/dynamo/engine/missing-table.ts';
import { ConfigurationError, StoreUnavailableError, messageOf } from '../shared/core/errors.ts';
import { validName } from '../shared/core/validate/name.ts';
import { execute, parseAct } from './acts.ts';
import type { Connection } from './connection.ts';
import type { Feed } from './feed.ts';
import { lookAtAudit } from './views/audit.ts';
import { lookAtLocks, lookAtSemaphores } from './views/coordination.ts';
import type { OverviewLook } from './views/overview.ts';
import { lookAtSchedules } from './views/schedules.ts';
import type { SessionBook } from './views/session-book.ts';
import { SessionsLook, withHoldings } from './views/sessions.ts';
import { lookAtTask, lookAtTasks } from './views/tasks.ts';
import type { LockPage, SemaphorePage } from './model.ts';
import { LISTED_STATES } from './model.ts';
import type { SharedLooks } from './shared-look.ts';

export interface RoutesPorts {
  readonly connection: Connection;
  readonly feed: Feed;
  readonly overview: OverviewLook;
  readonly book: SessionBook;
  readonly looks: SharedLooks;
}

const ACT_LIMIT_BYTES = 16 * 1024;

export function createRoutes({ connection, feed, overview, book, looks }: RoutesPorts): Hono {
  const sessions = new SessionsLook(connection, book);
  const locks = (prefix: string): Promise<LockPage> =>
    looks.ask(`locks ${prefix}`, () => lookAtLocks(connection, prefix));
  const semaphores = (prefix: string): Promise<SemaphorePage> =>
    looks.ask(`semaphores ${prefix}`, () => lookAtSemaphores(connection, prefix));

  const routes = new Hono();
  routes.onError((error, context) => fail(context, error, connection));

  routes.get('/connection', (context) => context.json(connection.info));

  routes.get('/tasks', async (context) => {
    const { queue: asked, state: wanted = 'unfinished', after } = context.req.query();
    const queue = validName('queue', asked);
    const state = LISTED_STATES.find((known) => known === wanted);
    if (state === undefined)
      throw new ConfigurationError(`state = ${JSON.stringify(wanted)}: give one of ${LISTED_STATES.join(', ')}`);
    const query = { queue, state, after, withTenants: overview.mayHaveTenants(queue) };
    const page = await looks.ask(`tasks ${JSON.stringify(query)}`, () => lookAtTasks(connection, query));
    // A mistyped name is not looked at again and again.
    if (page.tasks.length > 0) overview.include(queue);
    return context.json(page);
  });

  routes.get('/task', async (context) => {
    const key = {
      queue: validName('queue', context.req.query('queue')),
      id: validName('id', context.req.query('id')),
    };
    const view = await looks.ask(`task ${JSON.stringify(key)}`, async () => {
      const found = await lookAtTask(connection, book, key);
      return found ?? { value: undefined, units: 1 };
    });
    return view === undefined
      ? context.json({ error: `there is no task ${key.id} in queue ${key.queue}` }, 404)
      : context.json(view);
  });

  routes.get('/sessions', async (context) => {
    const [held, permits] = await Promise.all([locks(''), semaphores('')]);
    const holdings = withHoldings(overview.holdings(), held, permits);
    return context.json(await looks.ask('sessions', () => sessions.look(holdings)));
  });
  routes.get('/locks', async (context) => context.json(await locks(context.req.query('prefix') ?? '')));
  routes.get('/semaphores', async (context) => context.json(await semaphores(context.req.query('prefix') ?? '')));
  routes.get('/schedules', async (context) => {
    const { queues } = overview;
    return context.json(await looks.ask(`schedules ${queues.join(' ')}`, () => lookAtSchedules(connection, queues)));
  });
  routes.get('/audit', async (context) => context.json(await looks.ask('audit', () => lookAtAudit(connection))));

  const limit = bodyLimit({
    maxSize: ACT_LIMIT_BYTES,
    onError: (context) => context.json({ error: `an act has at most ${ACT_LIMIT_BYTES} bytes: nothing was done` }, 413),
  });
  routes.post('/acts', limit, async (context) => {
    if (connection.options.isReadOnly)
      return context.json({ error: 'this console is read-only: nothing was done' }, 403);
    const answer = await execute(connection, parseAct(await context.req.json().catch(() => undefined)));
    looks.forget();
    return context.json(answer, answer.kind === 'done' ? 200 : 409);
  });

  routes.get('/live', (context) =>
    streamSSE(context, async (stream) => {
      const gone = Promise.withResolvers<undefined>();
      let isWriting = false;
      const leave = feed.join((news) => {
        // A slow reader gets the latest, not all of it.
        if (isWriting) return;
        isWriting = true;
        const { kind, ...data } = news;
        stream.writeSSE({ event: kind, data: JSON.stringify(data) }).then(
          () => {
            isWriting = false;
          },
          () => gone.resolve(undefined),
        );
      });
      stream.onAbort(() => gone.resolve(undefined));
      await gone.promise;
      leave();
    }),
  );
  return routes;
}

function fail(context: Context, error: unknown, { options: { table } }: Connection): Response {
  if (isMissingTable(error)) return context.json({ error: missingTable(table) }, 503);
  if (error instanceof ConfigurationError) return context.json({ error: error.message }, 400);
  if (error instanceof StoreUnavailableError) return context.json({ error: error.message }, 503);
  return context.json({ error: messageOf(error) }, 500);
}
