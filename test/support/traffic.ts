/** Requests of a test's processes: whether any is under way, what they cost, and time that passes while there is none. */
import { setImmediate as drained, setTimeout as pause } from 'node:timers/promises';
import type { DynamoCalls, DynamoDriver, DynamoKind } from '../../shared/dynamo/engine/driver.ts';
import type { Meter } from '../../shared/dynamo/engine/meter.ts';
import type { ManualClock } from './manual-clock.ts';

/** By driver: processes of one test that share it rest together, also where one acts while another waits for its answer. */
const SHARED = new WeakMap<DynamoDriver, { underWay: number }>();

export class Traffic implements DynamoDriver {
  readonly #requests: { underWay: number };
  readonly #driver: DynamoDriver;

  constructor(driver: DynamoDriver) {
    this.#driver = driver;
    this.#requests = SHARED.get(driver) ?? { underWay: 0 };
    SHARED.set(driver, this.#requests);
  }

  async attempt<K extends DynamoKind>(
    kind: K,
    input: DynamoCalls[K]['input'],
    signal: AbortSignal,
  ): Promise<DynamoCalls[K]['output']> {
    this.#requests.underWay++;
    try {
      return await this.#driver.attempt(kind, input, signal);
    } finally {
      this.#requests.underWay--;
    }
  }

  /** Resolves when no request is in flight and the code has processed all responses. */
  async rests(): Promise<void> {
    for (let still = 0; still < 2; still++) {
      await drained();
      while (this.#requests.underWay > 0) {
        still = 0;
        await pause(1);
      }
    }
  }
}

/** Lets time pass, in small steps, until `work` has settled. No time passes while requests are in flight. */
export async function passTimeUntil<T>(
  work: Promise<T>,
  { clock, traffic, stepMs }: { readonly clock: ManualClock; readonly traffic: Traffic; readonly stepMs: number },
): Promise<T> {
  const progress = { isOver: false };
  const over = (): void => {
    progress.isOver = true;
  };
  work.then(over, over);
  await traffic.rests();
  const giveUpAt = clock.monotonic() + 6 * 3_600_000;
  while (!progress.isOver) {
    if (clock.monotonic() > giveUpAt) throw new Error('six hours have passed, and it is not over');
    await clock.advance(stepMs);
    await traffic.rests();
  }
  return work;
}

export interface Cost {
  readonly requests: number;
  readonly writeUnits: number;
  readonly readUnits: number;
  /** Requests by verb. */
  readonly verbs: Readonly<Record<string, number>>;
}

export async function costOf(meter: Meter, work: () => Promise<unknown>): Promise<Cost> {
  const before = meter.read();
  await work();
  const after = meter.read();
  const verbs = Object.entries(after.byVerb)
    .map(([verb, { requests }]) => [verb, requests - (before.byVerb[verb]?.requests ?? 0)] as const)
    .filter(([, requests]) => requests > 0);
  return {
    requests: after.requests - before.requests,
    writeUnits: after.writeUnits - before.writeUnits,
    readUnits: after.readUnits - before.readUnits,
    verbs: Object.fromEntries(verbs),
  };
}
