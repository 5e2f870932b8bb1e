/** Write units per verb of a page of many small tasks, of rows as the statements write them; see `task/page.ts` for what a page is. */
import { PAGE_INPUT_LIMIT_BYTES } from '../task/page.ts';
import { inTransaction, sized, writeUnits } from '../dynamo/engine/capacity.ts';
import type { DynamoItem } from '../dynamo/engine/driver.ts';
import { READY_INDEX, RETENTION_DAYS, ttlEpochSeconds } from '../dynamo/engine/schema.ts';
import { enqueuePage } from '../dynamo/task/page-statements.ts';
import { NOW, STAMP, STORAGE_OVERHEAD_BYTES, TABLE_SHAPE, UUID, together, unitsOf, verbUnits } from './rows.ts';
import type { VerbUnits } from './rows.ts';

export interface PageShape {
  readonly pageSize: number;
  /** One task's input, as JSON. */
  readonly inputBytes: number;
  /** What deflating leaves of the inputs of a page. */
  readonly deflatedShare: number;
  /** Items of the user's own, of up to 1 KB, that a task writes in its `commit`; 0: its end is recorded together with others. */
  readonly commitItems: number;
}

export interface PageTable {
  /** Tasks in a page: fewer than asked for, where so many inputs do not fit. */
  readonly tasks: number;
  readonly enqueue: VerbUnits;
  readonly claim: VerbUnits;
  /** The ends of any number of its tasks. */
  readonly record: VerbUnits;
  /** One task, with the user's items. */
  readonly commit: VerbUnits;
  /** One task leaves for a row of its own, to be tried again. */
  readonly move: VerbUnits;
  readonly finish: VerbUnits;
  readonly storedBytes: number;
}

/** @param own the row that a task which leaves goes on in */
export function pageTable(shape: PageShape, own: DynamoItem): PageTable {
  const { inputBytes, deflatedShare, commitItems } = shape;
  const tasks = Math.max(1, Math.min(shape.pageSize, Math.floor(PAGE_INPUT_LIMIT_BYTES / Math.max(1, inputBytes))));
  const ready = readyPage(tasks, Math.ceil(tasks * inputBytes * deflatedShare));
  const running: DynamoItem = { ...ready, state: 'running', session: UUID, claimedAt: NOW, attempts: 1, sequence: 0 };
  const recorded: DynamoItem = {
    ...running,
    sequence: tasks,
    done: new Set(Array.from({ length: tasks }, (_, n) => n)),
  };
  const finished = finishedPage(recorded);
  const record = unitsOf(running, recorded);
  const doubled = verbUnits(inTransaction(writeUnits(TABLE_SHAPE, sized(running), sized(recorded))));
  const created = verbUnits(inTransaction(writeUnits(TABLE_SHAPE, undefined, sized(own))));
  return {
    ...{ tasks, record },
    enqueue: unitsOf(undefined, ready),
    claim: unitsOf(ready, running),
    commit: { ...doubled, table: doubled.table + 2 * commitItems, total: doubled.total + 2 * commitItems },
    move: together(doubled, created),
    finish: unitsOf(recorded, finished),
    storedBytes: sized(finished).bytes + STORAGE_OVERHEAD_BYTES,
  };
}

function readyPage(tasks: number, bytes: number): DynamoItem {
  const page = {
    queue: 'default',
    id: `${UUID}/0`,
    name: 'task.name',
    input: [],
    priority: 'normal' as const,
    runAt: NOW,
  };
  const { Item } = enqueuePage('t', page, 8, STAMP).input;
  return { ...Item, input: new Uint8Array(bytes), total: tasks };
}

function finishedPage(recorded: DynamoItem): DynamoItem {
  const { [READY_INDEX.partitionKey]: _, [READY_INDEX.sortKey]: __, ...rest } = recorded;
  return { ...rest, state: 'done', finishedAt: NOW, ttl: ttlEpochSeconds(NOW, RETENTION_DAYS.task) };
}
