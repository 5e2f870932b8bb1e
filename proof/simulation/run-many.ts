/** Histories on all cores, each worker taking its share of the seeds. */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { Share } from './batch.ts';
import type { ProfileName } from './profile.ts';
import { Tally } from './tally.ts';
import type { BatchMessage } from './tally.ts';

interface Run {
  readonly histories: number;
  readonly minutes: number;
  /** Histories that are run although the minutes are over: what makes the run count on a machine that is busy. */
  readonly least?: number;
  readonly from: bigint;
  readonly profile: ProfileName;
  readonly workers?: number | undefined;
  readonly onProgress?: (tally: Tally) => void;
}

const PROGRESS_EVERY_MS = 5_000;
/**
 * A history leaves nothing behind: twenty megabytes are alive between any two, and a leak shall fail the run rather than fill the machine.
 */
const MEMORY = { maxOldGenerationSizeMb: 400 };

export async function runMany({
  histories,
  minutes,
  least = 0,
  from,
  profile,
  workers,
  onProgress,
}: Run): Promise<Tally> {
  const tally = new Tally();
  const count = workers ?? availableParallelism();
  let toldAt = performance.now();
  await Promise.all(
    Array.from({ length: count }, (_, index) => {
      const share: Share = {
        from: from + BigInt(index),
        step: count,
        profile,
        endsAt: minutes * 60_000,
        least: Math.ceil(least / count),
        histories: Math.ceil((histories - index) / count),
      };
      const worker = new Worker(new URL('./batch.ts', import.meta.url), { workerData: share, resourceLimits: MEMORY });
      return new Promise<void>((resolve, reject) => {
        worker.on('message', (message: BatchMessage) => {
          tally.add(message);
          if (performance.now() - toldAt < PROGRESS_EVERY_MS) return;
          toldAt = performance.now();
          onProgress?.(tally);
        });
        worker.on('error', reject);
        worker.on('exit', () => resolve());
      });
    }),
  );
  return tally;
}
