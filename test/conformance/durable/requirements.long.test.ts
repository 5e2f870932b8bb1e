/**
 * The public requirements of durable executions (aws/aws-durable-execution-conformance-tests at a68f527; Apache-2.0), as a table of the
 * events that each expects. The workflows are ours. Left out are those of plugins, which judge the SDK, not its backend.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { DurableContext } from '@aws/durable-execution-sdk-js';
import { withDurableExecution } from '@aws/durable-execution-sdk-js';
import { describe, expect, test } from 'vitest';
import { durableTask } from '../../../api/durable.ts';
import { defineTask } from '../../../api/tasks.ts';
import type { HistoryEvent } from '../../../shared/tasks/durable/history.ts';
import type { TaskLog } from '../../../shared/tasks/task/context.ts';
import { currentProcess } from '../../../shared/testing/worker-process.ts';
import { DurableWorld, isOver } from '../../support/durable-world.ts';
import { BATCHES } from './batches.ts';
import type { ExpectedEvent } from './judge.ts';
import { judgeHistory, same } from './judge.ts';
import { OUTSIDE } from './outside.ts';
import { STEPS } from './steps.ts';
import type { Scene, Value } from './workflow.ts';

interface Requirement {
  readonly id: string;
  readonly suite: string;
  readonly what: string;
  readonly input?: Value;
  readonly variables?: Readonly<Record<string, string>>;
  readonly answers?: readonly Answer[];
  readonly result?: { readonly ExecutionStatus?: string; readonly Result?: Value };
  readonly logs?: readonly { readonly match: { readonly message: string }; readonly count: number }[];
  readonly events: readonly ExpectedEvent[];
}

interface Answer {
  readonly CallbackName: string;
  readonly Operation: 'success' | 'failure' | 'heartbeat';
  readonly Payload?: Value;
  readonly Delay?: number;
}

const WORKFLOWS = { ...STEPS, ...OUTSIDE, ...BATCHES };
const ROUNDS = 300;
/** Long enough for the SDK to have sent what it does not wait for. */
const BEFORE_CRASH_MS = 15;

const requirements = readFileSync(path.join(import.meta.dirname, 'requirements.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Requirement);

const echo = defineTask({ name: 'echo', run: (input: Value) => input });
const length = defineTask({ name: 'length', run: (input: { text: string }) => input.text.length });
const failing = defineTask({
  name: 'failing',
  retry: { maxAttempts: 1 },
  run: () => {
    throw new Error('target failed');
  },
});

describe.each(['run', 'handler'] as const)('as %s', (form) => {
  test.each(requirements)('$id $suite: $what', async (requirement) => {
    const found = await differencesOf(requirement, form);
    // A start that a crash loses: of a context and of a step that may repeat. The replay asks for it again.
    if (form === 'run' && requirement.id === '3-12') expect(found).not.toEqual([]);
    else expect(found).toEqual([]);
  });
});

async function differencesOf(requirement: Requirement, form: 'run' | 'handler'): Promise<readonly string[]> {
  const variables: Record<string, Value> = Object.fromEntries(
    Object.entries(requirement.variables ?? {}).map(([name, text]) => [name, generated(name, text)]),
  );
  const fill = filler(variables);
  const logs: string[] = [];
  const differences: string[] = [];
  const world = worldOf(requirement.id, form, logs);
  await world.leasehold.tasks.enqueue('main', fill(requirement.input) ?? null, { id: 'r' });
  const answers = new Answers(world, fill, requirement.answers ?? []);
  for (let round = 0; round < ROUNDS && !isOver(await world.task('r')); round++) {
    await world.work();
    if (isOver(await world.task('r'))) break;
    const answered = await answers.next();
    if (answered === 'over') differences.push('an answer was over');
    if (answered === undefined && !(await world.pass('r'))) await world.clock.advance(1_000);
  }
  const task = await world.task('r');
  const history = await Promise.all((await world.history('r')).map((event) => withChild(world, event)));
  differences.push(...judgeHistory(fill(requirement.events), history, variables));
  const status = { done: 'SUCCEEDED', dead: 'FAILED' }[task.state as string] ?? task.state;
  const want = fill(requirement.result ?? {});
  if (want.ExecutionStatus !== undefined && want.ExecutionStatus !== status) differences.push(`it is ${status}`);
  const result = task.state === 'done' ? (task.result ?? null) : undefined;
  if ('Result' in want && !same(result, want.Result) && JSON.stringify(result) !== want.Result)
    differences.push(`the result is ${JSON.stringify(result)}`);
  for (const { match, count } of requirement.logs ?? []) {
    const pattern = new RegExp(fill(match.message).replaceAll(/^\/|\/$/g, ''));
    const lines = logs.filter((line) => pattern.test(line)).length;
    if (form === 'run' && lines !== count) differences.push(`${lines} log lines with ${pattern.source}`);
  }
  return differences;
}

function worldOf(id: string, form: 'run' | 'handler', logs: string[]): DurableWorld {
  const note = (message: string): void => {
    logs.push(message);
  };
  const log: TaskLog = { debug: note, info: note, warn: note, error: note };
  const scene: Scene = {
    n: 0,
    async crash() {
      await pause(BEFORE_CRASH_MS);
      currentProcess()?.kill();
      return Promise.race<never>([]);
    },
  };
  const workflow = WORKFLOWS[id]?.(scene);
  if (workflow === undefined) throw new Error(`requirement ${id} has no workflow`);
  const code = async (event: Value, context: DurableContext): Promise<unknown> => workflow(event, context);
  const main =
    form === 'run'
      ? durableTask({ name: 'main', run: code })
      : durableTask({ name: 'main', handler: withDurableExecution(code) });
  return new DurableWorld({ tasks: { main, echo, failing, length }, log });
}

/** Sends each answer once its callback exists, after its delay: heartbeats first, then the shortest delay. */
class Answers {
  readonly #world: DurableWorld;
  readonly #fill: (value: Value) => Value;
  #left: readonly Answer[];
  readonly #sent = new Set<unknown>();

  constructor(world: DurableWorld, fill: (value: Value) => Value, answers: readonly Answer[]) {
    this.#world = world;
    this.#fill = fill;
    const rank = ({ Operation, Delay = 0 }: Answer): number => (Operation === 'heartbeat' ? -1 : Delay);
    this.#left = [...answers].sort((a, b) => rank(a) - rank(b));
  }

  /** @returns undefined if no timer is due */
  async next(): Promise<'accepted' | 'over' | undefined> {
    const history = await this.#world.history('r');
    const started = history.filter(({ EventType }) => EventType === 'CallbackStarted');
    const callbackOf = ({ CallbackName }: Answer): HistoryEvent | undefined =>
      started.find(({ Id, Name }) => (CallbackName === '*' ? !this.#sent.has(Id) : Name === this.#fill(CallbackName)));
    const answer = this.#left.find((each) => callbackOf(each) !== undefined);
    const callback = answer && callbackOf(answer);
    if (answer === undefined || callback === undefined) return undefined;
    this.#left = this.#left.filter((each) => each !== answer);
    await this.#world.clock.advance((answer.Delay ?? 0) * 1_000);
    if (answer.Operation !== 'heartbeat') this.#sent.add(callback.Id);
    const { CallbackId } = callback.CallbackStartedDetails as { readonly CallbackId: string };
    const { callbacks } = this.#world.leasehold.tasks;
    const payload = this.#fill(answer.Payload);
    if (answer.Operation === 'heartbeat') return callbacks.heartbeat(CallbackId);
    if (answer.Operation === 'success') return callbacks.succeed(CallbackId, textOf(payload));
    return callbacks.fail(CallbackId, { name: payload?.ErrorType, message: payload?.ErrorMessage });
  }
}

/** As the runner writes JSON: with a space after each comma and colon. */
function textOf(payload: Value): string | undefined {
  if (payload === undefined || payload === null) return undefined;
  const text = JSON.stringify(payload);
  return typeof payload === 'object' ? text.replaceAll('":', '": ').replaceAll(',"', ', "') : text;
}

/** The row of a child has what AWS's history says of it. */
async function withChild(world: DurableWorld, event: HistoryEvent): Promise<HistoryEvent> {
  const details = event.ChainedInvokeStartedDetails as { readonly DurableExecutionArn: string } | undefined;
  if (details === undefined) return event;
  const child = await world.leasehold.tasks.get(details.DurableExecutionArn);
  const input = child?.payload === undefined ? child?.input : '(in a row of its own)';
  const Input = { Payload: JSON.stringify(input) };
  const more = { ExecutedVersion: '1', Input, TenantId: child?.tenant };
  return { ...event, ChainedInvokeStartedDetails: { ...details, ...more } };
}

function generated(name: string, text: string): string {
  const random = `${name}-abcdefghijklmnopqrstuvwxyz-${name}`;
  return text.replaceAll(/\$\{GEN_STR:(\d+)\}/g, (_, length_: string) =>
    random.padEnd(100, 'z').slice(0, Number(length_)),
  );
}

function filler(variables: Readonly<Record<string, Value>>): (value: Value) => Value {
  const fill = (value: Value): Value => {
    if (typeof value === 'string')
      return value.replaceAll(/\$\{(\w+)\}/g, (all, name: string) => variables[name] ?? all);
    if (Array.isArray(value)) return value.map(fill);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fill(each)]));
  };
  return fill;
}
