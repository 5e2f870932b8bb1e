/**
 * The engine in memory is the complete simulated store: its HTTP interface returns the store's own responses.
 *
 * Random programs run on both and every response is compared, with no divergence allowed;
 * then suites of the protocol run against its endpoint.
 */
import {
  BatchWriteItemCommand,
  CreateTableCommand,
  DynamoDBClient,
  PutItemCommand,
  paginateScan,
} from '@aws-sdk/client-dynamodb';
import { afterAll, describe, expect, test } from 'vitest';
import { startEngine } from '../../local/engine.ts';
import { startMemoryEngine } from '../../local/engine/memory.ts';
import { systemClock } from '../../shared/core/runtime/clock.ts';
import { WRITES_HEADER } from '../../shared/dynamo/table-stream.ts';
import { STARTS_AT } from '../support/coordination.ts';
import { runHere } from '../support/command.ts';
import { compareStores } from '../support/dynamo-programs/compare-stores.ts';
import { TEST_CLIENT_SETTINGS, runOnly } from '../support/stores.ts';

const OPERATIONS = 2_000;
// Its clock stands where the suites' clocks begin: by today's, their rows have been expired for long, and it would sweep them under a test.
const engine = await startMemoryEngine(undefined, { ...systemClock, now: () => Date.parse(STARTS_AT) });
const { endpoint } = engine;
afterAll(() => engine.stop());

describe('the engine in memory', () => {
  // Separate seeds, because the engine remembers the tokens of transactions, as it should.
  test.each([
    ['wire', 3],
    ['client', 1003],
  ] as const)('answers through the %s driver as the store behind it does', async (driver, seed) => {
    const report = await compareStores({ endpoints: { memory: endpoint }, operations: OPERATIONS, seed, driver });

    expect(report.unexplained, report.text).toBeUndefined();
    expect(report.tally.compared).toBeGreaterThanOrEqual(OPERATIONS);
    expect(report.tally.allowed.size).toBe(0);
  });

  test('has what up and doctor ask for', async () => {
    const at = ['--endpoint', endpoint, '--table', 'doctored'];

    const made = await runHere([...at, 'up']);
    const again = await runHere([...at, 'up', '--json']);
    const doctor = await runHere([...at, 'doctor', '--json']);

    expect(made).toMatchObject({ exitCode: 0 });
    expect(made.out).toMatch(/^table doctored was created/);
    expect(JSON.parse(again.out)).toMatchObject({ created: false });
    const { findings } = JSON.parse(doctor.out) as {
      readonly findings: readonly { readonly check: string; readonly health: string }[];
    };
    expect(findings.filter(({ health }) => health === 'broken')).toEqual([]);
    expect(findings.find(({ check }) => check === 'ttl')).toMatchObject({ health: 'ok' });
  });

  test('says of an operation that it has not which it has', async () => {
    using client = disposable(new DynamoDBClient({ endpoint, ...TEST_CLIENT_SETTINGS }));

    const request = new BatchWriteItemCommand({ RequestItems: { doctored: [{ DeleteRequest: { Key: {} } }] } });
    const refusal = await client.it.send(request).catch((error: unknown) => error);

    expect(String(refusal)).toMatch(
      /UnknownOperationException: the engine in memory has no BatchWriteItem: it has GetItem, /,
    );
  });

  test('scans a table in pages, each item once, with a filter', async () => {
    using client = disposable(new DynamoDBClient({ endpoint, ...TEST_CLIENT_SETTINGS }));
    await client.it.send(
      new CreateTableCommand({
        TableName: 'scanned',
        BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: [
          { AttributeName: 'pk', AttributeType: 'S' },
          { AttributeName: 'sk', AttributeType: 'N' },
        ],
        KeySchema: [
          { AttributeName: 'pk', KeyType: 'HASH' },
          { AttributeName: 'sk', KeyType: 'RANGE' },
        ],
      }),
    );
    for (let at = 0; at < 30; at++) {
      const Item = { pk: { S: `p${at % 4}` }, sk: { N: String(at) }, isOdd: { BOOL: at % 2 === 1 } };
      await client.it.send(new PutItemCommand({ TableName: 'scanned', Item }));
    }
    const pages = paginateScan(
      { client: client.it, pageSize: 7 },
      {
        TableName: 'scanned',
        FilterExpression: 'isOdd = :odd',
        ExpressionAttributeValues: { ':odd': { BOOL: true } },
        ProjectionExpression: 'sk',
      },
    );

    const found: Record<string, unknown>[] = [];
    const scanned: (number | undefined)[] = [];
    for await (const page of pages) {
      found.push(...(page.Items ?? []));
      scanned.push(page.ScannedCount);
    }

    expect(scanned).toEqual([7, 7, 7, 7, 2]);
    const odd = Array.from({ length: 15 }, (_, at) => ({ sk: { N: String(2 * at + 1) } }));
    expect(found).toHaveLength(15);
    expect(found).toEqual(expect.arrayContaining(odd));
  });

  test('holds a read of a stream that has seen all writes until the next one', async () => {
    const post = (operation: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
      fetch(endpoint, { method: 'POST', headers: { 'x-amz-target': operation, ...headers }, body: '{}' });
    const read = 'DynamoDBStreams_20120810.GetRecords';
    const seen = (await post(read)).headers.get(WRITES_HEADER) ?? '';

    const held = post(read, { [WRITES_HEADER]: seen });
    const first = await Promise.race([held, post('DynamoDB_20120810.ListTables')]);
    await post('DynamoDB_20120810.PutItem');

    expect(first.headers.get(WRITES_HEADER)).toBeNull();
    expect((await held).headers.get(WRITES_HEADER)).toBe(String(Number(seen) + 1));
  });

  test('says that its port is taken', async () => {
    const port = Number(new URL(endpoint).port);

    await expect(startEngine({ kind: 'memory', port })).rejects.toThrow(
      `port ${port} of 127.0.0.1 cannot be used (EADDRINUSE)`,
    );
  });
});

runOnly('memory', endpoint);
await import('../conformance/lock.test.ts');

function disposable(it: DynamoDBClient): Disposable & { readonly it: DynamoDBClient } {
  return { it, [Symbol.dispose]: () => it.destroy() };
}
