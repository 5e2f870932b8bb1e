/**
 * A story whose verbs, arguments and accidents are drawn by a seed, over few names, so that they meet rare states of each other's rows.
 * The draws do not depend on the answers, so one changed answer changes few others.
 */
import { createHash } from 'node:crypto';
import { Prng } from '../../support/machines/prng.ts';
import type { Process } from '../../support/coordination.ts';
import { passTime } from '../../support/coordination.ts';
import { rowText, withoutStacks } from '../../support/row-text.ts';
import { Story, shown } from '../../support/story.ts';

/** One call, with its drawn arguments in its title. */
export interface Act {
  readonly title: string;
  readonly run: (at: Process) => Promise<unknown>;
}

/** By how often each is drawn. */
export type Acts = readonly (readonly [weight: number, draw: (prng: Prng) => Act])[];

/** Longer texts are cut, and their digest says whether the rest is the same. */
const LONGEST_TEXT = 240;
/** Time passes in steps of this length while a verb waits. */
const STEP_MS = 250;
const ACCIDENTS = ['dropResponse', 'dropRequest', 'throttle', 'conflict'] as const;

export class DrawnStory {
  readonly story = new Story();
  readonly prng: Prng;
  readonly lines: string[] = [];
  readonly #acts: Acts;
  #rows: ReadonlyMap<string, string> = new Map();

  constructor(seed: bigint, actsOf: (story: DrawnStory) => Acts) {
    this.prng = new Prng(seed);
    this.#acts = actsOf(this);
  }

  /** One verb: undisturbed, with an accident, or with a verb of the other process between two of its requests. */
  async step(): Promise<void> {
    const { story, prng } = this;
    const act = this.draw();
    const [accident, rival, at] = [prng.pick(ACCIDENTS), this.draw(), prng.pick([1, 1, 2, 3])];
    const [luck, isHere] = [prng.next(), prng.chance(0.75)];
    const [actor, other] = isHere ? [story.here, story.there] : [story.there, story.here];
    let told = `${isHere ? '' : 'there: '}${act.title}`;
    if (luck < 0.12) {
      actor.driver.accidents.push(...Array.from({ length: at - 1 }, () => 'none' as const), accident);
      told += `, ${accident} at write ${at}`;
    }
    const meanwhile = luck > 0.85 ? interfere(actor, at, () => rival.run(other)) : undefined;
    if (meanwhile !== undefined) told += `, and before request ${at} the other: ${rival.title}`;
    let answer = '';
    const { requests } = await actor.cost(async () => {
      answer = await answerOf(() => passTime(story.world, act.run(actor), STEP_MS));
    });
    actor.driver.accidents.length = 0;
    const others = meanwhile?.();
    const also = others === undefined ? '' : ` (the other: ${others})`;
    this.lines.push(`${told}: ${answer}${also} [${requests} requests${this.#written()}]`);
  }

  async pass(ms: number): Promise<void> {
    await this.story.pass(ms);
    this.lines.push(`--- ${ms} ms later${this.#written()}`);
  }

  draw(): Act {
    let left = this.prng.next() * this.#acts.reduce((sum, [weight]) => sum + weight, 0);
    const chosen = this.#acts.find(([weight]) => (left -= weight) < 0) ?? this.#acts[0]!;
    return chosen[1](this.prng);
  }

  get text(): string {
    const rows = this.story.world.rows().map((row) => `${String(row.pk)} ${String(row.sk)}: ${cut(rowText(row))}`);
    return `${[...this.lines, '--- the table', ...rows.sort()].join('\n')}\n`;
  }

  /** How many rows have changed since the last step, and a digest of them. */
  #written(): string {
    const rows = new Map(this.story.world.rows().map((row) => [`${String(row.pk)} ${String(row.sk)}`, rowText(row)]));
    const names = [...new Set([...rows.keys(), ...this.#rows.keys()])].sort();
    const changed = names.filter((name) => rows.get(name) !== this.#rows.get(name));
    this.#rows = rows;
    const text = changed.map((name) => `${name} ${rows.get(name)}`).join('\n');
    return changed.length === 0 ? '' : `, ${changed.length} rows ${digestOf(text)}`;
  }
}

/** Something happens before the numbered request of a process; returns how to end that, and its answer. */
function interfere({ driver }: Process, before: number, act: () => Promise<unknown>): () => string | undefined {
  const attempt = driver.attempt.bind(driver);
  let answer: string | undefined;
  let requests = 0;
  driver.attempt = async (kind, input, signal) => {
    if (++requests === before) answer = await answerOf(act);
    return attempt(kind, input, signal);
  };
  return () => {
    driver.attempt = attempt;
    return answer;
  };
}

async function answerOf(act: () => Promise<unknown>): Promise<string> {
  try {
    return cut(shown(await act()));
  } catch (error) {
    return cut(shown(error));
  }
}

function cut(text: string): string {
  const line = withoutStacks(text)
    .replaceAll(/\n\s*/g, ' ')
    .replaceAll(/after \d+ attempts/g, 'after some attempts');
  if (line.length <= LONGEST_TEXT) return line;
  return `${line.slice(0, LONGEST_TEXT)}… ${digestOf(line)}`;
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}
