/**
 * A bucket of the user's own, for inputs that do not fit into the table:
 * slow, and now and then it fails, before or after it did what it was asked.
 */
import type { PayloadStore } from '../../../shared/tasks/task/payload.ts';
import type { Prng } from '../../../test/support/machines/prng.ts';
import { BUCKET_PREFIX } from '../invariants/payloads.ts';
import type { WorkerPlace } from './worker-place.ts';

export function bucketAt({ process, profile, recorder, objects }: WorkerPlace, prng: Prng): PayloadStore {
  const { latencyMs, requestLost, replyLost } = profile;
  const ask = async <T>(act: () => T): Promise<T> => {
    await process.runtime.clock.sleep(1 + prng.exponential(latencyMs));
    if (prng.chance(requestLost)) throw new Error('the bucket did not answer');
    const answer = act();
    await process.runtime.clock.sleep(1 + prng.exponential(latencyMs));
    if (prng.chance(replyLost)) throw new Error('the bucket did not answer');
    return answer;
  };
  const note = (reference: string, isThere: boolean): void => {
    const at = { at: process.now, process: process.name, row: `${BUCKET_PREFIX}${reference}` };
    recorder.emit({ kind: 'acknowledged', ...at, what: isThere ? 'stored' : 'removed' });
  };
  return {
    put: (name, text) =>
      ask(() => {
        objects.set(name, text);
        note(name, true);
        return name;
      }),
    get: (reference) => ask(() => objects.get(reference)),
    delete: (reference) =>
      ask(() => {
        objects.delete(reference);
        note(reference, false);
      }),
  };
}
