/** The code of simulated durable tasks: each a plan that its id decides, so that every invocation asks for the same. */
import { sha256 } from '../../../shared/core/runtime/sha256.ts';
import type { Execution } from '../../../shared/tasks/durable/durable-task.ts';
import { runDurable } from '../../../shared/tasks/durable/durable-task.ts';
import { withStep } from '../../../shared/tasks/durable/invocation.ts';
import type { TaskContext } from '../../../shared/tasks/task/context.ts';
import { createJournalStore } from '../../../shared/tasks/rows/task/dynamo-journal-store.ts';
import { Prng } from '../../../test/support/machines/prng.ts';
import type { SimulatedProcess } from '../../../test/support/machines/process.ts';
import type { RightName } from '../history.ts';
import { observeJournals } from '../observed-stores.ts';
import type { Recorder } from '../recorder.ts';
import { USER_TABLE } from '../rows.ts';
import { DurableRuntime, OperationFailed } from './durable-runtime.ts';

/** A callback that somebody should answer. */
export interface Question {
  readonly callbackId: string;
  /** An answer is optional: it has a timeout. */
  readonly hasTimeout: boolean;
  readonly hasHeartbeats: boolean;
}

interface Place {
  readonly process: SimulatedProcess;
  readonly recorder: Recorder;
  readonly prng: Prng;
  readonly seen: (what: string) => void;
  readonly ask: (question: Question) => void;
}

export interface DurableInput {
  readonly half: number;
  readonly version?: number;
}

export const DURABLE = 'durable';
const EXECUTION_MS = 365 * 86_400_000;
/** Larger than what stays in the row. */
const LARGE_BYTES = 600;

/** The parts of a plan. Every third of a kind is drawn from the task's own chance. */
const PARTS = [
  'step',
  'step',
  'large',
  'once',
  'flaky',
  'effect',
  'effect',
  'wait',
  'ask',
  'ask',
  'invoke',
  'both',
] as const;

/** @returns the code of a durable task */
export function durably(
  place: Place,
  task: TaskContext,
  { right, isBelieved }: { readonly right: RightName; readonly isBelieved: () => boolean },
  input: DurableInput,
): Promise<unknown> {
  const { process, recorder } = place;
  const { half, version = 0 } = input;
  const name = `${task.id}-${half}.${version}`;
  const plan = new Prng(BigInt(`0x${sha256(name).slice(0, 16)}`));
  let isResumed = false;
  let stopsBelieving: (() => void) | undefined;
  const execution: Execution = {
    open: (tasks) => observeJournals(createJournalStore(tasks), process, recorder),
    executionMs: EXECUTION_MS,
    recordsStarts: plan.fork('starts').chance(0.2),
    taskNameOf: (called) => called,
    handler: (client, hooks) => async (event) => {
      if (isResumed) stopsBelieving = recorder.believes(process, right, isBelieved);
      isResumed = true;
      const [, ...operations] = event.InitialExecutionState.Operations;
      const run = new DurableRuntime({
        client,
        hooks,
        clock: process.runtime.clock,
        signal: task.signal,
        operations,
        onRecorded: (op) => {
          if (process.isAlive)
            recorder.emit({ kind: 'recorded', at: process.now, process: process.name, ...right, op });
        },
      });
      const output = await run.run(() => follow(place, run, { task, right, plan, name, half }));
      const status: string = output.Status;
      place.seen(`durable: ${status}`);
      if (status !== 'PENDING') recorder.emit({ kind: 'ended', at: process.now, process: process.name, ...right });
      // It gives its right away with its next request, even if the response comes later. If it continues, it trusts again.
      recorder.gaveBack(process, right);
      return output;
    },
  };
  return runDurable(input, task, execution).finally(() => stopsBelieving?.());
}

interface Plan {
  readonly task: TaskContext;
  readonly right: RightName;
  readonly plan: Prng;
  readonly name: string;
  readonly half: number;
}

async function follow(place: Place, run: DurableRuntime, plan: Plan): Promise<unknown> {
  const { plan: chance } = plan;
  const answers: Record<string, string> = {};
  const parts = chance.fork('length').integer(2, 6);
  for (let n = 1; n <= parts; n++) {
    const own = chance.fork(`part ${n}`);
    const kind = own.pick(PARTS);
    await part(place, run, { ...plan, plan: own }, `${kind}${n}`, kind, answers);
  }
  if (chance.fork('end').chance(0.1)) throw new OperationFailed('it was meant to fail');
  return { answers };
}

async function part(
  place: Place,
  run: DurableRuntime,
  plan: Plan,
  id: string,
  kind: (typeof PARTS)[number],
  answers: Record<string, string>,
): Promise<void> {
  const { plan: chance, half } = plan;
  const step = (bytes = 20, tries = 1, isAtMostOnce = false): Promise<unknown> =>
    run.step(
      id,
      async () => {
        await act(place, run, plan, id);
        if (tries > 1 && place.prng.chance(0.4)) throw new OperationFailed('it stumbled');
        return randomText(place.prng, bytes);
      },
      { tries, isAtMostOnce },
    );
  switch (kind) {
    case 'step':
      await step();
      return;
    case 'large':
      await step(LARGE_BYTES);
      return;
    case 'once':
      // An interrupted operation may have happened, and is not repeated.
      await step(20, 1, true).catch(failed);
      return;
    case 'flaky':
      await step(20, 3).catch(failed);
      return;
    case 'effect':
      await run.step(id, async () => {
        await act(place, run, plan, id);
        withStep(receipt(`${plan.name}-${id}`));
        return null;
      });
      return;
    case 'wait':
      await run.wait(id, chance.integer(1, 3));
      return;
    case 'ask':
      answers[id] = await asked(place, run, plan, id);
      return;
    case 'invoke': {
      const child = chance.pick(['quick', 'refuses']);
      await run.invoke(id, child, { kind: child, half }).catch(failed);
      return;
    }
    default:
      await run.parallel(id, [
        async () => {
          answers[`${id}x`] = await asked(place, run, plan, `${id}x`);
          return null;
        },
        async () => {
          await run.wait(`${id}y`, 1);
          return run.step(`${id}z`, () => act(place, run, plan, `${id}z`), { within: `${id}b1` });
        },
      ]);
  }
}

/** @returns the answer, or how there was none */
async function asked(place: Place, run: DurableRuntime, { plan }: Plan, id: string): Promise<string> {
  const hasTimeout = plan.fork('timeout').chance(0.5);
  const hasHeartbeats = hasTimeout && plan.fork('heartbeats').chance(0.4);
  const options = {
    ...(hasTimeout && { TimeoutSeconds: plan.fork('seconds').integer(2, 6) }),
    ...(hasHeartbeats && { HeartbeatTimeoutSeconds: 2 }),
  };
  try {
    const answer = await run.callback(id, options, async (callbackId) =>
      place.ask({ callbackId, hasTimeout, hasHeartbeats }),
    );
    return String(answer);
  } catch (error) {
    if (!(error instanceof OperationFailed)) throw error;
    place.seen(`durable: ${error.message.includes('TIMED_OUT') ? 'callback timed out' : 'callback failed'}`);
    // Then an operator may retry it, and it asks again.
    if (plan.fork('needs it').chance(0.5)) throw error;
    return error.message;
  }
}

/** The code of a step. */
async function act(
  { process, recorder, prng }: Place,
  run: DurableRuntime,
  { task, right }: Plan,
  op: string,
): Promise<null> {
  if (process.isAlive) recorder.emit({ kind: 'stepped', at: process.now, process: process.name, ...right, op });
  await process.runtime.clock.sleep(prng.exponential(80), task.signal);
  if (prng.chance(0.2)) await run.poll();
  if (!task.signal.aborted) recorder.acted(process, right);
  return null;
}

function failed(error: unknown): null {
  if (error instanceof OperationFailed) return null;
  throw error;
}

function receipt(name: string) {
  return {
    Update: {
      TableName: USER_TABLE,
      Key: { id: `step-${name}` },
      UpdateExpression: 'ADD #count :one',
      ExpressionAttributeNames: { '#count': 'count' },
      ExpressionAttributeValues: { ':one': 1 },
    },
  };
}

/** It cannot be deflated by much. */
function randomText(prng: Prng, bytes: number): string {
  let text = '';
  while (text.length < bytes) text += prng.next().toString(36).slice(2);
  return text.slice(0, bytes);
}
