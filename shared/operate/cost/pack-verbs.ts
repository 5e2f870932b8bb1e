/** Write units per operation of a pack of many small tasks, for rows as the statements write them; `tasks/task/pack.ts` defines packs. */
import { PACK_INPUT_LIMIT_BYTES } from '../../tasks/task/pack.ts';
import { inTransaction, sized, writeUnits } from '../../dynamo/engine/capacity.ts';
import type { DynamoItem } from '../../dynamo/engine/driver.ts';
import { READY_INDEX, RETENTION_DAYS, ttlEpochSeconds } from '../../dynamo/engine/schema.ts';
import { enqueuePack } from '../../tasks/rows/task/pack-statements.ts';
import {
  NOW,
  STAMP,
  STORAGE_OVERHEAD_BYTES,
  TABLE_SHAPE,
  UUID,
  refusedCommitUnits,
  together,
  unitsOf,
  verbUnits,
} from './verb-units.ts';
import type { VerbUnits } from './verb-units.ts';
import type { Workload } from './workload.ts';

export type PackShape = Pick<Workload, 'packSize' | 'inputBytes' | 'deflatedShare' | 'commitItems'>;

export interface PackTable {
  /** Tasks in a pack: fewer than requested if their inputs do not fit. */
  readonly tasks: number;
  readonly enqueue: VerbUnits;
  readonly claim: VerbUnits;
  /** A record of the ends of any number of its tasks. */
  readonly record: VerbUnits;
  /** One task, with the user's items. */
  readonly commit: VerbUnits;
  /** A commit that one of the user's conditions refused, and that a record then bars. */
  readonly refusedCommit: VerbUnits;
  /** One task leaves the pack for its own row, to be retried. */
  readonly move: VerbUnits;
  readonly finish: VerbUnits;
  readonly storedBytes: number;
}

/** @param own the row of a task that has left its pack */
export function packTable(shape: PackShape, own: DynamoItem): PackTable {
  const { inputBytes, deflatedShare, commitItems } = shape;
  const tasks = Math.max(1, Math.min(shape.packSize, Math.floor(PACK_INPUT_LIMIT_BYTES / Math.max(1, inputBytes))));
  const ready = readyPack(tasks, Math.ceil(tasks * inputBytes * deflatedShare));
  const running: DynamoItem = { ...ready, state: 'running', session: UUID, claimedAt: NOW, attempts: 1, sequence: 0 };
  const recorded: DynamoItem = {
    ...running,
    sequence: tasks,
    done: new Set(Array.from({ length: tasks }, (_, n) => n)),
  };
  const finished = finishedPack(recorded);
  const record = unitsOf(running, recorded);
  const doubled = verbUnits(inTransaction(writeUnits(TABLE_SHAPE, sized(running), sized(recorded))));
  const created = verbUnits(inTransaction(writeUnits(TABLE_SHAPE, undefined, sized(own))));
  return {
    tasks,
    record,
    enqueue: unitsOf(undefined, ready),
    claim: unitsOf(ready, running),
    commit: { ...doubled, table: doubled.table + 2 * commitItems, total: doubled.total + 2 * commitItems },
    refusedCommit: refusedCommitUnits(running, recorded, commitItems),
    move: together(doubled, created),
    finish: unitsOf(recorded, finished),
    storedBytes: sized(finished).bytes + STORAGE_OVERHEAD_BYTES,
  };
}

function readyPack(tasks: number, bytes: number): DynamoItem {
  const pack = {
    queue: 'default',
    id: `${UUID}/0`,
    name: 'task.name',
    input: [],
    priority: 'normal' as const,
    runAt: NOW,
  };
  const { Item } = enqueuePack('t', pack, 8, STAMP).input;
  return { ...Item, input: new Uint8Array(bytes), total: tasks };
}

function finishedPack(recorded: DynamoItem): DynamoItem {
  const { [READY_INDEX.partitionKey]: _, [READY_INDEX.sortKey]: __, ...rest } = recorded;
  return { ...rest, state: 'done', finishedAt: NOW, ttl: ttlEpochSeconds(NOW, RETENTION_DAYS.task) };
}
