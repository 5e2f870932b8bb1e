/** Durable tasks on DynamoDB. `leasehold/durable` alone imports this, and with it the SDK. */
import { createJournalStore } from '../tasks/rows/task/dynamo-journal-store.ts';
import type { DurableHandlerOptions, DurableTaskOptions } from '../tasks/durable/durable-task.ts';
import { defineDurable } from '../tasks/durable/durable-task.ts';
import type { TaskDefinition } from '../tasks/task/definition.ts';

/**
 * Defines a task whose code is a workflow of AWS's durable execution SDK: steps, waits, callbacks, maps, invokes.
 * @throws ConfigurationError for an option that is not usable, or an SDK that is not supported
 */
export function durableTask<Input, Output, Given = Input>(
  options: DurableTaskOptions<Input, Output, Given>,
): TaskDefinition<Input, Output, Given>;
export function durableTask<Input = unknown, Given = Input>(
  options: DurableHandlerOptions<Input, Given>,
): TaskDefinition<Input, unknown, Given>;
export function durableTask(options: unknown): unknown {
  return defineDurable(options as DurableTaskOptions<never, unknown, never>, createJournalStore);
}
