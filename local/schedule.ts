/**
 * A schedule on a laptop, with the habits of EventBridge Scheduler: every slot at least once, sometimes twice, sometimes late.
 *
 * - The first slot is the moment it starts; the others follow at the rate, by the wall clock.
 * - A delivery that is refused is tried again until it is taken or the schedule stops.
 * - A machine that slept through several slots gets the latest one: like on AWS, the past is not made up for.
 * - `duplicateRate`, `lateMs` and `missRate` make the rare frequent, so that a demonstration or a test meets it.
 *
 * The receiver of the event must be ready for all of that; the slot names the tick, so that its twin can be told.
 * @see https://docs.aws.amazon.com/scheduler/latest/UserGuide/what-is-scheduler.html
 */
import { ConfigurationError } from '../shared/errors.ts';
import type { Clock } from '../shared/runtime/clock.ts';
import type { Random } from '../shared/runtime/random.ts';
import { fullJitterMs } from '../shared/runtime/random.ts';

export interface ScheduleEvent {
  readonly schedule: string;
  /** The time for which this tick was scheduled, ISO 8601: the same in every delivery of it. */
  readonly slot: string;
}

export interface ScheduleOptions {
  readonly name: string;
  readonly everyMs: number;
  readonly clock: Clock;
  readonly random: Random;
  /** An asynchronous invocation: resolves when the event is accepted, rejects when it must be offered again. */
  readonly deliver: (event: ScheduleEvent) => Promise<unknown>;
  /** How many of the slots are delivered twice: half of those at the same time, half shortly after. */
  readonly duplicateRate?: number;
  /** How many of the slots are not delivered at all, as after an outage of a day. */
  readonly missRate?: number;
  /** Every delivery is late by up to this. */
  readonly lateMs?: number;
  /** Told of every refusal before it is tried again. */
  readonly onRefused?: (event: ScheduleEvent, error: unknown) => void;
}

export interface Schedule {
  /** No further slot; resolves when nothing is being delivered any more. */
  stop(): Promise<void>;
}

const RETRY_BACKOFF = { baseMs: 100, capMs: 10_000 };
/** Duplicates of EventBridge arrive close together; one that came a whole interval later would be another slot to most eyes. */
const TWIN_WITHIN_MS = 2_000;

/** @throws ConfigurationError when the rate or one of the shares makes no sense */
export function startSchedule(options: ScheduleOptions): Schedule {
  validate(options);
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
    // Timers may fire a moment early, and then the slot is still the old one.
    if (dueAt !== latest) {
      latest = dueAt;
      const event = { schedule: name, slot: new Date(dueAt).toISOString() };
      for (const delayMs of planDeliveries(options)) begin(deliverAfter(delayMs, event, options, signal));
    }
    await clock.sleep(dueAt + everyMs - now, signal);
  }
}

/** How long after its slot each delivery is made: usually one, at once. */
function planDeliveries(options: ScheduleOptions): readonly number[] {
  const { random, everyMs, duplicateRate = 0, missRate = 0, lateMs = 0 } = options;
  if (random.next() < missRate) return [];
  const delayMs = Math.floor(random.next() * lateMs);
  if (random.next() >= duplicateRate) return [delayMs];
  const isConcurrent = random.next() < 0.5;
  const twinAfterMs = isConcurrent ? 0 : Math.ceil(random.next() * Math.min(everyMs / 2, TWIN_WITHIN_MS));
  return [delayMs, delayMs + twinAfterMs];
}

async function deliverAfter(
  delayMs: number,
  event: ScheduleEvent,
  options: ScheduleOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, deliver, onRefused } = options;
  if (delayMs > 0) await clock.sleep(delayMs, signal);
  for (let attempt = 1; !signal.aborted; attempt++) {
    try {
      await deliver(event);
      return;
    } catch (error) {
      onRefused?.(event, error);
      await clock.sleep(fullJitterMs(random, RETRY_BACKOFF, attempt), signal);
    }
  }
}

function validate({ name, everyMs, duplicateRate = 0, missRate = 0, lateMs = 0 }: ScheduleOptions): void {
  const refuse = (what: string): never => {
    throw new ConfigurationError(`schedule ${name}: ${what}`);
  };
  if (!(Number.isFinite(everyMs) && everyMs > 0)) refuse(`everyMs must be above 0, got ${everyMs}`);
  if (!(lateMs >= 0)) refuse(`lateMs must be 0 or more, got ${lateMs}`);
  for (const [setting, share] of Object.entries({ duplicateRate, missRate })) {
    if (!(0 <= share && share <= 1)) refuse(`${setting} must be between 0 and 1, got ${share}`);
  }
}
