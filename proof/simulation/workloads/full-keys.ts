/**
 * Keys in endless other work: some are full for long, of tasks whose workers may crash, or by a rate of a minute or an hour.
 * Many may belong to one tenant. Others have capacity at once, and their tasks come behind all that.
 */
import type { EnqueueOptions } from '../../../shared/tasks/queue/task-client.ts';
import { STAYS } from './flood.ts';
import type { ProducerPorts } from './producer.ts';
import { enqueue } from './producer.ts';

/** Enqueued side by side. */
const AT_ONCE = 25;
const LOOK_MS = 5_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Duration of a slow task without an explicit time, in TTLs. */
const SLOW_OF_TTL = 0.9;
/** Keys of one tenant, each with its rate used up: several pages of the index. */
export const CROWD = 150;
const FREE_KEY_EVERY_MS = 20_000;

export async function produceFullKeys(ports: ProducerPorts, isOver: () => boolean): Promise<void> {
  const { prng } = ports;
  const tenant = prng.chance(0.5) ? { tenant: 'whale' } : {};
  await Promise.all([
    prng.chance(0.75) ? produceBacklog({ ...ports, prng: prng.fork('backlog') }, isOver) : undefined,
    prng.chance(0.4) ? produceCrowd({ ...ports, prng: prng.fork('crowd') }) : undefined,
    produceLongTasks({ ...ports, prng: prng.fork('long') }, tenant),
    produceFreeKeys({ ...ports, prng: prng.fork('free') }, tenant, isOver),
  ]);
}

/** Tasks without a key, so many that some always wait; for some time they have the higher priority. */
async function produceBacklog(ports: ProducerPorts, isOver: () => boolean): Promise<void> {
  const { profile, prng, seen } = ports;
  const slots = profile.environments * profile.concurrency;
  for (let phase = 1; !isOver(); phase++) {
    const priority = prng.pick(['normal', 'normal', 'high'] as const);
    const lengthMs = prng.between(40_000, 160_000);
    const count = Math.ceil((1.2 * slots * lengthMs) / (SLOW_OF_TTL * profile.ttlMs));
    await enqueueAll(ports, `backlog-${phase}`, count, { kind: 'slow', priority });
    seen(`backlog of ${priority} priority`);
    await sleepUnless(isOver, lengthMs, ports);
  }
}

async function produceCrowd(ports: ProducerPorts): Promise<void> {
  const { process, profile, prng, seen } = ports;
  await process.runtime.clock.sleep(prng.between(0, profile.faultyMs));
  for (let nth = 1; nth <= CROWD; nth++)
    await enqueueAll(ports, `crowd-${nth}`, 2, {
      kind: 'quick',
      tenant: 'whale',
      key: `crowd ${nth}`,
      limit: prng.integer(1, 2),
      rate: { count: 1, per: HOUR_MS },
    });
  seen('crowd of keys out of rate');
}

/** As many keys as leave most slots to others. Their first tasks take long, and others wait behind them. */
async function produceLongTasks(ports: ProducerPorts, tenant: EnqueueOptions): Promise<void> {
  const { process, profile, prng, seen } = ports;
  let slots = Math.max(1, Math.floor((profile.environments * profile.concurrency) / 3));
  for (let nth = 1; slots > 0; nth++) {
    await process.runtime.clock.sleep(prng.between(0, 0.5 * profile.faultyMs));
    const limit = Math.min(slots, prng.pick([1, 1, 2, 3]));
    slots -= limit;
    const ms = prng.logarithmic(20_000, 250_000);
    const name = `long-${nth}`;
    const options = { key: name, limit, ...rateOf(ports, limit), ...tenant };
    await enqueueAll(ports, name, 2 * limit, { kind: 'slow', ms, ...options });
    await enqueueAll(ports, `${name}-behind`, Math.round(prng.logarithmic(1, 80)), { kind: 'quick', ...options });
    seen('key full of long tasks');
  }
}

async function produceFreeKeys(ports: ProducerPorts, tenant: EnqueueOptions, isOver: () => boolean): Promise<void> {
  const { prng, seen } = ports;
  for (let nth = 1; !isOver(); nth++) {
    await sleepUnless(isOver, prng.exponential(FREE_KEY_EVERY_MS), ports);
    const limit = prng.pick([1, 2, 5]);
    const name = `free-${nth}`;
    const options = { key: name, limit, ...rateOf(ports, limit), ...(prng.chance(0.5) ? tenant : {}) };
    await enqueueAll(ports, name, prng.integer(1, 6), { kind: 'quick', ...options });
    seen('key with capacity');
  }
}

/** One in two keys has a rate, of a window that is longer than a worker remembers what it has seen of a key. */
function rateOf({ prng }: ProducerPorts, limit: number): Pick<EnqueueOptions, 'rate'> {
  const per = prng.pick([0, 0, 2 * MINUTE_MS, HOUR_MS]);
  return per === 0 ? {} : { rate: { count: prng.integer(1, 2 * limit), per } };
}

type Alike = EnqueueOptions & { readonly kind: string; readonly ms?: number };

/** Those of keys are not waited for at the end. */
async function enqueueAll(
  ports: ProducerPorts,
  name: string,
  count: number,
  { kind, ms, ...options }: Alike,
): Promise<void> {
  const { process, half } = ports;
  const group = `${options.key === undefined ? '' : STAYS}${process.name.replace('.', '-')}-${name}`;
  const input = ms === undefined ? { kind, half } : { kind, half, ms };
  for (let first = 0; first < count; first += AT_ONCE)
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, count - first) }, (_, index) =>
        enqueue(ports, kind, { id: `${group}-${first + index}`, input, ...options }),
      ),
    );
}

async function sleepUnless(isOver: () => boolean, ms: number, { process }: ProducerPorts): Promise<void> {
  for (let left = ms; left > 0 && !isOver(); left -= LOOK_MS)
    await process.runtime.clock.sleep(Math.min(left, LOOK_MS));
}
