/** Much at once: a backlog, bursts, or tasks of one key, rate or tenant that may only run one by one, and others that come behind them. */
import type { EnqueueOptions } from '../../../shared/tasks/queue/task-client.ts';
import type { FloodOf } from '../profile.ts';
import type { ProducerPorts } from './producer.ts';
import { enqueue } from './producer.ts';

/** Those that cannot all run within a history are not waited for at its end. */
export const STAYS = 'flood-';

/** Enqueued side by side. */
const AT_ONCE = 25;
/** Mean time between bursts, and how long the tasks of one take, beyond their steps. */
const BURST_EVERY_MS = 12_000;
/** All tasks of a burst together: the smallest fleet is done with it before many more have come. */
const BURST_WORK_MS = 90_000;
/** Upper bound for the steps of a slow task, in TTLs. */
const STEPS_OF_TTL = 2.4;
/** The backlog begins to come in the first five seconds. */
const BEHIND_BACKLOG_MS = 6_000;
/** A relay that never ends would use most of a history. */
const RELAY_MS = 60_000;
const BURST_MS = [0, 0, 0, 1_000, 20_000, 60_000] as const;
const KINDS = ['quick', 'quick', 'slow', 'commits', 'progresses', 'snoozes', 'hasty'] as const;
/** Some of them end in other ways than well, and the place of their key must go to the next. */
const KINDS_OF_KEY = ['quick', 'quick', 'quick', 'commits', 'refuses', 'poison'] as const;

/** What a feed has in common that is due later, and how much later at most. */
const FED_LATER: readonly EnqueueOptions[] = [{}, { tenant: 'minnow' }, { key: 'shoal', ordered: true }];
const LATEST_MS = 10_000;

const COMMON: Readonly<Record<FloodOf, EnqueueOptions>> = {
  nothing: {},
  key: { key: 'flood', limit: 1 },
  rate: { key: 'flood', limit: 1, rate: { count: 1, per: 3_600_000 } },
  tenant: { tenant: 'whale' },
};

/** The flood itself: what its key or rate holds back takes long, the rest is quick. */
export async function produceFlood(ports: ProducerPorts): Promise<void> {
  const { process, profile, prng, half } = ports;
  const { floodOf, floodTasks, ttlMs } = profile;
  const isHeldBack = floodOf === 'key' || floodOf === 'rate';
  await process.runtime.clock.sleep(prng.between(0, 5_000));
  const kind = isHeldBack ? 'slow' : 'quick';
  for (let first = 0; first < floodTasks; first += AT_ONCE)
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, floodTasks - first) }, (_, index) => {
        const id = `${isHeldBack ? STAYS : 'backlog-'}${first + index}`;
        const input = { kind, half, ...(isHeldBack ? { ms: 10 * ttlMs } : {}) };
        return enqueue(ports, kind, { id, input, ...COMMON[floodOf] });
      }),
    );
  ports.seen(`flood of ${floodOf}`);
}

/** Enqueues an occasional task that is unrelated to the flood, until time is called. */
export async function produceSteadily(ports: ProducerPorts, isOver: () => boolean): Promise<void> {
  const { process, profile, prng, half } = ports;
  const name = process.name.replace('.', '-');
  for (let count = 1; !isOver(); count++) {
    await process.runtime.clock.sleep(prng.exponential(profile.feedEveryMs));
    // Only a dispatcher, or an idle worker, unparks what a crash leaves behind.
    const isOfKey = profile.lone && profile.dispatches && prng.chance(0.4);
    const kind = prng.pick(isOfKey ? KINDS_OF_KEY : KINDS);
    const key = isOfKey ? { key: 'fed', limit: 1 } : {};
    const tenant = profile.floodOf === 'tenant' ? { tenant: prng.pick(['minnow', 'shrimp']) } : {};
    const later = profile.feedsLater ? { ...prng.pick(FED_LATER), delay: `${prng.integer(0, LATEST_MS)}ms` } : {};
    await enqueue(ports, kind, { id: `fed-${name}-${count}`, input: { kind, half }, ...tenant, ...key, ...later });
  }
}

/** Enqueues the first task of each relay, into an older backlog. */
export async function produceRelays(ports: ProducerPorts): Promise<void> {
  const { process, profile, half } = ports;
  const { clock } = process.runtime;
  await clock.sleep(BEHIND_BACKLOG_MS);
  const until = clock.now() + RELAY_MS;
  for (let relay = 1; relay <= profile.relays; relay++)
    await enqueue(ports, 'relays', { id: `relay-${relay}.0`, input: { kind: 'relays', half, until } });
}

/** Bursts of tasks that are alike, in their time or their key, and single ones between them; until time is called. */
export async function produceBursts(ports: ProducerPorts, isOver: () => boolean): Promise<void> {
  const { process, profile, prng, half } = ports;
  const name = process.name.replace('.', '-');
  for (let burst = 1; !isOver(); burst++) {
    await process.runtime.clock.sleep(prng.exponential(BURST_EVERY_MS));
    const ms = prng.pick(BURST_MS);
    const kind = ms === 0 ? 'quick' : 'slow';
    const most = ms === 0 ? 40 : Math.max(2, Math.floor(BURST_WORK_MS / (ms + STEPS_OF_TTL * profile.ttlMs)));
    const count = prng.chance(0.3) ? 1 : Math.round(prng.logarithmic(2, most));
    const options = prng.chance(0.2) ? { key: `burst ${burst}`, limit: prng.integer(1, profile.burstLimit) } : {};
    const input = { kind, half, ms };
    for (let first = 0; first < count; first += AT_ONCE)
      await Promise.all(
        Array.from({ length: Math.min(AT_ONCE, count - first) }, (_, index) =>
          enqueue(ports, kind, { id: `burst-${name}-${burst}-${first + index}`, input, ...options }),
        ),
      );
    ports.seen('burst');
  }
}
