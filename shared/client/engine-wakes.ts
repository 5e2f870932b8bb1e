/** Announces just enqueued tasks of a queue to a worker, if the table is on an engine of this machine. */
import type { Clock } from '../core/runtime/clock.ts';
import type { WorkerPorts } from '../tasks/worker/run-worker.ts';
import { isLoopback } from '../dynamo/wire/endpoint.ts';
import { insertedTasks } from '../dynamo/inserted.ts';
import { followTable } from '../dynamo/table-stream.ts';

type OnEnqueued = NonNullable<WorkerPorts['onEnqueued']>;

interface WakingTable {
  readonly endpoint?: string | undefined;
  readonly table: string;
  readonly clock: Clock;
}

/** Returns undefined for any other table: AWS charges for each read of a stream, and allows two readers, which the wakers use. */
export function engineWakes({ endpoint, table, clock }: WakingTable, queue: string): OnEnqueued | undefined {
  if (endpoint === undefined || !isLoopback(endpoint)) return undefined;
  return (listener) => {
    const stop = new AbortController();
    const tell = (records: Parameters<typeof insertedTasks>[0]): void => {
      const ids = insertedTasks(records).get(queue);
      if (ids !== undefined) listener(ids);
    };
    void followTable({ endpoint, table, clock }, tell, stop.signal);
    return () => stop.abort();
  };
}
