/**
 * One invocation of a durable task's code: the SDK runs it, and this is the backend that it talks to.
 *
 * Errors of the backend reach the SDK in one of two scopes. INVOCATION ends this invocation, and the SDK rethrows it: the claim then ends
 * as any other claim whose code threw. EXECUTION makes the execution fail, because trying again would not help.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type {
  DurableExecutionClient,
  DurableExecutionInvocationOutput,
  DurableInstrumentationPlugin,
  DurableLambdaHandler,
  OperationUpdate,
  WireOperation,
} from '@aws/durable-execution-sdk-js';
import { DurableExecutionClientError } from '@aws/durable-execution-sdk-js';
import { ConfigurationError, messageOf } from '../../core/errors.ts';
import type { ClaimHolder, SkippedTime } from '../run/claim-holder.ts';
import { sendWithin } from '../tracing/tracing.ts';
import type { TaskContext } from '../task/context.ts';
import type { Effect, UserWrite } from '../task/task-store.ts';
import { ensureWrites } from '../task/user-writes.ts';
import type { Asked } from './asked-entries.ts';
import { JournalLimitError } from './asked-entries.ts';
import { childOf } from './child-task.ts';
import type { Journal } from './journal.ts';
import { lambdaContextOf } from './lambda-context.ts';
import type { OperationState } from './operations.ts';
import { entryOf, wireOf } from './wire.ts';

export interface InvocationPorts {
  readonly journal: Journal;
  readonly holder: ClaimHolder;
  readonly task: TaskContext;
  readonly input: unknown;
  /** Whether each start is recorded before the code continues. */
  readonly recordsStarts: boolean;
  /** The task that an invoked function is. */
  readonly taskNameOf: (functionName: string) => string;
  /** Makes the handler. */
  readonly handler: (client: DurableExecutionClient, hooks: DurableInstrumentationPlugin) => DurableLambdaHandler;
  /** When the execution has taken too long. */
  readonly deadlineAt: number;
}

/** The execution has taken longer than its `executionTimeout`. */
export class ExecutionTimedOut extends Error {}
/** The handler answered something else than a durable function does. */
export class NotDurable extends Error {}

/** The SDK sends it back, and the row judges a write anyway. */
const TOKEN = 'leasehold';
/** The writes that the code of a step has asked for. */
const step = new AsyncLocalStorage<UserWrite[]>();

/**
 * Inside a step: applies these writes to your own tables in the transaction that records the step's result. If a condition of one is
 * false, the transaction records nothing, and the step runs again after the task's backoff.
 * @throws ConfigurationError outside of a step, and for what is no write
 */
export function withStep(...writes: readonly UserWrite[]): void {
  const asked = step.getStore();
  if (asked === undefined)
    throw new ConfigurationError(
      'withStep was called outside of the code of a step: call it in the function of ctx.step',
    );
  ensureWrites('the writes of withStep', writes);
  asked.push(...writes);
}

export async function invoke(ports: InvocationPorts): Promise<DurableExecutionInvocationOutput> {
  return new Invocation(ports).run();
}

class Invocation {
  readonly #ports: InvocationPorts;
  /** Starts of each step that a hook has told of, less those that the SDK has asked to record. */
  readonly #told = new Map<string, number>();
  readonly #writes = new Map<string, readonly UserWrite[]>();
  readonly #time: SkippedTime | undefined;
  /** Why the backend ended the invocation, or the execution. */
  #failure: { readonly error: unknown; readonly isFinal: boolean } | undefined;

  constructor(ports: InvocationPorts) {
    this.#ports = ports;
    this.#time = ports.holder.skipTime?.();
  }

  async run(): Promise<DurableExecutionInvocationOutput> {
    const { journal, holder, task, handler } = this.#ports;
    const { queue, id, createdAt, leaseCounter } = holder.task;
    const updated = journal.takeUpdated();
    const operations = journal.operations.visible().map((state) => this.#wire(state));
    const event = {
      DurableExecutionArn: ['leasehold', queue, id, createdAt].map(encodeURIComponent).join(':'),
      CheckpointToken: TOKEN,
      ...(operations.length === 0 ? {} : { UpdatedOperationIds: [...updated] }),
      InitialExecutionState: { Operations: [this.#execution(), ...operations] },
    };
    const remainingMs = this.#time === undefined ? () => task.remainingMs() : () => Infinity;
    const context = lambdaContextOf(holder.task, `${id}/${leaseCounter}`, remainingMs);
    let output: unknown;
    try {
      output = await handler(this.#client, this.#hooks)(event, context);
    } catch (error) {
      throw this.#failure === undefined ? error : this.#failure.error;
    }
    // The SDK has made an error of its own of what ends the execution.
    if (this.#failure?.isFinal === true) throw this.#failure.error;
    if (!isOutput(output)) throw new NotDurable();
    return output;
  }

  #execution(): WireOperation {
    const { holder, input } = this.#ports;
    return {
      Id: 'execution',
      Type: 'EXECUTION',
      Status: 'STARTED',
      StartTimestamp: new Date(holder.task.createdAt),
      ExecutionDetails: { InputPayload: JSON.stringify(input ?? null) },
    };
  }

  readonly #client: DurableExecutionClient = {
    checkpoint: async ({ Updates = [] }) => {
      try {
        const changed = await this.#checkpoint(Updates);
        const Operations = changed.map((state) => this.#wire(state));
        return { CheckpointToken: TOKEN, NewExecutionState: { Operations } };
      } catch (error) {
        const isFinal = error instanceof JournalLimitError || error instanceof ConfigurationError;
        this.#failure = { error, isFinal };
        throw new DurableExecutionClientError(messageOf(error), {
          scope: isFinal ? 'EXECUTION' : 'INVOCATION',
          cause: error,
        });
      }
    },
    // The event has all of it.
    getExecutionState: () => Promise.resolve({ Operations: [], NextMarker: undefined }),
  };

  async #checkpoint(updates: readonly OperationUpdate[]): Promise<readonly OperationState[]> {
    const { journal, task, deadlineAt } = this.#ports;
    if (journal.now >= deadlineAt) throw new ExecutionTimedOut();
    // Ended operations are still recorded; new ones do not begin.
    if (updates.every(({ Action }) => Action === 'START')) task.signal.throwIfAborted();
    if (updates.length > 0) await this.#atWork(() => this.#record(updates));
    // On a clock of tests without a request, because a busy machine decides how often it is called.
    else if ((await this.#time?.polled(journal.msToWake())) === false) await journal.refresh();
    else await journal.poll();
    return journal.operations.takeChanged();
  }

  #atWork<T>(work: () => Promise<T>): Promise<T> {
    return this.#time === undefined ? work() : this.#time.during(work);
  }

  async #record(updates: readonly OperationUpdate[]): Promise<void> {
    const { journal } = this.#ports;
    // Each is asked, because the answer counts.
    const isSoft = updates.map((update) => this.#isSoft(update)).every(Boolean);
    const asked = await Promise.all(updates.map((update) => this.#askedOf(update)));
    const hasEffects = asked.some(({ effects }) => effects.length > 0);
    await (isSoft && !hasEffects ? journal.soften(asked.map(({ entry }) => entry)) : journal.record(asked));
  }

  /** Whether the SDK does not wait for the record of this change. */
  #isSoft({ Type, Action, Id = '' }: OperationUpdate): boolean {
    if (this.#ports.recordsStarts) return false;
    if (Type === 'CONTEXT') return true;
    if (Action !== 'START') return false;
    return Type === 'WAIT' || (Type === 'STEP' && this.#tell(Id, -1) >= 0);
  }

  #tell(id: string, by: number): number {
    const count = (this.#told.get(id) ?? 0) + by;
    this.#told.set(id, count);
    return count;
  }

  async #askedOf(update: OperationUpdate): Promise<Asked> {
    const { journal, holder } = this.#ports;
    const unique = update.Type === 'CALLBACK' ? holder.runtime.ids.unique() : holder.task.leaseCounter.toString(36);
    const entry = entryOf(update, journal.now, unique);
    const { a, y, i = '' } = entry;
    if (a === 'start' && y === 'CHAINED_INVOKE') {
      const f = this.#ports.taskNameOf(update.ChainedInvokeOptions?.FunctionName ?? '');
      return { entry: { ...entry, f }, effects: [{ spawn: await childOf(update, { ...entry, f }, holder) }] };
    }
    const effects: readonly Effect[] = a === 'succeed' ? (this.#writes.get(i) ?? []) : [];
    if (y === 'STEP' && a !== 'start') this.#writes.delete(i);
    return { entry, effects };
  }

  readonly #hooks: DurableInstrumentationPlugin = {
    onOperationStart: ({ id, type }) => {
      if (type === 'STEP') this.#tell(id, 1);
      return Promise.resolve();
    },
    wrapOperationAttemptFn: ({ id, name }, code) => this.#attempt(id, name ?? id, code),
  };

  /** Runs the code of a step within its span. */
  async #attempt(id: string, name: string, code: () => unknown): Promise<unknown> {
    const { task, trace, runtime } = this.#ports.holder;
    const asked: UserWrite[] = [];
    this.#writes.set(id, asked);
    const span = trace?.spans.step(name, task, { at: runtime.clock.now(), within: trace.attempt });
    return this.#atWork(() => sendWithin(span, runtime.clock, async () => step.run(asked, code)));
  }

  #wire(state: OperationState): WireOperation {
    const { holder, journal } = this.#ports;
    const operation = wireOf(holder.task, state);
    return this.#time?.shown(operation, journal.now) ?? operation;
  }
}

function isOutput(output: unknown): output is DurableExecutionInvocationOutput {
  if (typeof output !== 'object' || output === null) return false;
  return ['SUCCEEDED', 'FAILED', 'PENDING'].includes(String((output as { readonly Status?: unknown }).Status));
}
