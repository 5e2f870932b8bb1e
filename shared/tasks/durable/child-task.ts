/** The task that `ctx.invoke` starts: in the queue, the priority and the trace of the task that invokes it. */
import type { OperationUpdate } from '@aws/durable-execution-sdk-js';
import { validName } from '../../core/validate/options.ts';
import type { ClaimHolder } from '../run/claim-holder.ts';
import { carriedInput, checkedIn } from '../task/payload.ts';
import type { NewTask } from '../task/task-store.ts';
import type { Json } from '../task/task.ts';
import type { Entry } from './entry.ts';
import { childIdOf, openKeyOf } from './entry.ts';

/** @throws ConfigurationError for a name or an input that no task can have: the execution fails */
export async function childOf(
  { Payload, ChainedInvokeOptions }: OperationUpdate,
  { i = '', c = '', f = '', n = i }: Entry,
  { task, tasks, runtime, payloads, trace }: ClaimHolder,
): Promise<NewTask> {
  const { queue, id, priority, tenant, traceparent } = task;
  const openKey = openKeyOf(i, c);
  const now = runtime.clock.now();
  const input = Payload === undefined ? null : (JSON.parse(Payload) as Json);
  const child: NewTask = {
    queue,
    id: validName('the id of an invoked task', childIdOf(task, openKey)),
    name: validName('the name of an invoked task', f),
    ...carriedInput(`the input of task ${f}, which ${JSON.stringify(n)} invokes,`, input, payloads !== undefined),
    priority,
    runAt: now,
    tenant: ChainedInvokeOptions?.TenantId ?? tenant,
    traceparent,
    links: { notify: { queue, id, openKey } },
  };
  const traced = trace?.spans.create(child, now, trace.attempt) ?? child;
  return checkedIn(traced, { tasks, payloads }, runtime.ids.unique());
}
