/**
 * `leasehold/durable`: tasks whose code is a workflow of AWS's durable execution SDK, an optional peer of this package.
 * @packageDocumentation
 */
export { durableTask } from '../shared/client/durable.ts';
export { withStep } from '../shared/tasks/durable/invocation.ts';
export type {
  DurableHandlerOptions,
  DurableTaskInfo,
  DurableTaskOptions,
} from '../shared/tasks/durable/durable-task.ts';
