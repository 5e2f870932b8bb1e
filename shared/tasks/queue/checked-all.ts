/** Checks the tasks of one call. An error names the position of the first unusable task. */
import { ConfigurationError, messageOf } from '../../core/errors.ts';
import { allOf } from '../../core/runtime/all-of.ts';
import { InvalidInputError } from '../task/control.ts';
import type { RequestDefaults, TaskRequest } from '../task/task-request.ts';
import { isRequest, newTaskOf } from '../task/task-request.ts';
import type { NewTask } from '../task/task-store.ts';

/** @throws ConfigurationError */
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
