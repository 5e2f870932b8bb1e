/** A request for a batch, as a user words it, and the checks that make one of it. */
import { isSame } from '../../core/runtime/same.ts';
import { ConfigurationError, MismatchError } from '../../core/errors.ts';
import { validName } from '../../core/validate/name.ts';
import { validOptions } from '../../core/validate/options.ts';
import type { BatchKey, BatchRecord, Waiter } from '../task/batch.ts';
import type { RequestDefaults, TaskRequest } from '../task/task-request.ts';
import { newTaskOf, validRequests } from '../task/task-request.ts';
import type { NewTask } from '../task/task-store.ts';
import type { TaskKey } from '../task/task.ts';
import { INPUT_LIMIT_BYTES } from '../task/task.ts';

export interface BatchOptions {
  /** Identity: children that were given no id of their own have one made of it and their place. */
  readonly id: string;
  /** The task that is created when the last child has ended, done or not. */
  readonly then?: TaskRequest;
  readonly queue?: string;
}

export interface NewBatch extends BatchKey {
  readonly waiter: Waiter;
  readonly tasks: readonly NewTask[];
}

/** Children are written one by one, and their batch's row with each that ends: beyond this, batches of batches are faster. */
const BATCH_LIMIT = 10_000;

/** @throws ConfigurationError */
export async function newBatchOf(
  children: readonly TaskRequest[],
  options: BatchOptions,
  defaults: RequestDefaults,
): Promise<NewBatch> {
  validOptions('the options of a batch', options, { id: true, then: true, queue: true });
  const id = validName('batch id', options.id);
  const { queue: asked = defaults.queue } = options;
  const queue = validName('queue', asked);
  const { length } = validRequests(`the children of batch ${id}`, children);
  if (length < 1 || length > BATCH_LIMIT)
    throw new ConfigurationError(`batch ${id} has ${length} children: give 1 to ${BATCH_LIMIT}`);
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
      `child ${lenient.id} of batch ${id} has a policy for ids that are taken: the batch counts ` +
        'children of its own, leave out onDuplicate and window',
    );
  if (new Set(tasks.map((task) => task.id)).size < tasks.length)
    throw new ConfigurationError(
      `two children of batch ${id} have the same id: the batch would wait for one that never ends`,
    );
  const waiter = await waiterOf(options.then, id, queue, defaults);
  const double = waiter.kind === 'callback' ? tasks.find((task) => isSameTask(task, waiter.task)) : undefined;
  if (double !== undefined)
    throw new ConfigurationError(
      `batch ${id} would never call back: its callback has the id of its child ${double.id}, give it one of its own`,
    );
  return { queue, id, tasks, waiter };
}

/** What the batch's row keeps of a callback until it is created. */
const KEPT_OPTIONS: ReadonlySet<string> = new Set<keyof TaskRequest['options']>(['id', 'queue', 'priority', 'tenant']);

/** @throws MismatchError when the batch that is there is another one */
export function ensureSameBatch(
  asked: Omit<NewBatch, 'tasks'> & { readonly total: number },
  current: BatchRecord | undefined,
): void {
  if (current?.total === asked.total && isSame(current.waiter, asked.waiter)) return;
  throw new MismatchError(
    `batch ${asked.id} of queue ${asked.queue}`,
    `batch ${asked.id} of queue ${asked.queue} is there already, with ${current?.total ?? 'no'} ` +
      'children or another callback: give this one an id of its own',
  );
}

async function waiterOf(
  then: TaskRequest | undefined,
  id: string,
  queue: string,
  defaults: RequestDefaults,
): Promise<Waiter> {
  if (then === undefined) return { kind: 'nobody' };
  validRequests(`the callback of batch ${id}`, [then]);
  const option = Object.entries(then.options).find(([name, value]) => value !== undefined && !KEPT_OPTIONS.has(name));
  if (option !== undefined)
    throw new ConfigurationError(
      `the callback of batch ${id} takes no ${option[0]}: it is due when the last child has ` +
        `ended, give it ${[...KEPT_OPTIONS].join(', ')} at most`,
    );
  const task = await newTaskOf(then.task, then.input, named(then, `${id}/then`, queue), defaults);
  if (task.payload !== undefined)
    throw new ConfigurationError(
      `the input of the callback of batch ${id} has ${task.payload.bytes} bytes: it is kept in ` +
        `the batch's row until then, and takes ${INPUT_LIMIT_BYTES}`,
    );
  const { name, input, priority, tenant } = task;
  const callback = { queue: task.queue, id: task.id, name, input, priority };
  return { kind: 'callback', task: tenant === undefined ? callback : { ...callback, tenant } };
}

function isSameTask(one: TaskKey, other: TaskKey): boolean {
  return one.queue === other.queue && one.id === other.id;
}

function named({ options }: TaskRequest, id: string, queue: string): TaskRequest['options'] {
  return { id, queue, ...options };
}
