/**
 * The engine in memory is the simulated store, whole: what goes through its HTTP and back is what the store itself says.
 *
 * Random programs run on both and every answer is compared, with no divergence allowed;
 * then suites of the protocol run against its endpoint.
 */
import { request } from 'node:http';
import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, describe, expect, test } from 'vitest';
import { startEngine } from '../../local/engine.ts';
import { startMemoryEngine } from '../../local/engine/memory.ts';
import { systemClock } from '../../shared/core/runtime/clock.ts';
import { STARTS_AT } from '../support/coordination.ts';
import { runHere } from '../support/command.ts';
import { compareStores } from '../support/dynamo-programs/compare-stores.ts';
import { TEST_CLIENT_SETTINGS, runOnMemory } from '../support/stores.ts';

const OPERATIONS = 2_000;
// Its clock stands where the suites' clocks begin: by today's, their rows have been expired for long, and it would sweep them under a test.
const engine = await startMemoryEngine(undefined, { ...systemClock, now: () => Date.parse(STARTS_AT) });
const { endpoint } = engine;
afterAll(() => engine.stop());

describe('the engine in memory', () => {
  // Seeds of their own: the engine remembers the tokens of transactions, as it should.
  test.each([
    ['wire', 3],
    ['sdk', 1003],
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

    const refusal = await client.it.send(new ScanCommand({ TableName: 'doctored' })).catch((error: unknown) => error);

    expect(String(refusal)).toMatch(/UnknownOperationException: the engine in memory has no Scan: it has GetItem, /);
  });

  test('refuses a request that a browser sends under the name of another host', async () => {
    const answered = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { host: 'attacker.example', 'x-amz-target': 'DynamoDB_20120810.ListTables' };
      request(endpoint, { method: 'POST', headers }, ({ statusCode }) => {
        resolve(statusCode);
      })
        .on('error', reject)
        .end('{}');
    });

    expect(answered).toBe(400);
  });

  test('says that its port is taken', async () => {
    const port = Number(new URL(endpoint).port);

    await expect(startEngine({ kind: 'memory', port })).rejects.toThrow(
      `port ${port} of 127.0.0.1 cannot be used (EADDRINUSE)`,
    );
  });
});

runOnMemory(endpoint);
await import('../conformance/lock.test.ts');
await import('../conformance/task-store.test.ts');

function disposable(it: DynamoDBClient): Disposable & { readonly it: DynamoDBClient } {
  return { it, [Symbol.dispose]: () => it.destroy() };
}
