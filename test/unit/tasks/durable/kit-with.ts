/** A kit with one durable task, and answers for it. */
import type { DurableContext } from '@aws/durable-execution-sdk-js';
import type { DurableTaskOptions } from '../../../../api/durable.ts';
import { durableTask } from '../../../../api/durable.ts';
import type { TestKitOptions } from '../../../../api/testing.ts';
import { createTestKit } from '../../../../api/testing.ts';

export type Code = DurableTaskOptions<unknown, unknown>['run'];

/** A kit with one durable task `main`, which is enqueued as `r`. */
export async function kitWith(
  run: Code,
  options: Partial<DurableTaskOptions<unknown, unknown>> = {},
  kitOptions: TestKitOptions = {},
) {
  const main = durableTask({ name: 'main', ...options, run });
  const kit = createTestKit({ ...kitOptions, tasks: { main, ...kitOptions.tasks } });
  await kit.tasks.enqueue('main', null, { id: 'r' });
  const task = async () => (await kit.tasks.get('r'))!;
  return { kit, task };
}

/** Asks from outside, and remembers the ids of its callbacks. */
export function asking() {
  const ids: string[] = [];
  const ask = (ctx: DurableContext, name = 'ask', options = {}) =>
    ctx.waitForCallback(name, async (id) => void ids.push(id), options);
  return { ids, ask };
}
