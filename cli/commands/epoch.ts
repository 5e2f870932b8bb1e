/** `leasehold epoch`: makes a restored table, or one retained from a deleted deployment, safe to use. */
import { Command } from 'commander';
import type { AttributeValue, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { loadSdk } from '../../shared/dynamo/wire/sdk.ts';
import type { CountingRow } from '../../shared/operate/epoch/epoch-statements.ts';
import { RAISES } from '../../shared/operate/epoch/epoch-statements.ts';
import { splitKey } from '../../shared/dynamo/engine/keys.ts';
import { ConfigurationError } from '../../shared/core/errors.ts';
import { allOf } from '../../shared/core/runtime/all-of.ts';
import { inFlight } from '../../shared/core/runtime/in-flight.ts';
import { name } from '../arguments.ts';
import type { AuditOptions } from '../confirm.ts';
import { audited, confirm, operatorOf } from '../confirm.ts';
import type { CliConnection } from '../connection.ts';
import type { Bind, Context } from '../context.ts';
import type { ExitCode } from '../exit.ts';
import { EXIT, refused } from '../exit.ts';
import { plural, printable } from '../output.ts';

interface Options extends AuditOptions {
  readonly oldTable?: string;
  readonly resume?: string;
}

/** The state of a walk through the table, and the new value of counters. */
interface Progress {
  readonly floor: number;
  readonly after: Record<string, unknown> | undefined;
}

interface Report {
  readonly floor: number;
  checked: number;
  raised: number;
  ended: number;
  /** Rows that someone else wrote in the meantime. */
  changed: number;
}

/** Size of a page of the walk. The rows of a page are written concurrently. */
const PAGE_ROWS = 100;
const WRITES_AT_ONCE = 10;

export function epochCommand(bind: Bind): Command {
  const epoch = new Command('epoch')
    .summary('make a restored table safe to work on')
    .description('Prepares a restored or retained table for use.');
  const raise = new Command('raise')
    .description(
      'Ends all sessions, and raises every counter to the clock, above all tokens issued after the moment that the table was ' +
        'restored to. Refuses while sessions live in this table or in the old one. May be repeated, and continued after an interruption.',
    )
    .option('--old-table <name>', 'the table that this one was restored from, if it still exists', name)
    .option('--resume <place>', 'resume from the position printed by an interrupted run');
  epoch.addCommand(bind<Options>(audited(raise, 'the name of the table'), raiseEpoch));
  return epoch.addHelpText('after', HELP);
}

async function raiseEpoch(context: Context, options: Options): Promise<ExitCode> {
  const { output, runtime } = context;
  using connection = await context.connect();
  const { table } = connection;
  if (options.oldTable === table)
    throw new ConfigurationError(`--old-table ${table} is the table itself: pass the one that it was restored from`);
  const client = await connection.openClient();
  for (const one of [table, ...(options.oldTable === undefined ? [] : [options.oldTable])])
    await ensureQuiet(client, one, connection);
  const start = options.resume === undefined ? undefined : parsePlace(options.resume);
  // The last token may come from a process whose clock was ahead of ours.
  const floor = start?.floor ?? runtime.clock.now() + connection.maxClockSkewMs;
  await confirm(context, 'ends all sessions and raises the counters of table', table, options);
  const report = await connection.audit.record(
    { verb: 'epoch.raise', target: `${table} ${floor}`, ...operatorOf(options) },
    () => walk(client, connection, { floor, after: start?.after }, (place) => output.note(`at ${place}`)),
    ({ changed }) => (changed === 0 ? 'raised' : 'disturbed'),
  );
  output.answer(report, () => reportText(report, table));
  return report.changed === 0 ? EXIT.done : EXIT.refused;
}

async function walk(
  client: DynamoDBClient,
  connection: CliConnection,
  start: Progress,
  onPage: (place: string) => void,
): Promise<Report> {
  const { floor } = start;
  const report: Report = { floor, checked: 0, raised: 0, ended: 0, changed: 0 };
  const send = inFlight(WRITES_AT_ONCE);
  for await (const { rows, next } of pagesOf(client, connection.table, start.after)) {
    report.checked += rows.length;
    await allOf(rows.map((row) => send(() => treat(row, connection, report))));
    if (next !== undefined) onPage(placeOf({ floor, after: next }));
  }
  return report;
}

async function treat(row: Row, { epoch }: CliConnection, report: Report): Promise<void> {
  if (row.sk === 'session') {
    if (row.isLive && (await epoch.endSession(row.id))) report.ended++;
    return;
  }
  const { counting, sk, state } = row;
  if (counting === undefined || counting.counter >= report.floor || (sk === 'waitgroup' && state !== 'complete'))
    return;
  if (await epoch.raise(counting, report.floor)) report.raised++;
  else report.changed++;
}

/** The parts of a row that this command needs. */
interface Row {
  readonly sk: string;
  readonly id: string;
  readonly state: string | undefined;
  /** Undefined if the row has no counters. */
  readonly counting: CountingRow | undefined;
  /** The session has not ended. */
  readonly isLive: boolean;
  readonly expiresAt: number | undefined;
}

/** Continues from the beginning, or after a row. */
async function* pagesOf(
  client: DynamoDBClient,
  table: string,
  startingToken?: Record<string, unknown>,
): AsyncGenerator<{ readonly rows: readonly Row[]; readonly next: Record<string, unknown> | undefined }> {
  const { paginateScan } = await loadSdk();
  const scan = { TableName: table, ConsistentRead: true, Limit: PAGE_ROWS };
  for await (const { Items = [], LastEvaluatedKey: next } of paginateScan({ client, startingToken }, scan))
    yield { rows: Items.map(rowOf), next };
}

function rowOf(item: Record<string, AttributeValue>): Row {
  const text = (attribute: string): string | undefined => item[attribute]?.S;
  const number = (attribute: string): number | undefined =>
    item[attribute]?.N === undefined ? undefined : Number(item[attribute].N);
  const [pk = '', sk = ''] = [text('pk'), text('sk')];
  const raise = RAISES[splitKey(sk)[0] ?? '']?.find(({ counter }) => number(counter) !== undefined);
  return {
    sk,
    id: text('id') ?? '',
    state: text('state'),
    counting: raise === undefined ? undefined : { pk, sk, raise, counter: number(raise.counter) ?? 0 },
    isLive: text('status') === 'live',
    expiresAt: number('expiresAt'),
  };
}

/** A session with a TTL that has not expired belongs to a running program. */
async function ensureQuiet(client: DynamoDBClient, table: string, connection: CliConnection): Promise<void> {
  const now = connection.runtime.clock.now() - connection.maxClockSkewMs;
  for await (const { rows } of pagesOf(client, table)) {
    const live = rows.find(({ sk, isLive, expiresAt }) => sk === 'session' && isLive && (expiresAt ?? 0) > now);
    if (live !== undefined)
      throw refused(
        `session ${printable(live.id)} is live in table ${table}: stop all that uses the table ` +
          '(its schedule, its workers, its programs), wait until its TTL is over, and repeat the command',
      );
  }
}

function placeOf(progress: Progress): string {
  return Buffer.from(JSON.stringify(progress)).toString('base64url');
}

function parsePlace(place: string): Progress {
  try {
    const { floor, after } = JSON.parse(Buffer.from(place, 'base64url').toString()) as Progress;
    if (Number.isSafeInteger(floor) && typeof after === 'object') return { floor, after };
  } catch {
    // Reported below.
  }
  throw new ConfigurationError(`--resume ${place}: pass the text that an earlier call printed after "at"`);
}

function reportText({ floor, checked, raised, ended, changed }: Report, table: string): string {
  const done =
    `table ${table}: ${plural(checked, 'row')} read, counters of ${raised} ` +
    `lifted to ${floor}, ${plural(ended, 'session')} ended`;
  if (changed === 0) return done;
  return `${done}; ${plural(changed, 'row')} changed during the call: stop what writes to this table, and repeat the command`;
}

const HELP = `
It reads the whole table twice, and writes every row that counts: a unit each, a KB of row.
The runbook is "A table was restored" in docs/operating.md.

Examples:
  $ leasehold epoch raise --table media-restored --old-table media --reason 'restored to 12:00' --yes media-restored
  $ leasehold epoch raise --table media-restored --reason 'goes on' --resume eyJmbG9vciI6MTc5NX0 --yes media-restored`;
