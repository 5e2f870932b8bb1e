import { validName, validOptions } from '../../core/validate/options.ts';
import type { Outcome } from '../../core/lease/write.ts';
import type { SkewGauge } from '../../core/lease/skew.ts';
import { ensureClockWithin } from '../../core/lease/skew.ts';
import { stampOf } from '../../core/lease/write.ts';
import type { WaitOptions } from '../../core/wait/wait.ts';
import type { WaiterQueue } from '../../core/wait/waiter-queue.ts';
import { waitFor } from '../../core/wait/wait.ts';
import type { Contended } from '../../core/wait/retry-contended.ts';
import { contended, retryContended } from '../../core/wait/retry-contended.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { Bucket, RateOptions } from './bucket.ts';
import { bucketOf, drawOf, tokensIn } from './bucket.ts';
import type { BucketKey, BucketRecord, RateLimitStore } from './ratelimit-store.ts';

export interface TakeOptions {
  /** Number of tokens. Default: 1. */
  readonly tokens?: number | undefined;
}

const TAKE_OPTIONS = ['tokens'] as const;

export type Take =
  /** `remaining`: whole tokens left. */
  | { readonly kind: 'taken'; readonly remaining: number }
  /** Refused. `until`: when the bucket will have enough by our clock if no other caller takes. */
  | { readonly kind: 'limited'; readonly waitMs: number; readonly until: number };

/** `at`: the moment of the tokens by our clock. */
type Drawn = (Extract<Take, { readonly kind: 'taken' }> & { readonly at: number }) | Extract<Take, { kind: 'limited' }>;

/** The result that makes a waiter of this process wait. */
export type Limited = Extract<Take, { readonly kind: 'limited' }>;

export interface RateLimitPorts {
  readonly buckets: RateLimitStore;
  readonly runtime: Runtime;
  readonly gauge: SkewGauge;
  /** Queue of this process's callers that wait for tokens. Without it, each caller polls for itself. */
  readonly line?: WaiterQueue<Limited> | undefined;
}

/** The time of the next poll is always known: these are the pauses while the store is unavailable. */
const PAUSES = { firstMs: 250, longestMs: 2_000 };
/** Waiters of many processes spread over a quarter of the time of their tokens, because in a longer time a small bucket would overflow. */
const SPREAD = { share: 0.25, longestMs: 100 };

/** A take of at most this much time reserves the moment of its tokens. A larger one would make the small ones behind it wait for long. */
const RESERVED_COST_MS = 1_000;
const LONGEST_RESERVATION_MS = 86_400_000;

/** Limits how many tokens of one name all processes together take per period. */
export class RateLimiter {
  readonly name: string;
  readonly #bucket: Bucket;
  readonly #ports: RateLimitPorts;
  readonly #maxClockSkewMs: number;

  /** @throws ConfigurationError */
  constructor(name: string, rate: RateOptions, ports: RateLimitPorts, options: { readonly maxClockSkewMs: number }) {
    this.name = validName('rate limit', name);
    this.#bucket = bucketOf(`rate limit ${name}`, rate);
    this.#ports = ports;
    this.#maxClockSkewMs = options.maxClockSkewMs;
  }

  /**
   * Takes tokens if there are enough.
   * @throws ConfigurationError when the bucket can never hold that many
   * @throws ClockSkewError when our clock is proven too wrong to calculate a refill
   */
  async tryTake(key: string, options: TakeOptions = {}): Promise<Take> {
    const { tokens = 1 } = validOptions(`the options of ${this.#describe(key)}`, options, TAKE_OPTIONS);
    const drawn = await this.#draw(key, tokens, 0);
    return drawn.kind === 'taken' ? { kind: 'taken', remaining: drawn.remaining } : drawn;
  }

  /** @param aheadMs how long before its tokens are in the bucket a take may come: it has them reserved, and waits until `at` */
  async #draw(key: string, tokens: number, aheadMs: number): Promise<Drawn> {
    const { buckets, runtime, gauge } = this.#ports;
    const bucket = this.#keyOf(key);
    let isFull = false;
    return retryContended(this.#describe(key), runtime, async (): Promise<Drawn | Contended> => {
      ensureClockWithin(gauge, this.#maxClockSkewMs);
      const stamp = stampOf(runtime);
      const now = drawOf(this.#describe(key), this.#bucket, tokens, stamp.now);
      const draw = { ...now, enoughSince: now.enoughSince + aheadMs };
      const outcome: Outcome<BucketRecord> = await (isFull
        ? buckets.takeFromFull(bucket, draw, stamp)
        : buckets.take(bucket, draw, stamp));
      if (outcome.kind === 'applied')
        return {
          kind: 'taken',
          remaining: tokensIn(this.#bucket, outcome.row.emptyAt, stamp.now),
          at: Math.ceil(outcome.row.emptyAt),
        };
      const found: BucketRecord | undefined = outcome.current;
      isFull = found === undefined || found.emptyAt < draw.fullSince;
      if (found !== undefined && found.emptyAt > draw.enoughSince) {
        const until = Math.ceil(found.emptyAt + draw.costMs);
        return { kind: 'limited', waitMs: Math.max(0, until - runtime.clock.now()), until };
      }
      return contended(outcome);
    });
  }

  /**
   * Takes tokens; waits for them if necessary, and for an unavailable store.
   * Returns `limited` at once if they cannot be available within `wait`.
   * If a response is lost, the take may have taken tokens, and is retried: the limit holds, but those tokens are gone.
   * One that needs at most a second of the rate reserves its tokens, and waits for their moment: callers are served in the order of their
   * writes. If it stops waiting, its tokens are gone. A larger one polls; waiting callers of one process queue up for each number of
   * tokens.
   * @throws the reason of `signal`; and as `tryTake`
   */
  async take(key: string, options: TakeOptions & Pick<WaitOptions, 'wait' | 'signal'> = {}): Promise<Take> {
    const known = [...TAKE_OPTIONS, 'wait', 'signal'] as const;
    const { tokens = 1 } = validOptions(`the options of ${this.#describe(key)}`, options, known);
    const { line, runtime } = this.#ports;
    const place = this.#placeOf(key, tokens);
    const { costMs } = drawOf(this.#describe(key), this.#bucket, tokens, 0);
    const aheadMs = costMs <= RESERVED_COST_MS ? LONGEST_RESERVATION_MS : 0;
    const waited = await waitFor<Drawn, Limited>(
      async ({ remainingMs }) => {
        const take = await this.#draw(key, tokens, Math.min(aheadMs, remainingMs));
        if (take.kind === 'taken' || take.waitMs > remainingMs) return { kind: 'found', found: take };
        return { kind: 'blocked', by: take, until: take.until, isClosed: true };
      },
      {
        options,
        pauses: { ...PAUSES, spreadMs: Math.min(SPREAD.longestMs, costMs * SPREAD.share) },
        line: line && { turns: line, readsFirst: true, ...place },
      },
      runtime,
    );
    if (waited.kind === 'found') return this.#awaited(waited.found, options.signal);
    const { until } = waited.by;
    return { kind: 'limited', waitMs: Math.max(0, until - runtime.clock.now()), until };
  }

  /** Waits for the moment of reserved tokens. */
  async #awaited(drawn: Drawn, signal: AbortSignal | undefined): Promise<Take> {
    if (drawn.kind === 'limited') return drawn;
    const { clock } = this.#ports.runtime;
    const waitMs = drawn.at - clock.now();
    if (waitMs > 0) await clock.sleep(waitMs, signal);
    signal?.throwIfAborted();
    return { kind: 'taken', remaining: drawn.remaining };
  }

  /** Callers that want the same number of tokens of the same bucket, at the same rate, share a queue. */
  #placeOf(key: string, tokens: number): { readonly key: string; readonly kind: string } {
    const { msPerToken, burst } = this.#bucket;
    return {
      key: JSON.stringify(Object.values(this.#keyOf(key))),
      kind: `${tokens} of ${burst}, ${msPerToken} ms each`,
    };
  }

  /** Returns how many whole tokens are in the bucket now. */
  async get(key: string): Promise<number> {
    const row = await this.#ports.buckets.get(this.#keyOf(key));
    return tokensIn(this.#bucket, row?.emptyAt, this.#ports.runtime.clock.now());
  }

  #keyOf(key: string): BucketKey {
    return { name: this.name, key: validName(`key of rate limit ${this.name}`, key) };
  }

  #describe(key: string): string {
    return `rate limit ${this.name} of ${key}`;
  }
}
