/**
 * A worker at the edge: a shop's front door, which gives quotes.
 * It limits each caller, enqueues the work where the workers are, and waits a moment for its result.
 *
 * It needs the web's globals and nothing else. `main.ts` calls it as an edge runtime would, and `test/e2e/edge` has workerd do so.
 */
import type { EdgeLeasehold, TemporaryCredentials } from 'leasehold/edge';
import { createLeasehold } from 'leasehold/edge';

/** The platform's arguments of the worker, in addition to the request. */
export interface Env {
  readonly TABLE: string;
  readonly REGION: string;
  /** Absent: DynamoDB's own. */
  readonly ENDPOINT?: string;
  readonly QUEUE?: string;
  /** Where credentials are handed out, and the secret that this worker shows there: see `docs/edge.md`. */
  readonly CREDENTIALS_URL: string;
  readonly CREDENTIALS_SECRET: string;
}

/** The limit of one caller. */
export const RATE = { rate: 3, per: '1h', burst: 3 } as const;
const RATE_PER_CALLER = 'quotes';
/** How long a person may wait for a page. */
const WAIT = '5s';

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const leasehold = open(env);
    const caller = request.headers.get('x-caller') ?? 'unknown';
    const take = await leasehold.rateLimiter(RATE_PER_CALLER, RATE).tryTake(caller);
    if (take.kind === 'limited') {
      const seconds = String(Math.ceil(take.waitMs / 1_000));
      return new Response('too many quotes, come back later\n', { status: 429, headers: { 'retry-after': seconds } });
    }
    const { id } = await leasehold.tasks.enqueue('quote', await request.json());
    const outcome = await leasehold.tasks.result(id, { wait: WAIT });
    switch (outcome.kind) {
      case 'done':
        return Response.json({ id, quote: outcome.result });
      case 'deadline':
        // It will be done: the caller may ask again by its id.
        return Response.json({ id }, { status: 202 });
      case 'dead':
      case 'cancelled':
        return Response.json({ id, ended: outcome.kind }, { status: 502 });
    }
  },
};

/** One per request; the isolate still keeps the credentials. */
function open({ TABLE: table, REGION: region, ENDPOINT: endpoint, QUEUE: queue, ...vendor }: Env): EdgeLeasehold {
  return createLeasehold({ table, region, endpoint, queue, credentials: providerOf(vendor) });
}

type Vendor = Pick<Env, 'CREDENTIALS_URL' | 'CREDENTIALS_SECRET'>;
type Provider = () => Promise<TemporaryCredentials>;

/** One per vendor, because a provider's credentials are kept as long as the provider. */
const providers = new Map<string, Provider>();

function providerOf({ CREDENTIALS_URL: url, CREDENTIALS_SECRET: secret }: Vendor): Provider {
  const known = providers.get(url);
  if (known !== undefined) return known;
  const provider: Provider = async () => {
    const response = await fetch(url, { headers: { authorization: `Bearer ${secret}` } });
    if (!response.ok) throw new Error(`${url} answered ${response.status}`);
    return (await response.json()) as TemporaryCredentials;
  };
  providers.set(url, provider);
  return provider;
}
