/**
 * A storm: workers as real processes, each at most about twenty seconds old, against an engine on this machine.
 * After it all tasks end, and the user's own table shows which had an effect, how often, and in which order.
 */
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { defaultEngine, startEngine } from '../../../local/engine.ts';
import { createLeasehold } from '../../../shared/client/leasehold.ts';
import type { Leasehold } from '../../../shared/client/leasehold.ts';
import { systemClock } from '../../../shared/core/runtime/clock.ts';
import { createTable } from '../../../shared/dynamo/table.ts';
import { Prng } from '../../../test/support/machines/prng.ts';
import { StormCrew } from './storm-crew.ts';
import { StormFeed } from './storm-feed.ts';
import { BOOK, QUEUE, TABLE } from './storm-tables.ts';

interface StormReport {
  readonly violations: readonly string[];
  readonly effects: number;
  readonly faults: StormCrew['faults'];
}

type Row = Readonly<Record<string, unknown>>;

const CONNECTION = { region: 'us-east-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } };
const ASK_EVERY_MS = 120;
const OPERATE_EVERY_MS = 300;

export async function runStorm(options: {
  readonly workers: number;
  readonly seconds: number;
  readonly seed: bigint;
}): Promise<StormReport> {
  const engine = await startEngine({ kind: defaultEngine() });
  const { endpoint } = engine;
  const client = new DynamoDBClient({ ...CONNECTION, endpoint });
  await createTable(client, TABLE);
  await createBook(client);
  const leasehold = createLeasehold({ table: TABLE, queue: QUEUE, endpoint });
  const prng = new Prng(options.seed);
  const feed = new StormFeed(leasehold, prng.fork('feed'));
  const crew = new StormCrew(endpoint, systemClock, options.workers);
  const over = new AbortController();
  try {
    const cancel = systemClock.after(options.seconds * 1_000, () => over.abort());
    await Promise.all([
      crew.torment(prng.fork('crew'), over.signal),
      repeat(ASK_EVERY_MS, over.signal, () => feed.askOnce()),
      repeat(OPERATE_EVERY_MS, over.signal, () => feed.operate()),
    ]);
    cancel();
    const documents = DynamoDBDocumentClient.from(client);
    await settle(documents, leasehold);
    const book = new Map((await rowsOf(documents, BOOK)).map((row) => [String(row.id), row]));
    const effects = [...book.values()].reduce((sum, row) => sum + Number(row.effects ?? 0), 0);
    return { violations: violationsOf(feed, book), effects, faults: crew.faults };
  } finally {
    over.abort();
    await crew.stop();
    client.destroy();
    await engine.stop();
  }
}

/** Retries what is dead or cancelled, until every task is done. A test of real processes has no limit of its own. */
async function settle(documents: DynamoDBDocumentClient, { operator }: Leasehold): Promise<void> {
  for (;;) {
    const rows = (await rowsOf(documents, TABLE)).filter(({ sk }) => sk === 'task');
    if (rows.every(({ state }) => state === 'done')) return;
    for (const { id, state } of rows) if (state === 'dead' || state === 'cancelled') await operator.retry(String(id));
    await systemClock.sleep(500);
  }
}

export function violationsOf(
  feed: Pick<StormFeed, 'once' | 'parents' | 'batches' | 'versions' | 'lines'>,
  book: ReadonlyMap<string, Row>,
): string[] {
  const entriesOf = (id: string): readonly (string | number)[] =>
    (book.get(id)?.entries ?? []) as readonly (string | number)[];
  const violations: string[] = [];
  const counted = (id: string): void => {
    const effects = Number(book.get(`effect/${id}`)?.effects ?? 0);
    if (effects !== 1) violations.push(`${id} had its effect ${effects} times`);
  };
  for (const id of feed.once) counted(id);
  for (const [batch, total] of feed.batches) {
    for (let child = 0; child < total; child++) counted(`${batch}/${child}`);
    counted(`${batch}-published`);
  }
  for (const [id, total] of [...feed.batches, ...feed.parents.map((parent) => [parent, 3] as const)]) {
    const [counts = '{}'] = entriesOf(`children/${id}`);
    const { pending, ...ends } = JSON.parse(String(counts)) as Record<string, number>;
    if (ends.total !== total || pending !== 0) violations.push(`${id} ran with ${String(counts)} of ${total} children`);
  }
  for (const [document, last] of feed.versions) {
    const applied = entriesOf(`index/${document}`) as readonly number[];
    if (applied.at(-1) !== last) violations.push(`${document} has ${String(applied.at(-1))} last, not ${last}`);
    if (applied.some((version, at) => at > 0 && version <= (applied[at - 1] ?? 0)))
      violations.push(`${document} went back: ${applied.join(' ')}`);
  }
  for (const [line, asked] of feed.lines)
    if (entriesOf(`line/${line}`).join(' ') !== asked.join(' ')) violations.push(`line ${line} is out of order`);
  return violations;
}

async function repeat(everyMs: number, signal: AbortSignal, act: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await act();
    await systemClock.sleep(everyMs, signal);
  }
}

async function createBook(client: DynamoDBClient): Promise<void> {
  await client.send(
    new CreateTableCommand({
      TableName: BOOK,
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
    }),
  );
}

async function rowsOf(documents: DynamoDBDocumentClient, table: string): Promise<readonly Row[]> {
  const rows: Row[] = [];
  let after: Record<string, unknown> | undefined;
  do {
    const page = await documents.send(
      new ScanCommand({ TableName: table, ConsistentRead: true, ...(after && { ExclusiveStartKey: after }) }),
    );
    rows.push(...(page.Items ?? []));
    after = page.LastEvaluatedKey;
  } while (after !== undefined);
  return rows;
}
