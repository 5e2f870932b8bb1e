/** Enqueues small tasks that share rows, and does not rest until all of them are acknowledged. */
import type { EnqueuedBulk } from '../../../shared/tasks/bulk/put-bulk.ts';
import { itemId } from '../../../shared/tasks/task/pack.ts';
import { MismatchError, StoreUnavailableError } from '../../../shared/core/errors.ts';
import { PRIORITIES } from '../../../shared/tasks/task/task.ts';
import type { Prng } from '../../../test/support/machines/prng.ts';
import { taskRow } from '../observed-stores.ts';
import type { ProducerPorts } from './producer.ts';
import type { TaskInput } from './task-code.ts';

/** The same in every half, so that its packs come back under the ids of those that were swept. */
export const BULK_ID = 'bulk';

interface Bulk {
  readonly definition: string;
  readonly inputs: readonly TaskInput[];
  readonly packSize: number;
  readonly priority: (typeof PRIORITIES)[number];
  /** An item's id that another caller takes before. */
  readonly taken: string | undefined;
}

const DEFINITIONS = ['items', 'items', 'frailItems', 'onceItems'] as const;
const KINDS = ['quick', 'quick', 'quick', 'slow', 'commits', 'commits', 'spawns'] as const;
const BAD_KINDS = ['stumbles', 'refuses', 'snoozes', 'deaf', 'unstorable', 'overruns'] as const;

/** What a half's bulk is made of; a producer that goes on with it after a crash asks for the same. */
export function drawBulk(prng: Prng, count: number, half: number): Bulk {
  const definition = prng.pick(DEFINITIONS);
  const badShare = prng.pick([0, 0.1, 0.3]);
  const hasPoison = definition !== 'items' && prng.chance(0.5);
  const kindOf = (): string => {
    if (hasPoison && prng.chance(0.1)) return 'poison';
    return prng.pick(prng.chance(badShare) ? BAD_KINDS : KINDS);
  };
  const packSize = prng.integer(1, 8);
  const isTaken = definition === 'frailItems' && prng.chance(0.3);
  return {
    definition,
    packSize,
    priority: prng.pick(PRIORITIES),
    inputs: Array.from({ length: count }, () => ({ kind: kindOf(), half })),
    taken: isTaken ? itemId(itemId(BULK_ID, 0), prng.integer(0, packSize - 1)) : undefined,
  };
}

/** Ids of the packs and of some items, for operators. */
export function bulkIds({ inputs, packSize }: Bulk): readonly string[] {
  return Array.from({ length: Math.ceil(inputs.length / packSize) }, (_, pack) => itemId(BULK_ID, pack)).flatMap(
    (pack) => [pack, itemId(pack, 0), itemId(pack, packSize - 1)],
  );
}

export async function produceBulk(ports: ProducerPorts, bulk: Bulk): Promise<void> {
  try {
    await enqueueWhole(ports, bulk);
    if (ports.prng.chance(0.3)) await enqueueOther(ports, bulk);
  } catch (error) {
    // With clocks hours apart, packs of the half before may still be there.
    if (!(error instanceof MismatchError) || ports.profile.clocksHold || ports.half === 1) throw error;
    ports.seen('bulk of the half before is there');
  }
}

async function enqueueWhole(ports: ProducerPorts, bulk: Bulk): Promise<void> {
  const { process, client, recorder, prng, queue, seen } = ports;
  const { definition, inputs, packSize, priority, taken } = bulk;
  const options = { id: BULK_ID, packSize, priority };
  await process.runtime.clock.sleep(prng.between(0, 5_000));
  if (taken !== undefined)
    await insist(ports, () => client.enqueue('quick', { kind: 'quick', half: ports.half }, { id: taken }));
  const times = prng.chance(0.3) ? 2 : 1;
  for (let time = 0; time < times; time++) {
    const enqueued: EnqueuedBulk = await insist(ports, () => client.enqueueBulk(definition, inputs, options));
    seen(enqueued.created === 0 ? 'bulk enqueued again' : 'bulk enqueued');
    for (let pack = 0; pack < enqueued.packs; pack++) {
      const row = taskRow({ queue, id: itemId(BULK_ID, pack) });
      recorder.emit({ kind: 'acknowledged', at: process.now, process: process.name, what: 'enqueued', row });
    }
  }
}

/** The same id for other inputs: refused, pack by pack. */
async function enqueueOther(ports: ProducerPorts, { definition, inputs, packSize }: Bulk): Promise<void> {
  const others = inputs.map((input) => ({ ...input, version: 1 }));
  try {
    await insist(ports, () => ports.client.enqueueBulk(definition, others, { id: BULK_ID, packSize }));
    throw new Error('other inputs were taken under the id of a bulk');
  } catch (error) {
    if (!(error instanceof MismatchError)) throw error;
    ports.seen('bulk with other inputs: refused');
  }
}

/** Whether it was applied is not known, and need not be: what is there already stays, and what is missing is added. */
async function insist<T>({ process, seen }: ProducerPorts, enqueue: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await enqueue();
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      seen('bulk tried again');
      await process.runtime.clock.sleep(300);
    }
  }
}
