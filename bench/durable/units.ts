/** Write units of whole executions of durable tasks on the exact table in memory, without the units of a plain task. */
import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { DurableContext } from '@aws/durable-execution-sdk-js';
import { withDurableExecution } from '@aws/durable-execution-sdk-js';
import { durableTask } from '../../shared/client/durable.ts';
import { defineTask } from '../../shared/tasks/task/definition.ts';
import { DurableWorld, isOver } from '../../test/support/durable-world.ts';

type Code = (n: number, ctx: DurableContext) => Promise<unknown>;

interface UnitsScene {
  readonly name: string;
  readonly count: number;
  /** Units of each. */
  readonly wanted: number;
  readonly code: Code;
  readonly answer?: string;
  readonly isHandler?: boolean;
  /** Its name in `leasehold cost`. */
  readonly figure?: 'steps' | 'waits' | 'callbacks';
}

/** Enqueue, claim, complete. */
export const PLAIN_UNITS = 5;
const ROUNDS = 1_000;
const WORDS =
  'the parcel left our hub and waits for its customs paper until monday noon please call before delivery'.split(' ');

/** 95 bytes as JSON, mostly random. */
export function result(): { readonly ok: boolean; readonly order: string; readonly note: string } {
  let note = '';
  while (note.length < 24) note += `${WORDS[randomInt(WORDS.length)]} `;
  return { ok: true, order: randomUUID(), note: note.slice(0, 24) };
}

const steps: Code = async (n, ctx) => {
  for (let at = 0; at < n; at++) await ctx.step(`step-${at}`, async () => result());
};

/** Work outside of this process. Without it, the SDK sends a step's start and its end in one request. */
const slowSteps: Code = async (n, ctx) => {
  for (let at = 0; at < n; at++)
    await ctx.step(`step-${at}`, async () => {
      await pause(1);
      return result();
    });
};

const wide: Code = async (n, ctx) => {
  const items = Array.from({ length: n }, (_, at) => at);
  await ctx.map('items', items, (branch) => branch.step('one', async () => result()));
};

const waits: Code = async (n, ctx) => {
  for (let at = 0; at < n; at++) await ctx.wait(`wait-${at}`, { minutes: 1 });
};

const asks: Code = async (n, ctx) => {
  for (let at = 0; at < n; at++) await ctx.waitForCallback(`ask-${at}`, async (id) => told(id));
};

const invokes: Code = async (n, ctx) => {
  for (let at = 0; at < n; at++) await ctx.invoke(`invoke-${at}`, 'child', at);
};

/** The ids of the callbacks that were asked for. */
const asked: string[] = [];
function told(id: string): void {
  asked.push(id);
}

export const UNITS_SCENES: readonly UnitsScene[] = [
  { name: 'a sequential step of 95 B', count: 5, wanted: 1, code: steps, figure: 'steps' },
  { name: 'a sequential step of 95 B', count: 10, wanted: 1.35, code: steps, figure: 'steps' },
  { name: 'a sequential step of 95 B', count: 50, wanted: 1.5, code: steps, figure: 'steps' },
  { name: 'a sequential step of 95 B', count: 250, wanted: 1.5, code: steps, figure: 'steps' },
  { name: 'an item of a map', count: 250, wanted: 0.45, code: wide },
  { name: 'a wait', count: 5, wanted: 4.1, code: waits, figure: 'waits' },
  { name: 'a callback, asked and answered', count: 5, wanted: 12.5, code: asks, figure: 'callbacks' },
  { name: 'a callback with an answer of 1.5 KB', count: 1, wanted: 16, code: asks, answer: 'x'.repeat(1_500) },
  { name: 'an invoke, with its task', count: 5, wanted: 18, code: invokes },
  { name: 'a step of a handler', count: 50, wanted: 2.6, code: slowSteps, isHandler: true },
];

/** @returns the units of each step, wait, callback and so on */
export async function unitsOfEach({ count, code, answer = 'yes', isHandler = false }: UnitsScene): Promise<number> {
  const run = (n: number, ctx: DurableContext): Promise<unknown> => code(n, ctx);
  const main = isHandler
    ? durableTask({ name: 'main', handler: withDurableExecution(run) })
    : durableTask({ name: 'main', run });
  const child = defineTask({ name: 'child', run: () => 'done' });
  const world = new DurableWorld({ tasks: { main, child } });
  asked.length = 0;
  await world.leasehold.tasks.enqueue('main', count, { id: 'r' });
  for (let round = 0; round < ROUNDS && !isOver(await world.task('r')); round++) {
    await world.work();
    const callback = asked.at(-1);
    if (!(await world.pass('r')) && callback !== undefined)
      await world.leasehold.tasks.callbacks.succeed(callback, answer);
  }
  const { state } = await world.task('r');
  if (state !== 'done') throw new Error(`the execution is ${state}`);
  return (sumOf(world) - PLAIN_UNITS) / count;
}

export async function unitsOfPlainTask(): Promise<number> {
  const plain = defineTask({ name: 'plain', run: () => 'done' });
  const world = new DurableWorld({ tasks: { plain } });
  await world.leasehold.tasks.enqueue(plain, null, { id: 'r' });
  await world.work();
  return sumOf(world);
}

function sumOf({ units }: DurableWorld): number {
  return [...units.values()].reduce((sum, each) => sum + each, 0);
}
