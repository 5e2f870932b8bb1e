/** Switches the list of a queue's finished tasks on or off, by the setting of a worker or a dispatcher. */
import { ConfigurationError, shown } from '../../core/errors.ts';
import { stampOf } from '../../core/lease/write.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { Contended } from '../../core/wait/retry-contended.ts';
import { contended, retryContended } from '../../core/wait/retry-contended.ts';
import type { QueueStore } from './queue-store.ts';

/** @param isOn undefined: the queue's row stays as it is. One read, and a write only if the row says otherwise. */
export async function switchFinishedList(
  queue: string,
  isOn: boolean | undefined,
  { queues, runtime }: { readonly queues: Pick<QueueStore, 'get' | 'listFinished'>; readonly runtime: Runtime },
): Promise<void> {
  if (isOn === undefined) return;
  if (typeof isOn !== 'boolean') throw new ConfigurationError(`listFinished = ${shown(isOn)}: must be true or false`);
  await retryContended(`queue ${queue}`, runtime, async (): Promise<true | Contended> => {
    const observed = await queues.get(queue);
    if ((observed?.listedSince !== undefined) === isOn) return true;
    const outcome = await queues.listFinished(queue, observed, isOn, stampOf(runtime));
    return outcome.kind === 'applied' ? true : contended(outcome);
  });
}
