/** What durable tasks cost, in write units of the whole execution less those of a plain task. */
import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { DurableContext } from '@aws/durable-execution-sdk-js';
import { withDurableExecution } from '@aws/durable-execution-sdk-js';
import { expect, test } from 'vitest';
import { durableTask } from '../../../../api/durable.ts';
import { defineTask } from '../../../../api/tasks.ts';
import { DurableWorld, isOver } from '../../../support/durable-world.ts';

/** Enqueue, claim, complete. */
const PLAIN_UNITS = 5;
const WORDS =
  'the parcel left our hub and waits for its customs paper until monday noon please call before delivery'.split(' ');

/** 95 bytes as JSON, of which most are random. */
function result(): unknown {
  let note = '';
  while (note.length < 24) note += `${WORDS[randomInt(WORDS.length)]} `;
  return { ok: true, order: randomUUID(), note: note.slice(0, 24) };
}

type Code = (n: number, ctx: DurableContext) => Promise<unknown>;

/** The id of the callback that was asked for last. */
let callback: string | undefined;
function told(id: string): void {
  callback = id;
}

async function unitsOf(code: Code, n: number, { answer = 'yes', isHandler = false } = {}): Promise<number> {
  const run = (count: number, ctx: DurableContext): Promise<unknown> => code(count, ctx);
  const main = isHandler
    ? durableTask({ name: 'main', handler: withDurableExecution(run) })
    : durableTask({ name: 'main', run });
  const child = defineTask({ name: 'child', run: () => 'done' });
  const world = new DurableWorld({ tasks: { main, child } });
  await world.leasehold.tasks.enqueue('main', n, { id: 'r' });
  for (let round = 0; round < 100 && !isOver(await world.task('r')); round++) {
    await world.work();
    if (!(await world.pass('r')) && callback !== undefined)
      await world.leasehold.tasks.callbacks.succeed(callback, answer);
  }
  expect((await world.task('r')).state).toBe('done');
  return sumOf(world) - PLAIN_UNITS;
}

function sumOf({ units }: DurableWorld): number {
  return [...units.values()].reduce((sum, each) => sum + each, 0);
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

test.each([
  ['sequential steps', 5, 1, steps],
  ['sequential steps', 10, 1.35, steps],
  ['sequential steps', 50, 1.5, steps],
  ['sequential steps', 250, 1.5, steps],
  ['items of a map', 250, 0.45, wide],
  ['waits', 5, 4.1, waits],
  ['callbacks', 5, 12.5, asks],
  ['invokes, with their tasks', 5, 18, invokes],
] as const)('%s: %i cost at most %d units each', async (_, n, most, code) => {
  expect((await unitsOf(code, n)) / n).toBeLessThanOrEqual(most);
});

test('a callback with a large answer costs at most 16 units, and a step of a handler at most 2.6', async () => {
  expect(await unitsOf(asks, 1, { answer: 'x'.repeat(1_500) })).toBeLessThanOrEqual(16);
  expect((await unitsOf(slowSteps, 50, { isHandler: true })) / 50).toBeLessThanOrEqual(2.6);
});

test('a plain task costs what it did', async () => {
  const plain = defineTask({ name: 'plain', run: () => 'done' });
  const world = new DurableWorld({ tasks: { plain } });
  await world.leasehold.tasks.enqueue(plain, null, { id: 'r' });
  await world.work();

  expect(sumOf(world)).toBe(PLAIN_UNITS);
});
