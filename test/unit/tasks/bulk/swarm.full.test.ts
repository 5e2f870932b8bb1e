/** Several workers at once, on a network that loses, delays, repeats and refuses, dying at any step: many seeds, one verdict. */
import { expect, test } from 'vitest';
import type { DynamoCalls, DynamoDriver, DynamoKind } from '../../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import type { Clock } from '../../../../shared/core/runtime/clock.ts';
import { Prng } from '../../../support/machines/prng.ts';
import { MEMORY_TTL_MS, openMemoryQueue } from '../../../support/memory-queue.ts';
import { Mortal } from '../../../support/mortal.ts';
import { FULFILLED, Life } from './life.ts';

const SEEDS = 100;
const WORKERS = 3;
/** A worker's life in a swarm, if it dies: steps of about as many as one pack has. */
const STEPS = 60;

/** Each request has its own fate. */
class WildDriver implements DynamoDriver {
  readonly #driver: DynamoDriver;
  readonly #prng: Prng;
  clock: Clock | undefined;
  isWild = false;

  constructor(driver: DynamoDriver, prng: Prng) {
    this.#driver = driver;
    this.#prng = prng;
  }

  async attempt<K extends DynamoKind>(
    kind: K,
    input: DynamoCalls[K]['input'],
    signal: AbortSignal,
  ): Promise<DynamoCalls[K]['output']> {
    if (!this.isWild) return this.#driver.attempt(kind, input, signal);
    const prng = this.#prng;
    const send = (): Promise<DynamoCalls[K]['output']> =>
      this.#driver.attempt(kind, input, new AbortController().signal);
    await this.clock?.sleep(prng.between(1, 40));
    const fate = prng.next();
    if (fate < 0.04) throw fault('throttled', 'ThrottlingException');
    if (fate < 0.08) throw fault('unanswered', 'TimeoutError');
    if (fate < 0.12) {
      await send().catch(() => undefined);
      throw fault('unanswered', 'TimeoutError');
    }
    if (fate < 0.2) {
      // It arrives late, whether or not it has arrived before.
      const lateMs = prng.between(1, 2 * MEMORY_TTL_MS);
      void this.clock?.sleep(lateMs).then(() => send().catch(() => undefined));
      if (fate < 0.16) throw fault('unanswered', 'TimeoutError');
    }
    const answer = await send();
    await this.clock?.sleep(prng.between(1, 40));
    return answer;
  }
}

async function live(seed: number) {
  const prng = new Prng(BigInt(seed));
  let driver: WildDriver | undefined;
  const q = openMemoryQueue((inner) => (driver = new WildDriver(inner, prng.fork('network'))));
  const life = new Life(q);
  await life.enqueue();
  if (driver !== undefined) Object.assign(driver, { clock: q.clock, isWild: true });
  const worker = async (name: string): Promise<void> => {
    const chance = prng.fork(name);
    for (let round = 0; round < 6; round++) {
      const death = chance.chance(0.9)
        ? ({ step: chance.integer(6, STEPS), how: chance.chance(0.5) ? 'before' : 'after' } as const)
        : undefined;
      const process = new Mortal(death);
      // A worker that cannot even open its session exits.
      await q.start({ life: life.taskAt(() => process) }, { process, concurrency: 2 }).catch(() => undefined);
      await q.clock.sleep(chance.between(100, MEMORY_TTL_MS));
    }
  };
  const swarm = Promise.all(Array.from({ length: WORKERS }, (_, n) => worker(`worker ${n}`)));
  await q.clock.runUntil(swarm, () => true);
  if (driver !== undefined) driver.isWild = false;
  for (let more = 0; more < 8 && !(await life.isDrained()); more++) {
    await q.clock.advance(3 * MEMORY_TTL_MS);
    await q.work({ life: life.task });
  }
  return { outcome: await life.outcome(), isDrained: await life.isDrained(), begun: life.begun.length };
}

function fault(kind: 'throttled' | 'unanswered', code: string): DynamoFault {
  return new DynamoFault(kind, { code, message: 'a wild network' });
}

test(`${SEEDS} swarms lose nothing, and take effect once`, async () => {
  let begun = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const result = await live(seed);

    expect({ seed, ...result }).toEqual({ seed, outcome: FULFILLED, isDrained: true, begun: result.begun });
    begun += result.begun;
  }
  // Things did go wrong: items were begun again and again, beyond the calm dozen of each life.
  expect(begun).toBeGreaterThan(SEEDS * 12.5);
});
