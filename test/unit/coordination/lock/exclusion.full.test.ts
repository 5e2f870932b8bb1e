import { expect, test } from 'vitest';
import type { Lock } from '../../../../shared/coordination/lock/lock.ts';
import { LockUnavailableError } from '../../../../shared/coordination/lock/lock-record.ts';
import {
  ConfigurationError,
  CorruptItemError,
  LeaseLostError,
  StoreUnavailableError,
} from '../../../../shared/core/errors.ts';
import { dynamoFence } from '../../../../shared/dynamo/dynamo-fence.ts';
import { integerBetween } from '../../../../shared/core/runtime/random.ts';
import type { Session } from '../../../../shared/client/session.ts';
import { Prng } from '../../../support/machines/prng.ts';
import type { Accident } from '../../../support/faulty-driver.ts';
import type { Process, World } from '../../../support/coordination.ts';
import { simulatedWorld } from '../../../support/coordination.ts';

const KEYS = ['a', 'b'];
const ACCIDENTS: (Accident | 'none')[] = ['dropRequest', 'dropResponse', 'throttle', 'none', 'none', 'none'];
const ITEM = { pk: 'guarded', sk: 'row' };

/** One participant: takes, updates and releases locks, loses its network, and dies without clean-up. */
class Participant {
  readonly process: Process;
  readonly #world: World;
  readonly #random: Prng;
  readonly locks = new Set<Lock>();
  session: Session | undefined;

  constructor(world: World, random: Prng, clockErrorMs: number) {
    this.#world = world;
    this.#random = random;
    const nextId = (): string => `id-${integerBetween(random, 0, 2 ** 32)}`;
    this.process = world.start({}, { random, ids: { unique: nextId, ordered: nextId } });
    this.process.clockError.ms = integerBetween(random, -clockErrorMs, clockErrorMs + 1);
  }

  async act(): Promise<void> {
    try {
      await this.#act();
    } catch (error) {
      const isForeseen = [LeaseLostError, StoreUnavailableError, LockUnavailableError, CorruptItemError].some(
        (kind) => error instanceof kind,
      );
      if (!isForeseen && !isRefusedByFence(error)) throw error;
    }
  }

  async #act(): Promise<void> {
    const random = this.#random;
    const choice = random.next();
    if (random.next() < 0.3) this.process.driver.accidents.push(random.pick(ACCIDENTS), random.pick(ACCIDENTS));
    this.process.driver.isDown = random.next() < 0.1;
    if (this.session === undefined || this.session.signal.aborted || choice < 0.03) {
      this.session = await this.process.leasehold.session({ ttl: '3s', lockDelay: random.pick([0, 0, 2_000]) });
      return;
    }
    const held = [...this.locks];
    const lock = held.length === 0 ? undefined : random.pick(held);
    if (choice < 0.5) await this.#acquire(random.pick(KEYS));
    else if (choice < 0.7 && lock !== undefined) await lock.release();
    else if (choice < 0.9 && lock !== undefined) await this.#writeGuarded(lock);
    else if (choice < 0.93) await this.#forceAnyone(random.pick(KEYS));
    else if (choice < 0.95) await this.session.end();
  }

  async #acquire(key: string): Promise<void> {
    const acquisition = await this.session?.tryLock(key, { value: 'x' });
    if (acquisition?.kind === 'acquired') this.locks.add(acquisition.lock);
  }

  async #forceAnyone(key: string): Promise<void> {
    const info = await this.process.leasehold.locks.get(key);
    if (info?.holder === undefined) return;
    await this.process.leasehold.locks.forceRelease(key, {
      by: 'chaos',
      reason: 'test',
      leaseCounter: info.leaseCounter,
      lockDelay: '4s',
    });
  }

  /** A slow write by a holder that may have been superseded in the interim. */
  async #writeGuarded(lock: Lock): Promise<void> {
    const target = { TableName: this.#world.table, Key: { ...ITEM, sk: lock.key } };
    const input = dynamoFence(lock).advance(target);
    await this.#world.clock.sleep(integerBetween(this.#random, 0, 5_000));
    await this.#world.driver.attempt('update', input, new AbortController().signal);
  }
}

function isRefusedByFence(error: unknown): boolean {
  return (error as { kind?: unknown }).kind === 'conditionFailed' || error instanceof ConfigurationError;
}

/** At no moment do two believe that they hold one key, and of each key's tenures no two have one token. */
function check(participants: readonly Participant[], tokens: Map<string, Lock>): number {
  let believed = 0;
  for (const key of KEYS) {
    const holders = participants.flatMap(({ locks }) =>
      [...locks].filter((lock) => lock.key === key && !lock.signal.aborted),
    );
    expect(
      holders.length,
      `${key} is believed to be held by ${holders.map(({ sequencer }) => sequencer).join(' and ')}`,
    ).toBeLessThan(2);
    believed += holders.length;
  }
  for (const lock of participants.flatMap(({ locks }) => [...locks])) {
    const name = `${lock.key} ${lock.fencingToken}`;
    expect(tokens.get(name) ?? lock, `token ${name} was given out twice`).toBe(lock);
    tokens.set(name, lock);
  }
  return believed;
}

async function live(
  seed: number,
  clockErrorMs: number,
): Promise<{ readonly believed: number; readonly tenures: number }> {
  const random = new Prng(BigInt(seed));
  const world = simulatedWorld();
  const participants = Array.from({ length: 4 }, () => new Participant(world, random, clockErrorMs));
  const tokens = new Map<string, Lock>();
  const busy = new Map<Participant, Promise<void>>();
  const mistakes: unknown[] = [];
  const actAlone = async (participant: Participant): Promise<void> => {
    await participant.act().catch((error: unknown) => mistakes.push(error));
    busy.delete(participant);
  };
  let believed = 0;
  for (let step = 0; step < 250; step++) {
    const participant = random.pick(participants);
    if (!busy.has(participant)) busy.set(participant, actAlone(participant));
    await world.clock.advance(integerBetween(random, 1, 400));
    believed += check(participants, tokens);
  }
  expect(mistakes).toEqual([]);
  return { believed, tenures: tokens.size };
}

async function liveOften(seeds: number, clockErrorMs: number): Promise<{ believed: number; tenures: number }> {
  const total = { believed: 0, tenures: 0 };
  for (let seed = 1; seed <= seeds; seed++) {
    const { believed, tenures } = await live(seed, clockErrorMs).catch((error: unknown) => {
      throw new Error(`seed ${seed}: ${String(error)}`, { cause: error });
    });
    total.believed += believed;
    total.tenures += tenures;
  }
  return total;
}

test('never lets two holders trust one key, for any network and for clocks within the bound', async () => {
  // Each clock is wrong by at most half the bound, so that any two differ by less than it.
  const { believed, tenures } = await liveOften(30, 499);

  // A run in which nothing happens proves nothing.
  expect(believed).toBeGreaterThan(1_000);
  expect(tenures).toBeGreaterThan(300);
});

test('finds two holders of one key as soon as clocks exceed the bound', async () => {
  await expect(liveOften(30, 4_000)).rejects.toThrow('is believed to be held by');
});
