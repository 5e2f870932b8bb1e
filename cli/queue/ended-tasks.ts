/**
 * Tasks that are done or cancelled, for as long as their retention keeps them. They are in no index, because an entry would make the end of
 * every task dearer; so this reads the table from its beginning, as far as it is let.
 */
import { decodeTask } from '../../shared/tasks/rows/task/task-codec.ts';
import { decodeMap } from '../../shared/dynamo/wire/attribute-value.ts';
import { loadSdk } from '../../shared/dynamo/wire/sdk.ts';
import type { TaskRecord } from '../../shared/tasks/task/task.ts';
import type { Connection } from '../connection.ts';

export interface EndedQuery {
  readonly queue: string;
  readonly state: 'done' | 'cancelled';
  readonly maxReadUnits: number;
}

export async function* endedTasks(
  { openClient, table }: Connection,
  { queue, state, maxReadUnits }: EndedQuery,
  { onCut, onDamaged }: { readonly onCut: (units: number) => void; readonly onDamaged: (error: unknown) => void },
): AsyncGenerator<TaskRecord> {
  const { paginateScan } = await loadSdk();
  const scan = {
    TableName: table,
    FilterExpression: '#sk = :task AND #queue = :queue AND #state = :state',
    ExpressionAttributeNames: { '#sk': 'sk', '#queue': 'queue', '#state': 'state' },
    ExpressionAttributeValues: { ':task': { S: 'task' }, ':queue': { S: queue }, ':state': { S: state } },
    ReturnConsumedCapacity: 'TOTAL' as const,
  };
  let units = 0;
  for await (const page of paginateScan({ client: await openClient() }, scan)) {
    units += page.ConsumedCapacity?.CapacityUnits ?? 0;
    for (const item of page.Items ?? []) {
      try {
        yield decodeTask(decodeMap(item));
      } catch (error) {
        onDamaged(error);
      }
    }
    if (page.LastEvaluatedKey !== undefined && units >= maxReadUnits) {
      onCut(Math.ceil(units));
      return;
    }
  }
}
