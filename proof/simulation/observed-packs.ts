/** The verbs of packs, with every write on record. */
import type { PackStore } from '../../shared/tasks/bulk/pack-store.ts';
import type { Stamp } from '../../shared/core/lease/stamp.ts';
import type { Claim } from '../../shared/tasks/task/task.ts';
import type { SimulatedProcess } from '../../test/support/machines/process.ts';
import { taskRow, writerOf } from './observed-stores.ts';
import type { Call, Recorder } from './recorder.ts';

export function observePacks(store: PackStore, process: SimulatedProcess, recorder: Recorder): PackStore {
  const write = writerOf(process, recorder);
  const held = (verb: string, claim: Claim, { nonce }: Stamp): Call => ({
    verb: `pack.${verb}`,
    row: taskRow(claim),
    nonce,
    claim: { row: taskRow(claim), token: claim.leaseCounter, session: claim.session },
  });
  return {
    enqueue: (pack, stamp) =>
      write({ verb: 'pack.enqueue', row: taskRow(pack), nonce: stamp.nonce }, () => store.enqueue(pack, stamp)),
    record: (claim, entry, stamp, limits) =>
      write(held('record', claim, stamp), () => store.record(claim, entry, stamp, limits)),
    finish: (claim, entry, stamp, limits) =>
      write(held('finish', claim, stamp), () => store.finish(claim, entry, stamp, limits)),
    commit: (claim, index, entry, effects, stamp, limits) =>
      write(held('commit', claim, stamp), () => store.commit(claim, index, entry, effects, stamp, limits)),
    move: (claim, item, entry, stamp, limits) =>
      write(held('move', claim, stamp), () => store.move(claim, item, entry, stamp, limits)),
    cancelItem: (observed, index, stamp) =>
      write({ verb: 'pack.cancelItem', row: taskRow(observed), nonce: stamp.nonce }, () =>
        store.cancelItem(observed, index, stamp),
      ),
    cancelRunningItem: async (observed, index, stamp) => {
      const call = { verb: 'pack.cancelRunningItem', row: taskRow(observed), nonce: stamp.nonce };
      const { kind } = await write(call, async () => ({
        ...(await store.cancelRunningItem(observed, index, stamp)),
        earlierAttempt: 'unknown' as const,
      }));
      return { kind };
    },
  };
}
