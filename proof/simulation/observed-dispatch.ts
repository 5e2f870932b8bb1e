/** The ports of dispatchers and operators that are about whole queues, with every write on record. */
import { StoreUnavailableError } from '../../shared/core/errors.ts';
import type { Stamp } from '../../shared/core/lease/write.ts';
import { queueKey, scheduleKey, tickKey } from '../../shared/dynamo/engine/keys.ts';
import type { TickStore } from '../../shared/tasks/dispatch/tick-store.ts';
import type { QueueStore } from '../../shared/tasks/task/queue-store.ts';
import type { ScheduleStore } from '../../shared/tasks/schedule/schedule.ts';
import type { SimulatedProcess } from '../../test/support/machines/process.ts';
import { recording, writerOf } from './observed-stores.ts';
import type { Call, Recorder } from './recorder.ts';

type Named = Parameters<ScheduleStore['get']>[0];

const observeWrites = recording<ScheduleStore>({
  put: (definition, _nextAt, _observed, stamp) => ofSchedule('schedule.put', definition, stamp),
  pause: (observed, _to, stamp) => ofSchedule('schedule.pause', observed, stamp),
  remove: (observed, stamp) => ofSchedule('schedule.remove', observed, stamp),
  advance: (observed, _step, stamp) => ofSchedule('schedule.advance', observed, stamp),
});

export function observeSchedules(store: ScheduleStore, process: SimulatedProcess, recorder: Recorder): ScheduleStore {
  const write = writerOf(process, recorder);
  return {
    ...observeWrites(store, process, recorder),
    makeOccurrence: async (observed, task, step, stamp) => {
      const made = await write(ofSchedule('schedule.make', observed, stamp), async () => {
        const outcome = await store.makeOccurrence(observed, task, step, stamp);
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
        calls.push(write(ofSchedule('task.cancel', schedule, { nonce }), () => over.promise).catch(() => {}));
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

function ofSchedule(verb: string, { queue, name }: Named, { nonce }: Pick<Stamp, 'nonce'>): Call {
  return { verb, row: scheduleKey(queue, name).pk, nonce };
}

export const observeTicks = recording<TickStore>({
  take: ({ schedule, scheduledTime }, { nonce }) => ({
    verb: 'tick.take',
    row: tickKey(schedule, scheduledTime).pk,
    nonce,
  }),
});

export const observeQueues = recording<QueueStore>({
  change: (queue, _observed, _to, stamp) => ofQueue('queue.change', queue, stamp),
  noteUse: (queue, _observed, _use, stamp) => ofQueue('queue.noteUse', queue, stamp),
  announceNames: (queue, _observed, _names, stamp) => ofQueue('queue.announceNames', queue, stamp),
  noteHints: (queue, _hints, stamp) => ofQueue('queue.noteHints', queue, stamp),
  noteStarts: (queue, _observed, _starts, stamp) => ofQueue('queue.noteStarts', queue, stamp),
});

function ofQueue(verb: string, queue: string, { nonce }: Stamp): Call {
  return { verb, row: queueKey(queue).pk, nonce };
}
