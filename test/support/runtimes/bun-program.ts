/**
 * Isolates in Bun: the main thread starts a worker of this same program for each, and passes errands on from lines of its input.
 * Each worker is a separate virtual machine, with `leasehold` and its driver over `node:http`.
 */
import { createInterface } from 'node:readline';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { connectDynamo } from '../../../shared/dynamo/connect.ts';
import { createLeasehold } from '../../../shared/client/leasehold.ts';
import { systemRuntime } from '../../../shared/core/runtime/runtime.ts';
import type { Errand } from './scenario.ts';
import { perform } from './scenario.ts';

/** A line of the input; without an errand, the isolate is killed. */
export interface Order {
  readonly id: number;
  readonly isolate: number;
  readonly errand?: Errand;
}

/** A line of the output. */
export interface Reply {
  readonly id: number;
  readonly answer?: unknown;
  readonly error?: string | undefined;
}

if (isMainThread) passOn();
else serve(workerData as { readonly table: string; readonly endpoint: string });

function passOn(): void {
  const [table, endpoint] = process.argv.slice(2);
  const workers = new Map<number, Worker>();
  const say = (reply: Reply): void => {
    process.stdout.write(`${JSON.stringify(reply)}\n`);
  };
  const workerOf = (isolate: number): Worker => {
    const known = workers.get(isolate);
    if (known !== undefined) return known;
    const made = new Worker(new URL(import.meta.url), { workerData: { table, endpoint } });
    made.on('message', say);
    workers.set(isolate, made);
    return made;
  };
  createInterface(process.stdin)
    .on('line', (line) => {
      const order = JSON.parse(line) as Order;
      if (order.errand !== undefined) workerOf(order.isolate).postMessage(order);
      else
        void Promise.resolve(workers.get(order.isolate)?.terminate()).then(() => say({ id: order.id, answer: null }));
    })
    .on('close', () => process.exit());
}

function serve({ table, endpoint }: { readonly table: string; readonly endpoint: string }): void {
  const leasehold = createLeasehold({ table, endpoint });
  const { driver } = connectDynamo({ endpoint }, systemRuntime);
  const { signal } = new AbortController();
  parentPort?.on('message', ({ id, errand }: Required<Order>) => {
    perform(errand, leasehold, (write) => driver.attempt('update', write, signal)).then(
      (answer) => parentPort?.postMessage({ id, answer } satisfies Reply),
      (error: unknown) => parentPort?.postMessage({ id, error: (error as Error).stack } satisfies Reply),
    );
  });
}
