/** The ports of dispatchers and operators that are about whole queues, with every write on record. */
import { StoreUnavailableError } from '../../shared/core/errors.ts';
import { queueKey, scheduleKey, slotKey } from '../../shared/dynamo/engine/keys.ts';
import type { SlotStore } from '../../shared/tasks/dispatch/slot-store.ts';
import type { QueueStore } from '../../shared/tasks/task/queue-store.ts';
import type { ScheduleStore } from '../../shared/tasks/schedule/schedule-store.ts';
import type { SimulatedProcess } from '../../test/support/machines/process.ts';
import { writerOf } from './observed-stores.ts';
import type { Recorder } from './recorder.ts';

export function observeSchedules(store: ScheduleStore, process: SimulatedProcess, recorder: Recorder): ScheduleStore {
  const write = writerOf(process, recorder);
  const row = ({ queue, name }: { readonly queue: string; readonly name: string }): string =>
    scheduleKey(queue, name).pk;
  return {
    ...store,
    put: (definition, nextAt, observed, stamp) =>
      write({ verb: 'schedule.put', row: row(definition), nonce: stamp.nonce }, () =>
        store.put(definition, nextAt, observed, stamp),
      ),
    pause: (observed, to, stamp) =>
      write({ verb: 'schedule.pause', row: row(observed), nonce: stamp.nonce }, () => store.pause(observed, to, stamp)),
    remove: (observed, stamp) =>
      write({ verb: 'schedule.remove', row: row(observed), nonce: stamp.nonce }, () => store.remove(observed, stamp)),
    advance: (observed, step, stamp) =>
      write({ verb: 'schedule.advance', row: row(observed), nonce: stamp.nonce }, () =>
        store.advance(observed, step, stamp),
      ),
    makeSlot: async (observed, task, step, stamp) => {
      const made = await write({ verb: 'schedule.make', row: row(observed), nonce: stamp.nonce }, async () => {
        const outcome = await store.makeSlot(observed, task, step, stamp);
        return { kind: outcome.kind === 'made' ? 'applied' : 'canceled', outcome } as const;
      });
      return made.outcome;
    },
    // The outcome of each write is not reported: the next dispatcher checks the rows.
    stopEarlier: async (schedule, at, reason, runtime) => {
      const over = Promise.withResolvers<never>();
      over.promise.catch(() => {}); // perhaps no write waits for it
      const calls: Promise<unknown>[] = [];
      const unique = (): string => {
        const nonce = runtime.ids.unique();
        calls.push(write({ verb: 'task.cancel', row: row(schedule), nonce }, () => over.promise).catch(() => {}));
        return nonce;
      };
      const ids = { unique, ordered: () => runtime.ids.ordered() };
      try {
        await store.stopEarlier(schedule, at, reason, { ...runtime, ids });
      } finally {
        over.reject(new StoreUnavailableError('not told', { applied: 'unknown' }));
        await Promise.all(calls);
      }
    },
  };
}

export function observeSlots(store: SlotStore, process: SimulatedProcess, recorder: Recorder): SlotStore {
  const write = writerOf(process, recorder);
  return {
    ...store,
    take: (tick, taking) =>
      write({ verb: 'slot.take', row: slotKey(tick.schedule, tick.slot).pk, nonce: taking.nonce }, () =>
        store.take(tick, taking),
      ),
  };
}

export function observeQueues(store: QueueStore, process: SimulatedProcess, recorder: Recorder): QueueStore {
  const write = writerOf(process, recorder);
  return {
    ...store,
    change: (queue, observed, to, stamp) =>
      write({ verb: 'queue.change', row: queueKey(queue).pk, nonce: stamp.nonce }, () =>
        store.change(queue, observed, to, stamp),
      ),
    noteUse: (queue, observed, use, stamp) =>
      write({ verb: 'queue.noteUse', row: queueKey(queue).pk, nonce: stamp.nonce }, () =>
        store.noteUse(queue, observed, use, stamp),
      ),
    announceNames: (queue, observed, names, stamp, limits) =>
      write({ verb: 'queue.announceNames', row: queueKey(queue).pk, nonce: stamp.nonce }, () =>
        store.announceNames(queue, observed, names, stamp, limits),
      ),
    noteHints: (queue, hints, stamp, limits) =>
      write({ verb: 'queue.noteHints', row: queueKey(queue).pk, nonce: stamp.nonce }, () =>
        store.noteHints(queue, hints, stamp, limits),
      ),
    noteStarts: (queue, observed, starts, stamp) =>
      write({ verb: 'queue.noteStarts', row: queueKey(queue).pk, nonce: stamp.nonce }, () =>
        store.noteStarts(queue, observed, starts, stamp),
      ),
  };
}
