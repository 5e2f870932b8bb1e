/** Writes of schedules that affect tasks: creating an occurrence's task while advancing the schedule, and stopping earlier tasks. */
import { contended, retryContended } from '../../core/wait/retry-contended.ts';
import type { Contended } from '../../core/wait/retry-contended.ts';
import type { Stamp } from '../../core/lease/write.ts';
import { stampOf } from '../../core/lease/write.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { DynamoItem } from '../../dynamo/engine/driver.ts';
import { Rows } from '../../dynamo/engine/rows.ts';
import type { Sender } from '../../dynamo/engine/send.ts';
import { actionOf, isBlind, together, tokenOf } from '../../dynamo/engine/transaction.ts';
import type { MakeOutcome, ScheduleStep } from '../schedule/schedule.ts';
import type { ScheduleRecord } from '../schedule/schedule.ts';
import { LEFT_OUT_KEPT, lineOfSchedule, occurrenceTaskId } from '../schedule/schedule.ts';
import type { NewTask } from '../task/task-store.ts';
import type { TaskRecord } from '../task/task.ts';
import { describeTask } from '../task/task.ts';
import { advanceSchedule } from './schedule-statements.ts';
import type { TaskStoreOptions } from './task/adding-store.ts';
import { Lines } from './task/lines.ts';
import { TaskEndings } from './task/task-endings.ts';
import { requestCancel } from './task/operator-statements.ts';
import { decodeTask } from './task/task-codec.ts';
import { enqueueTask, readTask } from './task/task-statements.ts';

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
