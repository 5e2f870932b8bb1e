/** The permits of a queue's workers, as a whole: see `permit-parts.ts`. */
import { parsePart, partName, partsFor, queueOfFleet, tokenBase } from '../../core/permit-parts.ts';
import type { HolderRecord, SemaphoreRecord } from './semaphore.ts';
import type { SemaphoreStore } from './semaphore-store.ts';

/** All permits of a queue's workers as one semaphore. */
export interface Fleet extends SemaphoreRecord {
  /** Whether each part exists that the limit needs, and all parts have the same limits. */
  readonly isDealt: boolean;
}

/** With more parts, the read is eventually consistent: both cost at most about twelve read units. */
const CONSISTENT_PARTS = 50;

/** Reads a semaphore, of which a fleet has several rows. */
export async function readWhole(
  name: string,
  semaphores: Pick<SemaphoreStore, 'get' | 'parts'>,
): Promise<SemaphoreRecord | undefined> {
  const queue = queueOfFleet(name);
  return queue === undefined ? semaphores.get(name) : wholeOf(await semaphores.parts(queue, { consistent: true }));
}

/** Reads the parts for a worker that declares this limit. */
export function readParts(
  { queue, limit }: { readonly queue: string; readonly limit: number },
  semaphores: Pick<SemaphoreStore, 'parts'>,
): Promise<readonly SemaphoreRecord[]> {
  return semaphores.parts(queue, { consistent: partsFor(limit) <= CONSISTENT_PARTS });
}

/**
 * Returns the holders whose sessions a worker judges before it gives up, the oldest ones: together with the read of the parts, this costs
 * about sixteen read units. The permit of a crashed worker becomes the oldest in time, because no other worker runs for longer than its
 * function may.
 */
export function oldestHolders(parts: readonly SemaphoreRecord[]): readonly HolderRecord[] {
  const judged = Math.max(LEAST_JUDGED, READ_UNITS - Math.ceil(parts.length / PARTS_PER_UNIT));
  const holders = parts.flatMap((part) => part.holders);
  return holders.toSorted((one, other) => one.since - other.since).slice(0, judged);
}

const READ_UNITS = 16;
/** In a consistent read. */
const PARTS_PER_UNIT = 4;
const LEAST_JUDGED = 4;

/** Returns the sum of some parts. Its counter grows by one with each admission to any part. */
export function wholeOf(parts: readonly SemaphoreRecord[]): Fleet | undefined {
  const [first] = parts;
  if (first === undefined) return undefined;
  const { limit, declared } = first;
  const evictions = parts.flatMap(({ lastEviction }) => lastEviction ?? []);
  return {
    ...first,
    name: partName(parsePart(first.name)?.queue ?? '', 0),
    free: sum(parts.map(({ free }) => free)),
    leaseCounter: sum(parts.map(({ name, leaseCounter }) => leaseCounter - tokenBase(name))),
    holders: parts.flatMap(({ holders }) => holders),
    lastEviction: evictions.toSorted((one, other) => other.at - one.at)[0],
    isDealt:
      parts.length >= partsFor(limit) && parts.every((part) => part.limit === limit && part.declared === declared),
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
