/** The program in each isolate of workerd: one errand per request. */
import { createLeasehold } from '../../../api/edge.ts';
import { createFetchDriver } from '../../../shared/dynamo/wire/fetch-driver.ts';
import { systemRuntime } from '../../../shared/core/runtime/runtime.ts';
import type { Errand } from './scenario.ts';
import { perform } from './scenario.ts';

interface Env {
  readonly TABLE: string;
  readonly ENDPOINT: string;
  /** Where writes behind a fence go; absent: the same. */
  readonly STORE?: string;
}

const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
const region = 'us-east-1';

export default {
  async fetch(request: Request, { TABLE: table, ENDPOINT: endpoint, STORE: store = endpoint }: Env): Promise<Response> {
    const errand = (await request.json()) as Errand;
    const leasehold = createLeasehold({ table, region, endpoint, credentials });
    const driver = createFetchDriver({
      runtime: systemRuntime,
      endpoint: store,
      region,
      credentials,
      fetch: (...call) => fetch(...call),
      maxInFlight: 6,
      maxRequests: Infinity,
      onResponse: () => undefined,
    });
    const { signal } = new AbortController();
    try {
      const answer = await perform(errand, leasehold, (write) => driver.attempt('update', write, signal));
      // A request that stays open keeps its timers, and with them the heartbeat of what it holds.
      return errand.kind === 'hold' && request.headers.has('stay') ? lasting(answer) : Response.json(answer);
    } catch (error) {
      return new Response((error as Error).stack, { status: 500 });
    }
  },
};

function lasting(answer: unknown): Response {
  return new Response(
    new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(JSON.stringify(answer)));
      },
    }),
  );
}
