/**
 * Blocking queries: `index` and `wait`.
 *
 * A query with an index is answered when the result no longer matches that index, or when its wait times out.
 * Consul waits 5 minutes by default and 10 at most, and adds up to a sixteenth so that simultaneous queries do not return together.
 */
import { pollUntil } from '../../shared/core/wait/poll-until.ts';
import type { Exchange } from './exchange.ts';
import { parseGoDuration } from './go-duration.ts';
import type { Snapshot } from './polls.ts';
import { isSame } from './prefix-index.ts';
import { badRequest } from './problem.ts';

interface Blocking {
  /** 0: do not wait. */
  readonly index: number;
  readonly waitMs: number;
}

const DEFAULT_WAIT_MS = 300_000;
const MAX_WAIT_MS = 600_000;
const JITTER_FRACTION = 16;

/** @throws Problem 400 */
export function blockingOf({ query, gateway }: Exchange): Blocking {
  const wait = query.get('wait') ?? '';
  const asked = wait === '' ? 0 : parseGoDuration(wait);
  if (asked === undefined) throw badRequest('Invalid wait time');
  const index = query.get('index') ?? '';
  if (!/^\d{0,20}$/.test(index)) throw badRequest('Invalid index');
  // Zero and less cannot have been meant as a wait.
  const waitMs = asked <= 0 ? DEFAULT_WAIT_MS : Math.min(asked, MAX_WAIT_MS);
  const jitterMs = (waitMs / JITTER_FRACTION) * gateway.runtime.random.next();
  return {
    // An index beyond a number never came from here, and is waited out.
    index: Math.min(Number(index), Number.MAX_SAFE_INTEGER),
    waitMs: Math.ceil(Math.min(waitMs + jitterMs, gateway.settings.maxWaitMs)),
  };
}

/** Runs a wait that ends by itself. @throws Problem 429 if too many wait already */
export async function counted<T>(exchange: Exchange, wait: () => Promise<T>): Promise<T> {
  const end = exchange.gateway.waits.begin(exchange);
  try {
    return await wait();
  } finally {
    end();
  }
}

/** Runs a wait that ends with its time. @throws Problem 429 if too many wait already */
export async function within<T>(
  exchange: Exchange,
  waitMs: number,
  wait: (over: AbortSignal) => Promise<T>,
): Promise<T> {
  const { gateway, signal } = exchange;
  const late = new AbortController();
  const finished = new AbortController();
  void gateway.runtime.clock.sleep(waitMs, finished.signal).then(() => late.abort());
  try {
    return await counted(exchange, () => wait(AbortSignal.any([late.signal, signal])));
  } finally {
    finished.abort();
  }
}

/** A query that may block, for results without a clock. @param what names the result among all polled results */
export async function blockingRead<T>(
  exchange: Exchange,
  what: string,
  read: () => Promise<Snapshot<T>>,
): Promise<{ readonly value: T; readonly index: number }> {
  const { gateway } = exchange;
  const { index: asked, waitMs } = blockingOf(exchange);
  const isNews = (seen: Snapshot<T>): boolean => !isSame(asked, seen);
  const inTurn = (): Promise<Snapshot<T>> => gateway.polls.inTurn(read);
  const next = (isOurs: typeof isNews, over: AbortSignal) => gateway.polls.next(what, inTurn, isOurs, over);
  const seen =
    asked === 0
      ? await inTurn()
      : await within(exchange, waitMs, (over) => pollUntil({ read: inTurn, isNews, next }, over));
  return { value: seen.value, index: gateway.indexes.indexOf(what, seen, asked) };
}
