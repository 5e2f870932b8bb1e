/**
 * Finds tasks that are not in an index: done or cancelled tasks during their retention, and the children of a task.
 * An index entry would make every task's end more expensive, so this scans the table up to a limit.
 */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { decodeTask } from '../../shared/tasks/rows/task/task-codec.ts';
import { decodeMap } from '../../shared/dynamo/wire/attribute-value.ts';
import { loadSdk } from '../../shared/dynamo/wire/sdk.ts';
import type { TaskRecord } from '../../shared/tasks/task/task.ts';

interface ScanQuery {
  readonly queue: string;
  /** Tasks in this state, all that have ended, or the children of this batch. */
  readonly where: { readonly state: 'done' | 'cancelled' } | 'ended' | { readonly batch: string };
  readonly maxReadUnits: number;
}

interface ScanEvents {
  /** Called after each page of the table. */
  readonly onPage?: (units: number) => void;
  /** Whether the units were used up before the end of the table. */
  readonly onCut: (units: number) => void;
  readonly onDamaged: (error: unknown) => void;
}

export async function* scannedTasks(
  { openClient, table }: { readonly openClient: () => Promise<DynamoDBClient>; readonly table: string },
  { queue, where, maxReadUnits }: ScanQuery,
  { onPage, onCut, onDamaged }: ScanEvents,
): AsyncGenerator<TaskRecord> {
  const { paginateScan } = await loadSdk();
  const { condition, attribute, value } = filterOf(where);
  const scan = {
    TableName: table,
    FilterExpression: `#sk = :task AND #queue = :queue AND ${condition}`,
    ExpressionAttributeNames: { '#sk': 'sk', '#queue': 'queue', '#attribute': attribute },
    ExpressionAttributeValues: {
      ':task': { S: 'task' },
      ':queue': { S: queue },
      ...(value === undefined ? {} : { ':value': { S: value } }),
    },
    ReturnConsumedCapacity: 'TOTAL' as const,
  };
  let units = 0;
  for await (const page of paginateScan({ client: await openClient() }, scan)) {
    const used = page.ConsumedCapacity?.CapacityUnits ?? 0;
    units += used;
    onPage?.(used);
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

function filterOf(where: ScanQuery['where']): {
  readonly condition: string;
  readonly attribute: string;
  readonly value?: string;
} {
  if (where === 'ended') return { condition: 'attribute_exists(#attribute)', attribute: 'finishedAt' };
  return 'state' in where
    ? { condition: '#attribute = :value', attribute: 'state', value: where.state }
    : { condition: '#attribute = :value', attribute: 'batch', value: where.batch };
}
