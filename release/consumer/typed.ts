import type { Lock, TaskRecord } from 'leasehold';
import { createLeasehold } from 'leasehold';
import { lock } from 'leasehold/middy';
import { createS3Payloads } from 'leasehold/s3';
import type { TaskContext } from 'leasehold/tasks';
import { defineTask } from 'leasehold/tasks';
import { createTestKit } from 'leasehold/testing';
import type { Worker } from 'leasehold/worker';
import { createWorker } from 'leasehold/worker';

export const greet = defineTask({
  name: 'greet',
  run: (input: { readonly name: string }, task: TaskContext) => `${input.name} ${task.attempt}`,
});

export async function work(): Promise<TaskRecord | undefined> {
  using leasehold = createLeasehold({ table: 'leasehold' });
  await using session = await leasehold.session({ ttl: '30s' });
  await using lock: Lock = await session.lock('nightly', { wait: '10s' });
  lock.signal.throwIfAborted();
  const { id } = await leasehold.tasks.enqueue(greet, { name: 'world' });
  return leasehold.tasks.get(id);
}

export const kit = createTestKit({ tasks: { greet } });
export const payloads = createS3Payloads({ bucket: 'inputs' });
export const nightly = lock({ leasehold: createLeasehold({ table: 'leasehold' }), key: 'nightly' });
export const worker: Worker = createWorker({ greet }, { concurrency: 5 });
