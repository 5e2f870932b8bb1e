/**
 * `durableTask`: a task whose code is a workflow of AWS's durable execution SDK. Each step's result is recorded in the task's row, and
 * while it waits, no worker runs it.
 *
 * Guarantees
 *   - A step whose result is recorded does not run again, whoever dies when. A superseded holder records nothing.
 *   - An answer from outside is accepted at most once, and never after its timeout. An accepted answer reaches the code.
 *   - A task that `ctx.invoke` starts exists if and only if its start is recorded, and its end arrives once.
 *   - Writes passed to `withStep` are applied with the record of their step, or not at all.
 *
 * Does not guarantee
 *   - That a step's code runs once: if its worker dies before the record, it runs again. Code outside of steps runs again in each
 *     invocation.
 *   - That changed code continues where this code stopped: operations are identified by their order, name and type. See `docs/durable.md`.
 *
 * An *invocation* is one run of the code by a claim, from the start to a suspension, an end or a failure. `retry` and `timeout` apply to
 * an invocation: to crashes and lost leases. An error that the code throws ends the execution.
 */
import type { DurableContext, DurableInstrumentationPlugin, DurableLambdaHandler } from '@aws/durable-execution-sdk-js';
import * as sdk from '@aws/durable-execution-sdk-js';
import { ConfigurationError, CorruptItemError, messageOf, shown } from '../../core/errors.ts';
import type { Duration } from '../../core/validate/duration.ts';
import { givenMs } from '../../core/validate/duration.ts';
import { validOptions } from '../../core/validate/options.ts';
import { linkOf, linked } from '../run/attempt-link.ts';
import type { ClaimHolder } from '../run/claim-holder.ts';
import { holderOf } from '../run/claim-holder.ts';
import { describeError } from '../run/settle.ts';
import type { TaskContext } from '../task/context.ts';
import { DoNotRetry } from '../task/control.ts';
import type { TaskDefinition, TaskOptions } from '../task/definition.ts';
import { defineTask } from '../task/definition.ts';
import { storableJson } from '../task/storable-json.ts';
import type { Json, TaskError } from '../task/task.ts';
import { ERROR_MESSAGE_LIMIT_CHARACTERS, claimOf, describeTask } from '../task/task.ts';
import { EXECUTION_TIMED_OUT } from './arrival.ts';
import { ENTRY_LIMIT_BYTES, JournalLimitError } from './asked-entries.ts';
import type { InvocationPorts } from './invocation.ts';
import { ExecutionTimedOut, NotDurable, invoke } from './invocation.ts';
import type { OpenJournals } from './journal-store.ts';
import { Journal, hasSettled } from './journal.ts';
import { judgedSdk } from './sdk.ts';

/** The task for a durable task's code: its data, without the verbs, because the SDK has its own. */
export type DurableTaskInfo = Pick<
  TaskContext,
  'id' | 'runId' | 'queue' | 'tenant' | 'attempt' | 'signal' | 'log' | 'schedule'
>;

interface DurablePolicy<Input, Given> extends Pick<
  TaskOptions<Input, unknown, Given>,
  'name' | 'input' | 'retry' | 'timeout'
> {
  /** How long the execution may take, waits included. Then it is dead, with the error `Execution.TimedOut`. Default: a year. */
  readonly executionTimeout?: Duration;
  /** The tasks that invoked functions are: by the name or the ARN that the code invokes. */
  readonly functions?: Readonly<Record<string, string | { readonly name: string }>>;
}

export interface DurableTaskOptions<Input, Output, Given = Input> extends DurablePolicy<Input, Given> {
  /** Plugins of the SDK. */
  readonly plugins?: readonly DurableInstrumentationPlugin[];
  /** The code. It must ask for the same operations in the same order each time it runs. */
  run(input: Input, ctx: DurableContext, task: DurableTaskInfo): Promise<Output>;
}

export interface DurableHandlerOptions<Input, Given = Input> extends DurablePolicy<Input, Given> {
  /**
   * A durable function as it is deployed to Lambda: what `withDurableExecution` returns. Each start of a step is recorded before the step
   * runs, and its logger is the SDK's own.
   */
  readonly handler: DurableLambdaHandler;
}

const YEAR_MS = 365 * 86_400_000;
/** A damaged journal is read again after this. */
const DAMAGED_PAUSE_MS = 5 * 60_000;
const POLICY_OPTIONS = ['name', 'input', 'retry', 'timeout', 'executionTimeout', 'functions'] as const;
const SETTLED = { kind: 'leasehold.settled' } as const;

/** Defines durable tasks on a store of journals. */
export function defineDurable(
  options: DurableTaskOptions<never, unknown, never> | DurableHandlerOptions<never, never>,
  open: OpenJournals,
): TaskDefinition {
  const { isTested } = judgedSdk(sdk);
  const isHandler = 'handler' in options;
  const given = isHandler
    ? validOptions('the options of durableTask', options, [...POLICY_OPTIONS, 'handler'])
    : validOptions('the options of durableTask', options, [...POLICY_OPTIONS, 'plugins', 'run']);
  const { name, executionTimeout, functions = {} } = given;
  const kind = typeof (isHandler ? options.handler : (options as Partial<DurableTaskOptions<never, unknown>>).run);
  if (kind !== 'function')
    throw new ConfigurationError(
      `durable task ${shown(name)}: ${isHandler ? 'handler' : 'run'} is of type ${kind}: pass run, its code, or handler, a durable function`,
    );
  const executionMs = givenMs(`durable task ${name}: executionTimeout`, executionTimeout) ?? YEAR_MS;
  const execution: Omit<Execution, 'handler'> = {
    open,
    executionMs,
    recordsStarts: isHandler || !isTested,
    taskNameOf: (called) => nameIn(functions, called, isHandler),
  };
  const { input, retry, timeout } = given;
  const definition = defineTask<never, unknown>({
    name,
    ...(input && { input }),
    ...(retry && { retry }),
    ...(timeout === undefined ? {} : { timeout }),
    run: (arrived: unknown, task) => {
      const handler = isHandler ? handlerOf(options.handler) : handlerOfRun(options, arrived as never, task);
      return runDurable(arrived, task, { ...execution, handler });
    },
  });
  return { ...definition, isDurable: true };
}

/** Runs the code of a durable task. */
export interface Execution extends Pick<InvocationPorts, 'handler' | 'recordsStarts' | 'taskNameOf'> {
  readonly open: OpenJournals;
  readonly executionMs: number;
}

/** The name of the task that is invoked. A handler may name a function with its alias or by its ARN. */
function nameIn(
  functions: NonNullable<DurablePolicy<never, never>['functions']>,
  called: string,
  isHandler: boolean,
): string {
  const [, bare = called] = /(?:^|:function:)([^:]+)(?::[^:]+)?$/.exec(called) ?? [];
  const task = functions[called] ?? functions[bare] ?? (isHandler ? bare : called);
  return typeof task === 'string' ? task : task.name;
}

function handlerOf(handler: DurableLambdaHandler): InvocationPorts['handler'] {
  return (client) => (event, context) => {
    // The class copies only what it knows.
    const { UpdatedOperationIds } = event;
    const given = new sdk.DurableExecutionInvocationInputWithClient(event, client);
    return handler(Object.assign(given, UpdatedOperationIds && { UpdatedOperationIds }), context);
  };
}

function handlerOfRun(
  options: DurableTaskOptions<never, unknown>,
  input: never,
  task: TaskContext,
): InvocationPorts['handler'] {
  const { plugins = [] } = options;
  const { id, runId, queue, tenant, attempt, signal, log, schedule } = task;
  const link = linkOf(task);
  const plain: DurableTaskInfo = { id, runId, queue, tenant, attempt, signal, log, schedule };
  const info = link === undefined ? plain : linked(plain, link);
  return (client, hooks) =>
    sdk.withDurableExecution(
      async (_, ctx: DurableContext) => {
        ctx.configureLogger({ customLogger: loggerOf(task) });
        return options.run(input, ctx, info);
      },
      { durableExecutionClient: client, plugins: [hooks, ...plugins] },
    );
}

/** Runs one claim, until the task is suspended or has ended. */
export async function runDurable(input: unknown, task: TaskContext, execution: Execution): Promise<unknown> {
  const holder = holderOf(task);
  const opening = Journal.open(holder, execution.open(holder.tasks), execution.executionMs);
  const journal = await opening.catch((error: unknown) => leave(holder, error));
  if (journal === undefined) return SETTLED;
  for (;;) {
    await journal.refresh();
    const deadlineAt = (journal.operations.beganAt ?? journal.now) + execution.executionMs;
    const end = await endOf({ ...execution, journal, holder, task, input, deadlineAt });
    if (end !== 'pending') {
      if (end.error !== undefined) {
        const { queue, id, name, attempts } = holder.task;
        const facts = { task: id, name, queue, attempt: attempts, error: end.error, then: 'dead' };
        holder.log.warn('task attempt failed', facts);
      }
      await journal.end(end);
      return SETTLED;
    }
    if (await journal.suspend(deadlineAt)) return SETTLED;
  }
}

/** Leaves a task whose journal is damaged: none of its code runs and it uses no attempt until its rows are mended. @throws other errors */
async function leave(holder: ClaimHolder, error: unknown): Promise<undefined> {
  if (!(error instanceof CorruptItemError)) throw error;
  const { task, tasks, runtime, verb, onDamaged } = holder;
  onDamaged(error);
  const now = runtime.clock.now();
  const failure = { error: describeError(error, now), readyAt: now + DAMAGED_PAUSE_MS, isRefunded: true };
  await verb('released', async (stamp, limits) =>
    hasSettled(holder, await tasks.retry(claimOf(task), failure, stamp, limits)),
  );
}

type End = { readonly result?: Json; readonly error?: TaskError };

/** Runs the code once. @throws what ends the invocation, but not the execution */
async function endOf(ports: InvocationPorts): Promise<End | 'pending'> {
  const { journal, holder, deadlineAt } = ports;
  const errorOf = (name: string, message: string): End => ({
    error: { name, message: message.slice(0, ERROR_MESSAGE_LIMIT_CHARACTERS).toWellFormed(), at: journal.now },
  });
  const timedOut = () =>
    errorOf(
      EXECUTION_TIMED_OUT,
      `the execution took longer than its timeout: it was to end by ${new Date(deadlineAt).toISOString()}`,
    );
  if (journal.now >= deadlineAt) return timedOut();
  try {
    const output = await invoke(ports);
    if (output.Status === sdk.InvocationStatus.PENDING) return 'pending';
    if (output.Status === sdk.InvocationStatus.FAILED) {
      const { ErrorType = 'Error', ErrorMessage = '' } = output.Error;
      return errorOf(ErrorType, withAdvice(ErrorMessage));
    }
    const { Result } = output;
    if (Result === undefined || Result === '') return {};
    const what = `the result of ${describeTask(holder.task)}`;
    return { result: storableJson(what, JSON.parse(Result) as Json, ENTRY_LIMIT_BYTES) };
  } catch (error) {
    if (error instanceof ExecutionTimedOut) return timedOut();
    if (error instanceof NotDurable)
      throw new DoNotRetry(
        `the handler of task ${holder.task.name} is not durable: pass what withDurableExecution returns`,
      );
    if (error instanceof ConfigurationError || error instanceof JournalLimitError)
      return errorOf(error.name, messageOf(error));
    throw error;
  }
}

/** The SDK names the change in the code; we add the remedy. */
function withAdvice(message: string): string {
  return message.includes('Non-deterministic execution detected')
    ? `${message}. Its code was changed while it was under way: run the former code again and retry it, or give new code a new task name`
    : message;
}

/** The SDK's logger takes any values; ours a text. */
function loggerOf({ log }: TaskContext) {
  const line =
    (level: 'info' | 'warn' | 'error' | 'debug') =>
    (...given: unknown[]): void =>
      log[level](given.map(textOf).join(' '));
  return { log: line('info'), info: line('info'), warn: line('warn'), error: line('error'), debug: line('debug') };
}

function textOf(given: unknown): string {
  if (typeof given === 'string') return given;
  return given instanceof Error ? messageOf(given) : shown(given);
}
