import { OccurrenceMaker } from './occurrence-maker.ts';
import type {
  LeftOutOccurrence,
  ScheduleDefinition,
  ScheduleRecord,
  RemovedSchedule,
  ScheduleKey,
  ScheduleStore,
} from '../schedule/schedule.ts';
import { CRON_LIMIT_CHARACTERS, ZONE_LIMIT_CHARACTERS } from '../schedule/cron-fields.ts';
import {
  LEFT_OUT_FOR,
  MISSED_POLICIES,
  OVERLAP_POLICIES,
  SCHEDULES_PER_TICK,
  SCHEDULE_OPTIONS_LIMIT_CHARACTERS,
} from '../schedule/schedule.ts';
import { integerBetween } from '../../core/runtime/random.ts';
import type { DynamoItem } from '../../dynamo/engine/driver.ts';
import { ItemReader } from '../../dynamo/engine/item-reader.ts';
import { splitKey } from '../../dynamo/engine/keys.ts';
import { Rows } from '../../dynamo/engine/rows.ts';
import type { Sender } from '../../dynamo/engine/send.ts';
import type { TaskStoreOptions } from './task/adding-store.ts';
import { ownEntries } from './index-entries.ts';
import * as statements from './schedule-statements.ts';

export function createScheduleStore(sender: Sender, options: TaskStoreOptions): ScheduleStore {
  const { table } = options;
  const maker = new OccurrenceMaker(sender, options);
  const rows = new Rows(sender, decodeRow);
  return {
    get: (key) => rows.get(statements.readSchedule(table, key)),

    put: (definition, nextAt, observed, stamp) =>
      rows.writeAs<ScheduleRecord>(statements.putSchedule(table, definition, nextAt, observed, stamp), stamp),

    advance: (observed, step, stamp) =>
      rows.writeAs<ScheduleRecord>(statements.advanceSchedule(table, observed, step, stamp), stamp),

    makeOccurrence: (observed, task, step, stamp) => maker.make(observed, task, step, stamp),

    stopEarlier: (schedule, at, reason, runtime) => maker.stopEarlier(schedule, at, reason, runtime),

    pause: (observed, to, stamp) =>
      rows.writeAs<ScheduleRecord>(statements.pauseSchedule(table, observed, to, stamp), stamp),

    remove: (observed, stamp) =>
      rows.writeAs<RemovedSchedule>(statements.removeSchedule(table, observed, stamp), stamp),

    async due(queue, now, random, onDamaged) {
      const due: ScheduleKey[] = [];
      let after: unknown;
      do {
        const page = await sender.read(statements.dueSchedules(table, queue, now, after));
        due.push(...keysOf(queue, page.Items, onDamaged));
        after = page.LastEvaluatedKey;
      } while (after !== undefined);
      if (due.length <= SCHEDULES_PER_TICK) return read(due, onDamaged);
      onDamaged(
        new Error(
          `${due.length} schedules of queue ${queue} are due, and one tick serves ${SCHEDULES_PER_TICK}: the others wait for later ticks`,
        ),
      );
      const first = integerBetween(random, 0, due.length);
      return read([...due.slice(first), ...due.slice(0, first)].slice(0, SCHEDULES_PER_TICK), onDamaged);
    },

    async page(queue, after) {
      const { Items, LastEvaluatedKey } = await sender.read(statements.pageOfSchedules(table, queue, after));
      return { schedules: await read(keysOf(queue, Items)), next: LastEvaluatedKey };
    },
  };

  async function read(keys: readonly ScheduleKey[], onDamaged?: (error: unknown) => void): Promise<ScheduleRecord[]> {
    const found = await rows.getMany(table, statements.readSchedules(table, keys), onDamaged);
    // The index may still show removed schedules.
    return found.filter((row): row is ScheduleRecord => !('isRemoved' in row));
  }
}

function keysOf(
  queue: string,
  items: readonly DynamoItem[] | undefined,
  onDamaged?: (error: unknown) => void,
): ScheduleKey[] {
  return ownEntries(items, { kind: 'schedule', queue }, onDamaged).map(({ pk }) => {
    const [, , name = ''] = splitKey(String(pk));
    return { queue, name };
  });
}

function decodeRow(item: DynamoItem): ScheduleRecord | RemovedSchedule {
  return item.status === statements.REMOVED ? decodeRemoved(item) : decodeSchedule(item);
}

function decodeRemoved(item: DynamoItem): RemovedSchedule {
  const row = new ItemReader(item);
  return { queue: row.string('queue'), name: row.string('name'), isRemoved: true, nonce: row.string('nonce') };
}

function decodeSchedule(item: DynamoItem): ScheduleRecord {
  const row = new ItemReader(item);
  const count = (attribute: string): number => row.count(attribute);
  return {
    queue: row.string('queue'),
    name: row.string('name'),
    task: row.string('task'),
    input: row.json('input'),
    options: decodeOptions(row),
    cron: row.shortString('cron', CRON_LIMIT_CHARACTERS),
    zone: row.shortString('zone', ZONE_LIMIT_CHARACTERS),
    startAt: row.optional('startAt', count),
    endAt: row.optional('endAt', count),
    jitterMs: row.count('jitterMs'),
    missed: row.oneOf('missed', MISSED_POLICIES),
    overlap: row.oneOf('overlap', OVERLAP_POLICIES),
    toleranceMs: row.count('toleranceMs'),
    definedAt: row.count('definedAt'),
    nextAt: row.optional('readyAt', count) ?? Infinity,
    lastAt: row.optional('lastAt', count),
    pausedAt: row.optional('pausedAt', count),
    leftOut: row.optional('leftOut', (attribute) => decodeLeftOut(row, attribute)) ?? [],
    nonce: row.string('nonce'),
  };
}

/** The code that creates an occurrence's task checks them. */
function decodeOptions(row: ItemReader): ScheduleDefinition['options'] {
  if (!row.isBinary('options')) row.shortString('options', SCHEDULE_OPTIONS_LIMIT_CHARACTERS);
  const options = row.json('options');
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw row.corrupt('options', 'should be an object');
  return options as ScheduleDefinition['options'];
}

function decodeLeftOut(row: ItemReader, attribute: string): readonly LeftOutOccurrence[] {
  return row.strings(attribute).map((text) => {
    const [, reason, at] = /^([a-z]+)@(\d+)$/.exec(text) ?? [];
    const why = LEFT_OUT_FOR.find((known) => known === reason);
    if (why === undefined) throw row.corrupt(attribute, 'should say which occurrences, and why');
    return { at: Number(at), why };
  });
}
