/** Everything that a verdict rests on, gathered when the faults are over and the dust has settled. */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import type { TaskRecord } from '../../shared/tasks/task/task.ts';
import type { Deployment } from './deployment.ts';
import type { JournalLine } from './journal.ts';
import type { ProcessFaultTally } from './nemesis.ts';
import type { AcknowledgedTask } from './producer.ts';
import type { ProxyTally } from './proxy.ts';

export interface LedgerEntry {
  /** How often the effect took place. */
  readonly commits: number;
  /** The claim whose effect was the last. */
  readonly token: number;
}

export interface Evidence {
  readonly minutes: number;
  readonly clocksWithinBound: boolean;
  readonly acknowledged: readonly AcknowledgedTask[];
  readonly rows: ReadonlyMap<string, TaskRecord>;
  readonly ledger: ReadonlyMap<string, LedgerEntry>;
  /** The final content of each register. */
  readonly registers: ReadonlyMap<string, readonly string[]>;
  readonly journal: readonly JournalLine[];
  readonly network: ProxyTally;
  readonly processFaults: ProcessFaultTally;
  readonly partitions: number;
  readonly platform: PlatformTally;
  /** Permits and sessions that are left when all workers have ended. */
  readonly leaks: { readonly permits: number; readonly sessions: number };
}

/** Counted from the platform's events and the workers' own logs. */
export interface PlatformTally {
  invocations: number;
  timeouts: number;
  takeovers: number;
  duplicateTicks: number;
  sessionsLost: number;
  /** Errors by which invocations ended, by class. */
  readonly errors: Map<string, { count: number; example: string }>;
}

export async function readLedger(client: DynamoDBClient, table: string): Promise<Map<string, LedgerEntry>> {
  const documents = DynamoDBDocumentClient.from(client);
  const ledger = new Map<string, LedgerEntry>();
  let after: Record<string, unknown> | undefined;
  do {
    const page = await documents.send(
      new ScanCommand({ TableName: table, ConsistentRead: true, ...(after && { ExclusiveStartKey: after }) }),
    );
    for (const { id, commits, token } of page.Items ?? [])
      ledger.set(String(id), { commits: Number(commits), token: Number(token) });
    after = page.LastEvaluatedKey;
  } while (after !== undefined);
  return ledger;
}

export async function readRegisters({ client, tables, registers }: Deployment): Promise<Map<string, string[]>> {
  const documents = DynamoDBDocumentClient.from(client);
  const lists = new Map<string, string[]>();
  for (const { key } of registers) {
    const { Item } = await documents.send(
      new GetCommand({ TableName: tables.register, Key: { key }, ConsistentRead: true }),
    );
    lists.set(key, (Item?.list ?? []) as string[]);
  }
  return lists;
}
