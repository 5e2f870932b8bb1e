/** A user's request for a batch, and its validation. */
import { isSame } from '../../core/runtime/same.ts';
import { sha256 } from '../../core/runtime/sha256.ts';
import { ConfigurationError, MismatchError, messageOf } from '../../core/errors.ts';
import { validName, validOptions } from '../../core/validate/options.ts';
import type { BatchKey, BatchRecord, NewBatch, Waiter } from '../task/batch.ts';
import { NEVER, waiterOf } from '../task/batch.ts';
import { isSameWork } from '../task/dedup.ts';
import type { RequestDefaults, TaskRequest } from '../task/task-request.ts';
import { newTaskOf, optionsIn, validRequests, isRequest } from '../task/task-request.ts';
import type { NewTask } from '../task/task-store.ts';
import type { TaskKey, TaskRecord } from '../task/task.ts';
import { INPUT_LIMIT_BYTES, describeTask } from '../task/task.ts';
import { mismatch } from './task-adder.ts';
import { allOf } from '../../core/runtime/all-of.ts';
import { InvalidInputError } from '../task/control.ts';

export interface BatchOptions {
  /** Identity of the batch. A child without an id gets the batch's id and its position as its id. */
  readonly id: string;
  /**
   * The task that runs once all children have ended, done or not; at once, if there are none. It is of the batch's queue. Its default id is
   * the batch's, followed by `/then`.
   */
  readonly then?: TaskRequest;
  readonly queue?: string;
}

interface AskedBatch {
  readonly batch: NewBatch;
  /** The task that follows the children. */
  readonly callback: NewTask | undefined;
  readonly tasks: readonly NewTask[];
}

/** Children are written one by one, and each end of a child writes the batch's row. For more children, batches of batches are faster. */
const BATCH_LIMIT = 10_000;

/** @throws ConfigurationError */
export async function newBatchOf(
  children: readonly TaskRequest[],
  options: BatchOptions,
  defaults: RequestDefaults,
): Promise<AskedBatch> {
  validOptions('the options of a batch', options, ['id', 'then', 'queue']);
  const id = validName('batch id', options.id);
  const { queue: asked = defaults.queue } = options;
  const queue = validName('queue', asked);
  const { length } = validRequests(`the children of batch ${id}`, children);
  if (length > BATCH_LIMIT)
    throw new ConfigurationError(`batch ${id} has ${length} children: must be at most ${BATCH_LIMIT}`);
  const tasks = await Promise.all(
    children.map(async (child, place) => {
      const task = await newTaskOf(child.task, child.input, named(child, `${id}/${place}`, queue), defaults);
      return { ...task, links: { ...task.links, batch: id } };
    }),
  );
  const stranger = tasks.find((task) => task.queue !== queue);
  if (stranger !== undefined)
    throw new ConfigurationError(`batch ${id} is of queue ${queue}, and its child ${stranger.id} of ${stranger.queue}`);
  const lenient = tasks.find(({ dedup }) => dedup?.policy !== 'reject' || dedup.windowMs !== undefined);
  if (lenient !== undefined)
    throw new ConfigurationError(
      `child ${lenient.id} of batch ${id} has onDuplicate or window: omit them, ` +
        'because a batch counts only its own children',
    );
  if (new Set(tasks.map((task) => task.id)).size < tasks.length)
    throw new ConfigurationError(
      `two children of batch ${id} have the same id: the batch would wait for one that never ends`,
    );
  const callback = await callbackOf(options.then, { queue, id, total: length }, defaults);
  const double = callback && tasks.find((task) => isSameTask(task, callback));
  if (double !== undefined)
    throw new ConfigurationError(
      `batch ${id} would never call back: its callback has the id of its child ${double.id}, use another id`,
    );
  const waiter: Waiter = callback === undefined ? { kind: 'nobody' } : waiterOf(callback);
  // An exchanged child would be counted for a different, unfinished one.
  const childrenDigest = sha256(JSON.stringify(tasks.map((task) => task.id).sort()));
  return { batch: { queue, id, total: tasks.length, waiter, childrenDigest }, tasks, callback };
}

const CALLBACK_OPTIONS: readonly string[] = optionsIn('callback');

/** @throws MismatchError when the existing batch differs */
export function ensureSameBatch(asked: NewBatch, current: BatchRecord | undefined): void {
  const { total, childrenDigest } = current ?? {};
  const hasSameChildren = total === asked.total && childrenDigest === asked.childrenDigest;
  if (hasSameChildren && isSame(current?.waiter, asked.waiter)) return;
  const batch = `batch ${asked.id} of queue ${asked.queue}`;
  const difference = hasSameChildren ? 'another callback' : `other children (${total ?? 'none'})`;
  throw new MismatchError(batch, `${batch} exists already, with ${difference}: use another id`);
}

/**
 * @throws MismatchError when the existing batch has another callback. Not compared if the callback got other work since then, or TTL
 * deleted it
 */
export function ensureSameCallback(asked: NewTask, current: TaskRecord | undefined): void {
  if (current?.children?.id === asked.children?.id && current !== undefined && !isSameWork(current, asked))
    throw mismatch(asked, current);
}

export function callbackTaken({ queue, id }: BatchKey, taken: TaskRecord): MismatchError {
  const key = describeTask(taken);
  return new MismatchError(
    key,
    `the callback of batch ${id} of queue ${queue} would be ${key}, and ${key} exists already (${taken.state}): use another id ` +
      `for the callback, or none: then it is ${id}/then; nothing was done`,
  );
}

async function callbackOf(
  then: TaskRequest | undefined,
  { queue, id, total }: BatchKey & Pick<NewBatch, 'total'>,
  defaults: RequestDefaults,
): Promise<NewTask | undefined> {
  if (then === undefined) return undefined;
  validRequests(`the callback of batch ${id}`, [then]);
  const option = Object.entries(then.options).find(
    ([name, value]) => value !== undefined && !CALLBACK_OPTIONS.includes(name),
  );
  if (option !== undefined)
    throw new ConfigurationError(
      `the callback of batch ${id} cannot have ${option[0]}: it is due when the last child has ` +
        `ended, so it takes only ${CALLBACK_OPTIONS.join(', ')}`,
    );
  const task = await newTaskOf(then.task, then.input, named(then, `${id}/then`, queue), defaults);
  // The end of the last child makes it due, with the rights of the children's workers, which are those of one queue.
  if (task.queue !== queue)
    throw new ConfigurationError(
      `the callback of batch ${id} would be of queue ${task.queue}, and its children are of ${queue}: leave its queue out, and let it ` +
        `spawn the task there as it ends: task.commit(result, [], { spawn: [spawn(task, input, { queue: '${task.queue}' })] })`,
    );
  if (task.payload !== undefined)
    throw new ConfigurationError(
      `the input of the callback of batch ${id} has ${task.payload.bytes} bytes: it waits for the children in ` +
        `its row, which takes at most ${INPUT_LIMIT_BYTES}`,
    );
  return { ...task, runAt: total === 0 ? task.runAt : NEVER, children: { queue, id } };
}

function isSameTask(one: TaskKey, other: TaskKey): boolean {
  return one.queue === other.queue && one.id === other.id;
}

function named({ options }: TaskRequest, id: string, queue: string): TaskRequest['options'] {
  return { id, queue, ...options };
}

/** Checks the tasks of one call. @throws ConfigurationError it names the position of the first unusable task */
export async function checkedAll(
  tasks: readonly (TaskRequest | NewTask)[],
  defaults: RequestDefaults,
): Promise<readonly NewTask[]> {
  const given: unknown = tasks;
  if (!Array.isArray(given)) throw new ConfigurationError('enqueueAll requires a list of tasks');
  return allOf(
    tasks.map(async (task, index) => {
      if (isChecked(task)) return task;
      if (isRequest(task)) return checkedItem(task, index, defaults);
      throw new ConfigurationError(
        `enqueueAll: item ${index + 1} is not a task: pass spawn(task, input, options), or the result of \`validate\``,
      );
    }),
  );
}

/** Whether the value is a result of `validate`. */
function isChecked(task: unknown): task is NewTask {
  return typeof task === 'object' && task !== null && 'id' in task && 'queue' in task && 'runAt' in task;
}

async function checkedItem(
  { task, input, options }: TaskRequest,
  index: number,
  defaults: RequestDefaults,
): Promise<NewTask> {
  try {
    return await newTaskOf(task, input, options, defaults);
  } catch (cause) {
    const at = `enqueueAll: item ${index + 1}`;
    if (cause instanceof InvalidInputError)
      throw new InvalidInputError(`${at}: ${messageOf(cause)}`, cause.issues, { cause });
    if (!(cause instanceof ConfigurationError)) throw cause;
    throw new ConfigurationError(`${at}: ${cause.message}`, { cause });
  }
}
