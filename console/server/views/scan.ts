/** Tasks that no index lists: ended ones, and the children of a task. Found by scanning the table. */
import { scannedTasks } from '../../../cli/queue/scanned-tasks.ts';
import { loadSdk } from '../../../shared/dynamo/wire/sdk.ts';
import type { TaskRecord } from '../../../shared/tasks/task/task.ts';
import type { ConsoleConnection } from '../connection.ts';
import type { FinishedQuery, ScanPage, ScanPrice } from '../../model.ts';
import type { Priced } from '../shared-reads.ts';
import { isOf } from './finished.ts';
import type { KnownNames } from './known-names.ts';
import { lineOf } from './task-line.ts';

interface ChildrenQuery {
  readonly queue: string;
  readonly batch: string;
  readonly maxReadUnits: number;
}

const SHOWN = 100;
/** Kept while a scan runs; the rest are counted. */
const KEPT = 2_000;
/** A read unit pays for two pages of four kilobytes, read eventually consistent. */
const BYTES_PER_UNIT = 8_192;

export function scanFinished(
  connection: ConsoleConnection,
  names: KnownNames,
  { queue, name, id, outcome, maxReadUnits }: FinishedQuery & { readonly maxReadUnits: number },
): Promise<Priced<ScanPage>> {
  const isWanted = (task: TaskRecord): boolean =>
    task.name.startsWith(name) && isNamed(task, id) && isOf(outcome, task);
  return scan(connection, names, { queue, where: 'ended', maxReadUnits }, isWanted);
}

function isNamed({ id, label, links }: TaskRecord, part: string): boolean {
  return [id, label, links?.concurrency?.key ?? links?.line?.key].some((text) => text?.includes(part) === true);
}

export function readChildren(
  connection: ConsoleConnection,
  names: KnownNames,
  { queue, batch, maxReadUnits }: ChildrenQuery,
): Promise<Priced<ScanPage>> {
  return scan(connection, names, { queue, where: { batch }, maxReadUnits }, () => true);
}

/** Price of `scan`. Requires `dynamodb:DescribeTable`; without it, the price is unknown. */
export async function priceOfScan(connection: ConsoleConnection): Promise<Priced<ScanPrice>> {
  try {
    const { DescribeTableCommand } = await loadSdk();
    const client = await connection.openClient();
    const { Table } = await client.send(new DescribeTableCommand({ TableName: connection.options.table }));
    const bytes = Table?.TableSizeBytes;
    return { value: { units: bytes === undefined ? null : Math.max(1, Math.ceil(bytes / BYTES_PER_UNIT)) }, units: 0 };
  } catch {
    // The page then names the bound alone.
    return { value: { units: null }, units: 0 };
  }
}

async function scan(
  connection: ConsoleConnection,
  names: KnownNames,
  query: Parameters<typeof scannedTasks>[1],
  isWanted: (task: TaskRecord) => boolean,
): Promise<Priced<ScanPage>> {
  let units = 0;
  let isCut = false;
  let found = 0;
  let kept: TaskRecord[] = [];
  const table = { openClient: connection.openClient, table: connection.options.table };
  const events = {
    onPage: (used: number) => {
      units += used;
      connection.spend(used);
    },
    onCut: () => {
      isCut = true;
    },
    // One damaged row does not hide the others.
    onDamaged: () => undefined,
  };
  for await (const task of scannedTasks(table, query, events)) {
    if (!isWanted(task)) continue;
    found++;
    kept.push(task);
    if (kept.length >= KEPT) kept = latest(kept);
  }
  const shown = latest(kept);
  names.note(shown);
  const now = connection.now();
  return {
    value: {
      now,
      queue: query.queue,
      tasks: shown.map((task) => lineOf(task, now)),
      found,
      units: Math.ceil(units),
      isCut,
    },
    units,
  };
}

function latest(tasks: readonly TaskRecord[]): TaskRecord[] {
  const at = (task: TaskRecord): number => ('finishedAt' in task ? task.finishedAt : task.createdAt);
  return tasks.toSorted((one, other) => at(other) - at(one)).slice(0, SHOWN);
}
