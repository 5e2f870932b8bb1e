/** The metrics that a worker has reported when it dies. */
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { ENV } from '../../functions/env.ts';
import { createLeasehold } from '../../shared/client/leasehold.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { dataPointsOf } from '../support/cloudwatch.ts';
import type { Died } from '../support/worker-process.ts';
import { invokeInProcess } from '../support/worker-process.ts';
import { newTables } from '../support/new-tables.ts';

const endpoint = inject('embeddedEndpoint') ?? inject('dynamodbLocalEndpoint');
const clientConfig = { region: 'us-east-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };

describe.skipIf(endpoint === null)('the metrics of a worker', () => {
  const table = `metrics-${systemRuntime.ids.unique()}`;

  beforeAll(async () => {
    await newTables(endpoint ?? '', table);
  });

  test.each([
    ['process.exit', 'exit', { code: 1 }],
    ['an unhandled rejection', 'reject', { code: 1 }],
    ['SIGKILL', 'kill', { signal: 'SIGKILL' }],
    ['a heap that is full', 'memory', { signal: 'SIGABRT' }],
  ])('hold the tasks that died before it, though it ends by %s', async (_, name, end) => {
    const queue = `q-${name}`;
    const died = await work(queue, name, name === 'memory' ? ['--max-old-space-size=64'] : []);

    expect(died, died.stderr).toMatchObject(end);
    expect(sumOf(died, 'TasksDead')).toBe(5);
    expect(sumOf(died, 'TasksFailed')).toBe(5);
  });

  test('hold what is not urgent as well when the process exits', async () => {
    expect(sumOf(await work('q-flow', 'exit'), 'TasksCompleted')).toBe(1);
  });

  async function work(queue: string, lethal: string, nodeOptions: readonly string[] = []): Promise<Died> {
    using leasehold = createLeasehold({ table, endpoint: endpoint ?? '', clientConfig, queue, shards: 1 });
    for (let n = 0; n < 5; n++) await leasehold.tasks.enqueue('poison', {}, { id: `p${n}` });
    await leasehold.tasks.enqueue('fine', {}, { id: 'f' });
    await leasehold.tasks.enqueue(lethal, {}, { id: 'l' });
    const environment = {
      [ENV.table]: table,
      [ENV.queue]: queue,
      [ENV.shards]: '1',
      [ENV.endpoint]: endpoint ?? '',
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
      POWERTOOLS_LOG_LEVEL: 'SILENT',
      [ENV.continuation]: '0',
    };
    return await invokeInProcess({ environment, nodeOptions, others: 6 });
  }
});

function sumOf({ stdout }: Died, metric: string): number {
  return dataPointsOf(stdout)
    .filter(({ name }) => name === metric)
    .reduce((sum, { value }) => sum + value, 0);
}
