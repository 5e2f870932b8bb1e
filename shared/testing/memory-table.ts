/** Leasehold's table in memory, laid out as the stack deploys it. */
import { DIRECTORY_INDEX, READY_INDEX, TABLE } from '../dynamo/engine/schema.ts';
import { SimulatedDynamo } from './simulated-dynamo/simulated-dynamo.ts';
import type { TableObserver } from './simulated-dynamo/table.ts';
import type { TableDefinition } from './simulated-dynamo/table-definition.ts';

export function memoryTable(name: string): TableDefinition {
  return {
    name,
    partition: { name: TABLE.partitionKey, type: 'S' },
    sort: { name: TABLE.sortKey, type: 'S' },
    ttlAttribute: TABLE.ttlAttribute,
    indexes: [
      {
        name: READY_INDEX.name,
        projection: 'KEYS_ONLY',
        partition: { name: READY_INDEX.partitionKey, type: 'S' },
        sort: { name: READY_INDEX.sortKey, type: 'N' },
      },
      {
        name: DIRECTORY_INDEX.name,
        projection: 'KEYS_ONLY',
        partition: { name: DIRECTORY_INDEX.partitionKey, type: 'S' },
        sort: { name: DIRECTORY_INDEX.sortKey, type: 'S' },
      },
    ],
  };
}

/** A DynamoDB in memory that has the table. @param onWrite as for `createTable` */
export function memoryDynamo(name: string, now: () => number, onWrite?: TableObserver): SimulatedDynamo {
  const dynamo = new SimulatedDynamo({ now });
  dynamo.createTable(memoryTable(name), onWrite);
  return dynamo;
}
