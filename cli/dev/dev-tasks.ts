/** Enqueues the first tasks of `leasehold dev`: the module exports them as `devTasks`, made with `spawn`. */
import type { Leasehold } from '../../shared/client/leasehold.ts';
import { validRequests } from '../../shared/tasks/task/task-request.ts';
import type { TaskRequest } from '../../shared/tasks/task/task-request.ts';

/**
 * Their ids count them, so a worker that starts again adds none.
 * @throws ConfigurationError for an export that is not a list of `spawn(task, input)`
 */
export async function enqueueDevTasks(
  { devTasks }: Readonly<Record<string, unknown>>,
  { tasks }: Pick<Leasehold, 'tasks'>,
  queue: string,
): Promise<void> {
  if (devTasks === undefined) return;
  const requests = validRequests('the export devTasks', devTasks as readonly TaskRequest[]);
  await tasks.enqueueAll(
    requests.map((request, index) => ({ ...request, options: { queue, id: `dev-${index + 1}`, ...request.options } })),
  );
}
