/** A story of two processes in a simulated world, in which each step tells its answer and its requests: the same text in every run. */
import { inspect } from 'node:util';
import type { Process } from './coordination.ts';
import { passTime, simulatedWorld } from './coordination.ts';
import { Prng } from './machines/prng.ts';

/** Time passes in steps of this length. */
const STEP_MS = 1_000;

export function shown(value: unknown): string {
  if (value instanceof Error) {
    const { name, message, stack: _, cause: __, ...facts } = value;
    return `${name}: ${message}${Object.keys(facts).length === 0 ? '' : ` ${shown(facts)}`}`;
  }
  return inspect(value, {
    depth: 8,
    breakLength: Infinity,
    compact: true,
    maxArrayLength: null,
    maxStringLength: null,
  });
}

export class Story {
  readonly world = simulatedWorld();
  readonly lines: string[] = [];
  readonly here: Process;
  readonly there: Process;
  #ids = 0;

  constructor() {
    const ids = { unique: () => `id-${++this.#ids}`, ordered: () => `id-${++this.#ids}` };
    this.here = this.world.start({}, { ids, random: new Prng(1n).fork('here') });
    this.there = this.world.start({}, { ids, random: new Prng(1n).fork('there') });
  }

  /** Tells an answer or an error, and the requests of this process. */
  async tell<T>(
    what: string,
    act: () => Promise<T> | T,
    facts: (answer: T) => unknown = (answer) => answer,
  ): Promise<T> {
    const before = this.world.clock.now();
    let answer: T | undefined;
    let text = '';
    const cost = await this.here.cost(() =>
      passTime(
        this.world,
        (async () => act())().then(
          (told) => {
            answer = told;
            text = shown(facts(told));
          },
          (error: unknown) => {
            text = shown(error);
          },
        ),
      ),
    );
    const tookMs = this.world.clock.now() - before;
    const took = tookMs === 0 ? '' : ` (after ${tookMs} ms)`;
    // How often a request is repeated without an answer depends on the machine.
    const sent = this.here.driver.isDown || cost.requests === 0 ? '' : `: ${shown(cost)}`;
    this.lines.push(`${what}${took}${sent}\n  ${text.replace(/after \d+ attempts/, 'after some attempts')}`);
    return answer as T;
  }

  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= STEP_MS) {
      await this.world.clock.advance(Math.min(left, STEP_MS));
      await this.world.idle();
    }
    this.lines.push(`--- ${ms} ms later`);
  }

  /** Tells what the table holds at the end. */
  get text(): string {
    const rows = this.world.rows().map((row) => `${String(row.pk)} ${String(row.sk)}\n  ${shown(row)}`);
    return `${[...this.lines, '--- the table', ...rows.sort()].join('\n')}\n`;
  }
}
