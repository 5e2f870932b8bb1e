/** The page's requests: views, shared by all viewers; actions; and the news feed. */
import type { Context } from 'hono';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { streamSSE } from 'hono/streaming';
import { isMissingTable, missingTable } from '../../shared/dynamo/engine/missing-table.ts';
import { ConfigurationError, StoreUnavailableError, messageOf } from '../../shared/core/errors.ts';
import { InvalidInputError } from '../../shared/tasks/task/control.ts';
import { validName, validWholeNumber } from '../../shared/core/validate/options.ts';
import { execute, parseAct, selectionIn } from './acts.ts';
import type { ConsoleConnection } from './connection.ts';
import type { Feed, News } from './feed.ts';
import { readAudit, readLocks, readSelected, readSemaphores } from './views/lists.ts';
import type { OverviewReader } from './views/overview.ts';
import { readSchedules } from './views/schedules.ts';
import type { SessionBook } from './views/session-book.ts';
import { SessionsReader, withHoldings } from './views/sessions.ts';
import { readTask, readTasks } from './views/tasks.ts';
import { DeadReader } from './views/dead.ts';
import { KnownNames, readNames } from './views/known-names.ts';
import { readFinished } from './views/finished.ts';
import { priceOfScan, scanFinished } from './views/scan.ts';
import type { LockPage, SemaphorePage } from '../model.ts';
import { LISTED_STATES, OUTCOMES } from '../model.ts';
import type { SharedReads } from './shared-reads.ts';

interface RoutesPorts {
  readonly connection: ConsoleConnection;
  readonly feed: Feed;
  readonly overview: OverviewReader;
  readonly book: SessionBook;
  readonly reads: SharedReads;
}

/** An input has up to 16 KB, and as JSON within JSON up to twice as much. */
const ACT_LIMIT_BYTES = 40 * 1024;
/** Eight gigabytes, for a quarter of a dollar. */
const SCAN_LIMIT_UNITS = 1_000_000;

export function createRoutes({ connection, feed, overview, book, reads }: RoutesPorts): Hono {
  const names = new KnownNames();
  const dead = new DeadReader(connection, names);
  const sessions = new SessionsReader(connection, book);
  const locks = (prefix: string): Promise<LockPage> =>
    reads.ask(`locks ${prefix}`, () => readLocks(connection, prefix));
  const semaphores = (prefix: string): Promise<SemaphorePage> =>
    reads.ask(`semaphores ${prefix}`, () => readSemaphores(connection, prefix));

  const routes = new Hono();
  routes.onError((error, context) => fail(context, error, connection));

  routes.get('/connection', (context) => context.json(connection.info));

  routes.get('/tasks', async (context) => {
    const { queue: asked, state: wanted = 'unfinished', after, name = '', id = '' } = context.req.query();
    const queue = validName('queue', asked);
    const state = oneOf('state', LISTED_STATES, wanted);
    const query = { queue, state, after, name, id, withGroups: overview.mayHaveGroups(queue) };
    const page = await reads.ask(`tasks ${JSON.stringify(query)}`, () => readTasks(connection, names, query));
    // Do not poll a mistyped name again and again.
    if (page.tasks.length > 0) overview.include(queue);
    return context.json(page);
  });

  routes.get('/dead', async (context) => {
    const { queue: asked, name = '', id = '', fault, whole } = context.req.query();
    const queue = validName('queue', asked);
    const query = { queue, name, id, fault, isWhole: connection.isLocal || whole !== undefined };
    const page = await reads.ask(`dead ${JSON.stringify(query)}`, () => dead.read(query));
    if (page.listed.count > 0) overview.include(queue);
    return context.json(page);
  });

  routes.get('/finished', async (context) => {
    const { queue: asked, name = '', id = '', outcome, units } = context.req.query();
    const query = {
      name,
      id,
      queue: validName('queue', asked),
      outcome: outcome === undefined ? undefined : oneOf('outcome', OUTCOMES, outcome),
    };
    const key = JSON.stringify(query);
    const page = await reads.ask(`finished ${key}`, () => readFinished(connection, query));
    if (page !== undefined) return context.json(page);
    // Without a list, the whole table is read, after a person has agreed to the price.
    if (units === undefined) return context.json(await reads.ask('price', () => priceOfScan(connection)));
    const maxReadUnits = unitsIn(context);
    const scan = () => scanFinished(connection, names, { ...query, maxReadUnits });
    return context.json(await reads.ask(`scan ${key} ${maxReadUnits}`, scan));
  });

  routes.get('/selected', async (context) => {
    const { queue: asked, ...given } = context.req.query();
    const [queue, selection] = [validName('queue', asked), selectionIn(given)];
    const key = `selected ${JSON.stringify({ queue, selection })}`;
    return context.json(await reads.ask(key, () => readSelected(connection, queue, selection)));
  });

  routes.get('/names', async (context) => {
    const queue = validName('queue', context.req.query('queue'));
    return context.json(await reads.ask(`names ${JSON.stringify(queue)}`, () => readNames(connection, names, queue)));
  });

  routes.get('/task', async (context) => {
    const key = {
      queue: validName('queue', context.req.query('queue')),
      id: validName('id', context.req.query('id')),
    };
    const withChildren = connection.isLocal || context.req.query('children') !== undefined;
    const view = await reads.ask(`task ${JSON.stringify(key)} ${withChildren}`, async () => {
      const found = await readTask(connection, { book, names }, key, withChildren);
      return found ?? { value: undefined, units: 1 };
    });
    return view === undefined
      ? context.json({ error: `there is no task ${key.id} in queue ${key.queue}` }, 404)
      : context.json(view);
  });

  routes.get('/sessions', async (context) => {
    const [held, permits] = await Promise.all([locks(''), semaphores('')]);
    const holdings = withHoldings(overview.holdings(), held, permits);
    return context.json(await reads.ask('sessions', () => sessions.read(holdings)));
  });
  routes.get('/locks', async (context) => context.json(await locks(context.req.query('prefix') ?? '')));
  routes.get('/semaphores', async (context) => context.json(await semaphores(context.req.query('prefix') ?? '')));
  routes.get('/schedules', async (context) => {
    const { queues } = overview;
    return context.json(await reads.ask(`schedules ${queues.join(' ')}`, () => readSchedules(connection, queues)));
  });
  routes.get('/audit', async (context) => context.json(await reads.ask('audit', () => readAudit(connection))));

  const limit = bodyLimit({
    maxSize: ACT_LIMIT_BYTES,
    onError: (context) => context.json({ error: `an act has at most ${ACT_LIMIT_BYTES} bytes: nothing was done` }, 413),
  });
  routes.post('/acts', limit, async (context) => {
    if (connection.options.isReadOnly)
      return context.json({ error: 'this console is read-only: nothing was done' }, 403);
    const act = parseAct(await context.req.json().catch(() => undefined));
    const answer = await execute(connection, act);
    reads.forget();
    if ('queue' in act) {
      overview.putFirst(act.queue);
      dead.restart(act.queue);
    }
    feed.hurry();
    return context.json(answer, answer.kind === 'done' ? 200 : 409);
  });

  routes.get('/live', (context) =>
    streamSSE(context, async (stream) => {
      const gone = Promise.withResolvers<undefined>();
      let isWriting = false;
      let sentAt = -Infinity;
      const leave = feed.join((news) => {
        // A slow reader gets the latest, not all of it.
        if (isWriting) return;
        isWriting = true;
        const { kind, ...data } = newsAfter(news, sentAt);
        if (news.kind === 'overview') sentAt = news.overview.now;
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

/** Without the readings that its reader has: the page keeps them. */
function newsAfter(news: News, sentAt: number): News {
  if (news.kind !== 'overview') return news;
  const readings = news.overview.readings.filter(({ at }) => at > sentAt);
  return { ...news, overview: { ...news.overview, readings } };
}

/** @throws ConfigurationError */
function oneOf<const Known extends string>(what: string, known: readonly Known[], wanted: string): Known {
  const found = known.find((one) => one === wanted);
  if (found === undefined)
    throw new ConfigurationError(`${what} = ${JSON.stringify(wanted)}: must be one of ${known.join(', ')}`);
  return found;
}

/** The price that the person at the page agreed to. */
function unitsIn(context: Context): number {
  return validWholeNumber('units', Number(context.req.query('units')), { min: 1, max: SCAN_LIMIT_UNITS });
}

function fail(context: Context, error: unknown, { options: { table } }: ConsoleConnection): Response {
  if (isMissingTable(error)) return context.json({ error: missingTable(table) }, 503);
  if (error instanceof ConfigurationError || error instanceof InvalidInputError)
    return context.json({ error: error.message }, 400);
  if (error instanceof StoreUnavailableError) return context.json({ error: error.message }, 503);
  return context.json({ error: messageOf(error) }, 500);
}
