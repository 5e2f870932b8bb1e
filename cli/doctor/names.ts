/** Checks whether a module defines the names of all waiting tasks. The module's workers skip other tasks. */
import { take } from '../../shared/core/runtime/take.ts';
import type { TaskRegistry } from '../../shared/tasks/task/definition.ts';
import type { QueueConnection } from '../connection.ts';
import { unfinishedTasks } from '../queue/queue-summary.ts';
import type { Finding } from './finding.ts';
import { ok, warning } from './finding.ts';

/** Half a read unit each. */
const TASKS_LOOKED_AT = 1_000;
const NAMES_SHOWN = 10;

export async function judgeNames(queue: QueueConnection, registry: TaskRegistry, entry: string): Promise<Finding> {
  const check = `names in ${queue.queue}`;
  const { rows: tasks } = await take(unfinishedTasks(queue), TASKS_LOOKED_AT);
  const unknown = new Map<string, number>();
  for (const { name } of tasks) if (!registry.has(name)) unknown.set(name, (unknown.get(name) ?? 0) + 1);
  const checked = `of the ${tasks.length} tasks checked`;
  if (unknown.size === 0) return ok(check, `${entry} defines the name of each ${checked}`);
  const named = [...unknown].slice(0, NAMES_SHOWN).map(([name, count]) => `${name} (${count})`);
  const more = unknown.size > NAMES_SHOWN ? `, and ${unknown.size - NAMES_SHOWN} more` : '';
  return warning(
    check,
    `${entry} does not define ${named.join(', ')}${more} ${checked}`,
    'they wait for a worker whose module defines them: deploy one, or cancel those that no module will define again',
  );
}
