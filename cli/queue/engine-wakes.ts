/** Tells a worker which tasks of its queue were just enqueued, where the table is on an engine of this machine. */
import { followTable } from '../../local/table-stream.ts';
import { insertedTasks } from '../../shared/dynamo/inserted.ts';
import { isLoopback } from '../../shared/dynamo/connect.ts';
import type { WorkerPorts } from '../../shared/worker/worker.ts';
import type { Context } from '../context.ts';

type OnEnqueued = NonNullable<WorkerPorts['onEnqueued']>;

/** Undefined for any other table: AWS asks for each read of its stream, and leaves it to two readers, which wakers are. */
export function engineWakes({ settings, runtime }: Context, queue: string): OnEnqueued | undefined {
  const { endpoint, table } = settings;
  if (endpoint === undefined || !isLoopback(endpoint)) return undefined;
  return (listener) => {
    const stop = new AbortController();
    const tell = (records: Parameters<typeof insertedTasks>[0]): void => {
      const ids = insertedTasks(records).get(queue);
      if (ids !== undefined) listener(ids);
    };
    void followTable({ endpoint, table, clock: runtime.clock }, tell, stop.signal);
    return () => {
      stop.abort();
    };
  };
}
