/**
 * A schedule on a laptop, with the properties of EventBridge Scheduler: every tick at least once, sometimes twice.
 *
 * - The first tick is the moment it starts; the others follow at the rate, by the wall clock.
 * - A refused delivery is retried until it succeeds or the schedule stops.
 * - A machine that slept through several ticks gets the latest one. As on AWS, missed ticks are not made up for.
 * - `duplicateRate` makes rare duplicates frequent, for demonstrations and tests.
 *
 * The receiver must accept all of that; the scheduled time names the tick, so that a duplicate can be recognised.
 * @see https://docs.aws.amazon.com/scheduler/latest/UserGuide/what-is-scheduler.html
 */
import type { Clock } from '../../shared/core/runtime/clock.ts';
import type { Random } from '../../shared/core/runtime/random.ts';
import { fullJitterMs } from '../../shared/core/runtime/random.ts';

export interface ScheduleEvent {
  readonly schedule: string;
  /** The time for which this tick was scheduled, ISO 8601: the same in every delivery of it. */
  readonly scheduledTime: string;
}

export interface ScheduleOptions {
  readonly name: string;
  readonly everyMs: number;
  readonly clock: Clock;
  readonly random: Random;
  /** An asynchronous invocation: resolves when the event is accepted, rejects when it must be offered again. */
  readonly deliver: (event: ScheduleEvent) => Promise<unknown>;
  /** How many of the ticks are delivered twice: half of those at the same time, half shortly after. */
  readonly duplicateRate?: number;
}

export interface Schedule {
  /** Stops further ticks; resolves when no delivery is in flight. */
  stop(): Promise<void>;
}

const RETRY_BACKOFF = { baseMs: 100, capMs: 10_000 };
/** Duplicates of EventBridge arrive close together; one that came a whole interval later would be another tick. */
const TWIN_WITHIN_MS = 2_000;

export function startSchedule(options: ScheduleOptions): Schedule {
  const stopping = new AbortController();
  const deliveries = new Set<Promise<void>>();
  const begin = (delivery: Promise<void>): void => {
    deliveries.add(delivery);
    void delivery.finally(() => {
      deliveries.delete(delivery);
    });
  };
  const ticking = tick(options, begin, stopping.signal);
  return {
    async stop() {
      stopping.abort();
      await ticking;
      await Promise.all(deliveries);
    },
  };
}

async function tick(
  options: ScheduleOptions,
  begin: (delivery: Promise<void>) => void,
  signal: AbortSignal,
): Promise<void> {
  const { clock, everyMs, name } = options;
  const firstAt = clock.now();
  let latest: number | undefined;
  while (!signal.aborted) {
    const now = clock.now();
    const dueAt = firstAt + Math.floor((now - firstAt) / everyMs) * everyMs;
    // Timers may fire a moment early, and then the scheduled time is still the old one.
    if (dueAt !== latest) {
      latest = dueAt;
      const event = { schedule: name, scheduledTime: new Date(dueAt).toISOString() };
      for (const delayMs of planDeliveries(options)) begin(deliverAfter(delayMs, event, options, signal));
    }
    await clock.sleep(dueAt + everyMs - now, signal);
  }
}

/** How long after its scheduled time each delivery is made: usually one, at once. */
function planDeliveries(options: ScheduleOptions): readonly number[] {
  const { random, everyMs, duplicateRate = 0 } = options;
  if (random.next() >= duplicateRate) return [0];
  const isConcurrent = random.next() < 0.5;
  return [0, isConcurrent ? 0 : Math.ceil(random.next() * Math.min(everyMs / 2, TWIN_WITHIN_MS))];
}

async function deliverAfter(
  delayMs: number,
  event: ScheduleEvent,
  options: ScheduleOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, deliver } = options;
  if (delayMs > 0) await clock.sleep(delayMs, signal);
  for (let attempt = 1; !signal.aborted; attempt++) {
    try {
      await deliver(event);
      return;
    } catch {
      // A refusal loses nothing: the event is offered again.
      await clock.sleep(fullJitterMs(random, RETRY_BACKOFF, attempt), signal);
    }
  }
}
