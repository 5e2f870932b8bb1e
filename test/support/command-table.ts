/** A test file's own table on the embedded engine, with the library and the command. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { stampOf } from '../../shared/core/lease/write.ts';
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { createTable } from '../../shared/dynamo/table.ts';
import { Sender } from '../../shared/dynamo/engine/send.ts';
import { createQueueStore } from '../../shared/tasks/rows/dynamo-queue-store.ts';
import { Leasehold } from '../../shared/client/leasehold.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import type { CommandSettings } from './command.ts';
import { TEST_CLIENT_SETTINGS } from './stores.ts';

export interface CommandTable extends CommandSettings {
  readonly client: DynamoDBClient;
  /** The library for programs that run in addition to the command. */
  readonly leasehold: Leasehold;
}

export async function openCommandTable(endpoint: string): Promise<CommandTable> {
  const table = `test-${systemRuntime.ids.unique()}`;
  const client = new DynamoDBClient({ endpoint, ...TEST_CLIENT_SETTINGS });
  await createTable(client, table);
  const connection = connectDynamo({ endpoint }, systemRuntime);
  const leasehold = new Leasehold({ ...connection, runtime: systemRuntime }, { table }, connection);
  return { endpoint, table, client, leasehold };
}

export function closeCommandTable({ client, leasehold }: CommandTable): void {
  leasehold.close();
  client.destroy();
}

/** A dispatcher has seen the queue, and a worker of it announces its names and, if given, how long its tasks take. */
export async function announceNames(
  { endpoint, table }: CommandTable,
  queue: string,
  announcedNames: readonly string[],
  tookMs?: number,
): Promise<void> {
  const connection = connectDynamo({ endpoint }, systemRuntime);
  const queues = createQueueStore(new Sender({ ...connection, runtime: systemRuntime }), table);
  await queues.noteUse(queue, undefined, { lanes: new Set(), shards: 1 }, stampOf(systemRuntime));
  const workerSettings = { concurrency: 10, startWithinMs: 10_000 };
  const hints = { tookMs, unknownNames: [], announcedNames, workerSettings };
  await queues.noteHints(queue, hints, stampOf(systemRuntime));
  connection.close();
}
