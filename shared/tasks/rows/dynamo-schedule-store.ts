import type {
  LeftOutOccurrence,
  ScheduleDefinition,
  ScheduleRecord,
  RemovedSchedule,
  ScheduleKey,
  ScheduleStore,
  MakeOutcome,
  ScheduleStep,
} from '../schedule/schedule.ts';
import { CRON_LIMIT_CHARACTERS, ZONE_LIMIT_CHARACTERS } from '../schedule/cron-fields.ts';
import {
  LEFT_OUT_FOR,
  MISSED_POLICIES,
  OVERLAP_POLICIES,
  SCHEDULES_PER_TICK,
  SCHEDULE_OPTIONS_LIMIT_CHARACTERS,
  LEFT_OUT_KEPT,
  lineOfSchedule,
  occurrenceTaskId,
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
import { contended, retryContended } from '../../core/wait/retry-contended.ts';
import type { Contended } from '../../core/wait/retry-contended.ts';
import type { Stamp } from '../../core/lease/stamp.ts';
import { stampOf } from '../../core/lease/stamp.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import { actionOf, isBlind, together, tokenOf } from '../../dynamo/engine/statement.ts';
import type { NewTask } from '../task/task-store.ts';
import type { TaskRecord } from '../task/task.ts';
import { describeTask } from '../task/task.ts';
import { advanceSchedule } from './schedule-statements.ts';
import { Lines } from './task/lines.ts';
import { TaskEndings } from './task/task-endings.ts';
import { requestCancel } from './task/operator-statements.ts';
import { decodeTask } from './task/task-codec.ts';
import { enqueueTask, readTask } from './task/task-statements.ts';

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

/** Writes of schedules that affect tasks: creating an occurrence's task while advancing the schedule, and stopping earlier tasks. */
export class OccurrenceMaker {
  readonly #sender: Sender;
  readonly #options: TaskStoreOptions;
  readonly #lines: Lines;
  readonly #endings: TaskEndings;
  readonly #tasks: Rows<TaskRecord>;

  constructor(sender: Sender, options: TaskStoreOptions) {
    this.#sender = sender;
    this.#options = options;
    this.#lines = new Lines(sender, options.table);
    this.#endings = new TaskEndings(sender, options);
    this.#tasks = new Rows(sender, decodeTask);
  }

  make(
    observed: ScheduleRecord,
    task: NewTask,
    step: ScheduleStep & { readonly onlyIfIdle: boolean },
    stamp: Stamp,
  ): Promise<MakeOutcome> {
    const own = advanceSchedule(this.#options.table, observed, step, stamp, 'schedule.make');
    return retryContended(describeTask(task), this.#sender.patience, async (): Promise<MakeOutcome | Contended> => {
      const { queue, line: key } = task;
      const line = key === undefined ? undefined : await this.#lines.plan({ queue, key, joiners: 1 }, stamp);
      const [seat] = line?.seats ?? [];
      if (step.onlyIfIdle && seat?.isFirst === false) return { kind: 'busy' };
      const { table, shards } = this.#options;
      const others = [actionOf(enqueueTask(table, task, shards, stamp, seat)), ...(line?.actions ?? [])];
      const transaction = together(own, others, tokenOf(stamp, others));
      const result = await this.#sender.transact(transaction, stamp.nonce, {}, { isStaleAfterConflict: true });
      if (result.kind === 'applied') return { kind: 'made', schedule: stepped(observed, step, stamp) };
      if (result.kind === 'refused') return { kind: 'refused' };
      const [, refusal] = result.reasons;
      if (refusal?.code === 'ConditionalCheckFailed') return taken(refusal.item);
      return contended(result, { isBlind: isBlind(result) });
    });
  }

  async stopEarlier(schedule: ScheduleRecord, at: number, reason: string, runtime: Runtime): Promise<void> {
    const { queue } = schedule;
    const line = await this.#lines.get(queue, lineOfSchedule(schedule));
    let since = schedule.lastAt;
    let left = line === undefined ? 0 : line.tail + 1 - line.turn;
    // Each task of an occurrence names the one before it. A retried one may be behind later ones.
    for (let read = 0; read < EARLIER_READ && left > 0 && since !== undefined; read++) {
      const id = occurrenceTaskId(schedule, since);
      const task: TaskRecord | undefined = await retryContended(describeTask({ queue, id }), runtime, async () => {
        const current = await this.#tasks.get(readTask(this.#options.table, queue, id));
        const isOver = current === undefined || !isEarlier(current, schedule, at);
        return isOver || (await this.#stop(current, reason, runtime)) ? current : contended();
      });
      if ((task?.links?.line?.ticket ?? 0) >= (line?.turn ?? 0)) left--;
      since = task?.schedule?.since;
    }
  }

  /** @returns false if it was written in the meantime */
  async #stop(task: TaskRecord, reason: string, runtime: Runtime): Promise<boolean> {
    const stamp = stampOf(runtime);
    const cancellation = { at: stamp.now, reason };
    if (task.state === 'ready') return isApplied(await this.#endings.cancel(task, cancellation, stamp));
    if (task.state !== 'running' || task.cancellation !== undefined) return true;
    const asked = await this.#sender.transact(
      requestCancel(this.#options.table, task, cancellation, stamp),
      stamp.nonce,
    );
    if (asked.kind !== 'canceled') return isApplied(asked);
    // The holder's session has ended, which is final.
    return isApplied(await this.#endings.cancel(task, cancellation, stampOf(runtime)));
  }
}

/** Earlier tasks of a schedule that are read to be stopped. */
const EARLIER_READ = 100;

/** False for a task outside the line, and for one that another dispatcher has created for the same occurrence or a later one. */
function isEarlier({ links, schedule: occurrence }: TaskRecord, schedule: ScheduleRecord, at: number): boolean {
  return occurrence !== undefined && occurrence.at < at && links?.line?.key === lineOfSchedule(schedule);
}

function isApplied({ kind }: { readonly kind: 'applied' | 'refused' }): boolean {
  return kind === 'applied';
}

/** The schedule after the transaction. Transactions return no rows. */
function stepped(observed: ScheduleRecord, { nextAt = Infinity, lastAt, leftOut }: ScheduleStep, { nonce }: Stamp) {
  return {
    ...observed,
    nextAt,
    lastAt: lastAt === undefined ? observed.lastAt : Math.max(lastAt, observed.lastAt ?? 0),
    leftOut: leftOut === undefined ? observed.leftOut : [...observed.leftOut, leftOut].slice(-LEFT_OUT_KEPT),
    nonce,
  };
}

function taken(item: DynamoItem | undefined): MakeOutcome {
  try {
    if (item !== undefined) decodeTask(item);
    return { kind: 'taken', damage: undefined };
  } catch (damage) {
    return { kind: 'taken', damage };
  }
}
