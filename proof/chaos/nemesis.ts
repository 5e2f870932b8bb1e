/** Torments the processes with a Poisson stream of faults, and another of partitions, until stopped. */
import type { LocalLambda } from '../../examples/platform/lambda/local-lambda.ts';
import { systemClock } from '../../shared/core/runtime/clock.ts';
import type { Prng } from '../../test/support/machines/prng.ts';
import { FUNCTIONS, QUEUE } from './deployment.ts';
import type { ProcessFault, Range } from './profile.ts';
import { LENGTHS_MS, MEAN_PAUSE_MS, PROCESS_FAULTS } from './profile.ts';
import type { FaultProxy, Moment } from './proxy.ts';

export class Nemesis {
  /** Faults that took effect, one for each process that they hit. Time-outs are counted by the platform's own events. */
  readonly tally = new Map<ProcessFault | 'partition', number>();
  readonly #lambda: LocalLambda;
  readonly #proxy: FaultProxy;
  readonly #random: Prng;
  readonly #stopping = new AbortController();
  readonly #thaws = new Set<Promise<void>>();
  #loops: Promise<unknown> = Promise.resolve();

  constructor(ports: { readonly lambda: LocalLambda; readonly proxy: FaultProxy; readonly random: Prng }) {
    this.#lambda = ports.lambda;
    this.#proxy = ports.proxy;
    this.#random = ports.random;
  }

  start(): void {
    this.#loops = Promise.all([
      this.#repeat(MEAN_PAUSE_MS.processFault, () => this.#torment()),
      this.#repeat(MEAN_PAUSE_MS.partition, () => this.#cutOff()),
    ]);
  }

  /** Thaws the processes that it had frozen, and stops its attacks. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loops;
    await Promise.all(this.#thaws);
  }

  async #repeat(meanPauseMs: number, act: () => void): Promise<void> {
    for (;;) {
      await systemClock.sleep(this.#random.exponential(meanPauseMs), this.#stopping.signal);
      if (this.#stopping.signal.aborted) return;
      act();
    }
  }

  #torment(): void {
    const { pause, freeze } = LENGTHS_MS;
    const fault = this.#draw();
    switch (fault) {
      case 'kill':
        this.#hit(fault, this.#victim(), (id) => this.#lambda.kill(id));
        break;
      case 'pause':
        this.#hit(fault, this.#victim(), (id) => this.#freeze(id, pause));
        break;
      case 'freeze':
        this.#hit(fault, this.#victim(), (id) => this.#freeze(id, freeze));
        break;
      case 'herd': {
        const ms = this.#between(freeze);
        for (const id of this.#working()) this.#hit(fault, id, () => this.#freeze(id, { low: ms, high: ms }));
        break;
      }
      case 'killInMidWrite':
      case 'killAfterWrite':
        this.#ambush(fault, fault === 'killInMidWrite' ? 'request' : 'response', (id) => this.#lambda.kill(id));
        break;
      case 'freezeInMidWrite':
      case 'freezeAfterWrite':
        this.#ambush(fault, fault === 'freezeInMidWrite' ? 'request' : 'response', (id) => this.#freeze(id, freeze));
        break;
      case 'timeout':
        void this.#lambda.invoke(FUNCTIONS.reckless, { queue: QUEUE, homeShards: [] }, 'Event').catch(() => undefined); // No room for it: as well.
        break;
    }
  }

  #draw(): ProcessFault {
    const weights = Object.entries(PROCESS_FAULTS) as [ProcessFault, number][];
    let draw = this.#random.between(
      0,
      weights.reduce((sum, [, weight]) => sum + weight, 0),
    );
    for (const [fault, weight] of weights) {
      draw -= weight;
      if (draw < 0) return fault;
    }
    return 'kill';
  }

  #ambush(fault: ProcessFault, moment: Moment, strike: (id: string) => boolean): void {
    const victim = this.#victim();
    if (victim !== undefined) this.#proxy.ambush(victim, moment, () => this.#hit(fault, victim, strike));
  }

  #hit(fault: ProcessFault, victim: string | undefined, strike: (id: string) => boolean): void {
    if (victim !== undefined && strike(victim)) this.#count(fault);
  }

  #count(fault: ProcessFault | 'partition'): void {
    this.tally.set(fault, (this.tally.get(fault) ?? 0) + 1);
  }

  #freeze(id: string, range: Range): boolean {
    if (!this.#lambda.freeze(id)) return false;
    const thaw = systemClock.sleep(this.#between(range), this.#stopping.signal).then(() => {
      this.#lambda.thaw(id);
      this.#thaws.delete(thaw);
    });
    this.#thaws.add(thaw);
    return true;
  }

  #cutOff(): void {
    const victim = this.#victim();
    if (victim === undefined) return;
    this.#count('partition');
    const lengthMs = this.#between(LENGTHS_MS.partition);
    this.#proxy.partition(victim, lengthMs, { oneWay: this.#random.chance(0.5) });
  }

  /** Workers more often than dispatchers, because they are more. */
  #victim(): string | undefined {
    const working = this.#working();
    return working.length === 0 ? undefined : this.#random.pick(working);
  }

  #working(): string[] {
    return this.#lambda
      .environments()
      .filter(({ state }) => state === 'busy')
      .map(({ id }) => id);
  }

  #between({ low, high }: Range): number {
    return this.#random.between(low, high);
  }
}
