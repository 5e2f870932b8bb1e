/**
 * The runtime of simulated durable tasks, in place of AWS's SDK, whose timers are real. It speaks the SDK's language with
 * the backend: it asks for one batch of changes at a time, does not wait for the start of a step that may repeat, polls while a step runs,
 * and suspends when every branch waits.
 */
import type {
  DurableExecutionClient,
  DurableExecutionInvocationOutput,
  DurableInstrumentationPlugin,
  OperationUpdate,
  WireOperation,
} from '@aws/durable-execution-sdk-js';
import type { Clock } from '../../../shared/core/runtime/clock.ts';

const OVER: ReadonlySet<unknown> = new Set(['SUCCEEDED', 'FAILED', 'CANCELLED', 'TIMED_OUT', 'STOPPED']);
/** As long as the SDK waits before it suspends, in case something happens. */
const COOL_DOWN_MS = 20;

/** An operation ended otherwise than well. */
export class OperationFailed extends Error {}

export interface RuntimePorts {
  readonly client: DurableExecutionClient;
  readonly hooks: DurableInstrumentationPlugin;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Told of each end that the backend has recorded. */
  readonly onRecorded: (op: string) => void;
  /** The input of a new invocation. */
  readonly operations: readonly WireOperation[];
}

interface Queued {
  readonly update: OperationUpdate;
  readonly done: () => void;
}

export class DurableRuntime {
  readonly #ports: RuntimePorts;
  readonly #operations = new Map<string, WireOperation>();
  /** Steps that an earlier invocation had begun. */
  readonly #interrupted: ReadonlySet<string>;
  readonly #waiting = new Map<string, () => void>();
  #queue: Queued[] = [];
  #isSending = false;
  #isOver = false;
  /** Branches that do not wait. */
  #busy = 1;
  /** Grows with everything that happens. */
  #turn = 0;
  #end: ((output: DurableExecutionInvocationOutput) => void) | undefined;
  #fail: ((error: unknown) => void) | undefined;

  constructor(ports: RuntimePorts) {
    this.#ports = ports;
    for (const operation of ports.operations) this.#operations.set(String(operation.Id), operation);
    this.#interrupted = new Set(
      ports.operations.filter(({ Status }) => Status === 'STARTED').map(({ Id }) => String(Id)),
    );
  }

  run(code: (run: DurableRuntime) => Promise<unknown>): Promise<DurableExecutionInvocationOutput> {
    return new Promise((resolve, reject) => {
      const once =
        <Given>(end: (given: Given) => void) =>
        (given: Given): void => {
          if (this.#isOver) return;
          this.#isOver = true;
          end(given);
        };
      this.#end = once(resolve);
      this.#fail = once(reject);
      code(this).then(
        (result) => this.#end?.({ Status: 'SUCCEEDED', Result: JSON.stringify(result) } as never),
        (error: unknown) => {
          if (error instanceof OperationFailed)
            this.#end?.({ Status: 'FAILED', Error: { ErrorType: 'Failed', ErrorMessage: error.message } } as never);
          else this.#fail?.(error);
        },
      );
    });
  }

  /** @param tries how often its code may fail */
  async step(
    id: string,
    code: () => Promise<unknown>,
    { isAtMostOnce = false, tries = 1, within }: { isAtMostOnce?: boolean; tries?: number; within?: string } = {},
  ): Promise<unknown> {
    const { hooks } = this.#ports;
    const own = { Id: id, Name: id, Type: 'STEP', ...(within === undefined ? {} : { ParentId: within }) } as const;
    for (;;) {
      if (this.#operations.get(id)?.Status === 'PENDING') await this.#until(id, (status) => status !== 'PENDING');
      const known = this.#operations.get(id);
      if (OVER.has(known?.Status)) return resultOf(known!, known!.StepDetails);
      const isCutOff = isAtMostOnce && known?.Status === 'STARTED' && this.#interrupted.has(id);
      let error = 'it was cut off';
      if (!isCutOff) {
        const start = { ...own, Action: 'START' } as const;
        // In the order of the SDK: see `test/unit/tasks/durable/sdk.test.ts`.
        if (isAtMostOnce) await this.#ask(start);
        await hooks.onOperationStart?.({ id, type: 'STEP' } as never);
        if (!isAtMostOnce && known?.Status !== 'STARTED') void this.#ask(start);
        try {
          const result = await this.#attempt(id, code);
          await this.#ask({ ...own, Action: 'SUCCEED', Payload: JSON.stringify(result) });
          return result;
        } catch (failure) {
          if (!(failure instanceof OperationFailed)) throw failure;
          error = failure.message;
        }
      }
      const Error = { ErrorType: 'Failed', ErrorMessage: error };
      const isLast = (known?.StepDetails?.Attempt ?? 0) + 1 >= tries;
      await this.#ask(
        isLast
          ? { ...own, Action: 'FAIL', Error }
          : { ...own, Action: 'RETRY', Error, StepOptions: { NextAttemptDelaySeconds: 1 } },
      );
    }
  }

  async wait(id: string, WaitSeconds: number): Promise<void> {
    if (!this.#operations.has(id))
      await this.#ask({ Id: id, Name: id, Type: 'WAIT', Action: 'START', WaitOptions: { WaitSeconds } });
    await this.#until(id, (status) => OVER.has(status));
  }

  /** A callback, and a step that tells somebody its id: `waitForCallback`. @returns the answer */
  async callback(
    id: string,
    {
      TimeoutSeconds,
      HeartbeatTimeoutSeconds,
    }: { readonly TimeoutSeconds?: number; readonly HeartbeatTimeoutSeconds?: number },
    submit: (callbackId: string) => Promise<void>,
  ): Promise<unknown> {
    const context = { Id: id, Name: id, Type: 'CONTEXT', SubType: 'WaitForCallback' } as const;
    const known = this.#operations.get(id);
    if (known !== undefined && OVER.has(known.Status)) return resultOf(known, known.ContextDetails);
    const own = `${id}c`;
    const CallbackOptions = {
      ...(TimeoutSeconds !== undefined && { TimeoutSeconds }),
      ...(HeartbeatTimeoutSeconds !== undefined && { HeartbeatTimeoutSeconds }),
    };
    if (known === undefined) void this.#ask({ ...context, Action: 'START' });
    if (!this.#operations.has(own))
      await this.#ask({ Id: own, Name: own, ParentId: id, Type: 'CALLBACK', Action: 'START', CallbackOptions });
    const callbackId = String(this.#operations.get(own)?.CallbackDetails?.CallbackId);
    await this.step(`${id}s`, async () => submit(callbackId), { within: id });
    const ended = await this.#until(own, (status) => OVER.has(status));
    try {
      const result = resultOf(ended, ended.CallbackDetails);
      void this.#ask({ ...context, Action: 'SUCCEED', Payload: JSON.stringify(result) });
      return result;
    } catch (error) {
      const ErrorMessage = error instanceof OperationFailed ? error.message : String(error);
      void this.#ask({ ...context, Action: 'FAIL', Error: { ErrorType: 'Failed', ErrorMessage } });
      throw error;
    }
  }

  async invoke(id: string, FunctionName: string, input: unknown): Promise<unknown> {
    if (!this.#operations.has(id))
      await this.#ask({
        Id: id,
        Name: id,
        Type: 'CHAINED_INVOKE',
        Action: 'START',
        Payload: JSON.stringify(input),
        ChainedInvokeOptions: { FunctionName },
      });
    const ended = await this.#until(id, (status) => OVER.has(status));
    return resultOf(ended, ended.ChainedInvokeDetails);
  }

  /** Runs branches concurrently, each in a separate context. */
  async parallel(id: string, branches: readonly (() => Promise<unknown>)[]): Promise<readonly unknown[]> {
    this.#busy += branches.length;
    const all = Promise.all(branches.map((branch, at) => this.#branch(`${id}b${at}`, branch)));
    this.#leave();
    const results = await all;
    this.#enter();
    return results;
  }

  async #branch(id: string, code: () => Promise<unknown>): Promise<unknown> {
    const own = { Id: id, Name: id, Type: 'CONTEXT' } as const;
    const known = this.#operations.get(id);
    if (!OVER.has(known?.Status)) {
      if (known === undefined) void this.#ask({ ...own, Action: 'START' });
      const result = await code();
      void this.#ask({ ...own, Action: 'SUCCEED', Payload: JSON.stringify(result) });
      this.#leave();
      return result;
    }
    this.#leave();
    return resultOf(known!, known!.ContextDetails);
  }

  /** Sees what has changed, as the SDK does while a step runs. */
  async poll(): Promise<void> {
    if (this.#isSending || this.#isOver) return;
    await this.#send([]);
  }

  /** Abandoned code has no effect: it waits forever. */
  async #attempt(id: string, code: () => Promise<unknown>): Promise<unknown> {
    const { hooks, signal } = this.#ports;
    const result = await hooks.wrapOperationAttemptFn?.({ id, name: id } as never, code);
    if (signal.aborted) throw signal.reason;
    return result;
  }

  #ask(update: OperationUpdate): Promise<void> {
    return new Promise((done) => {
      if (this.#isOver) return;
      this.#queue.push({ update, done });
      this.#turn++;
      if (!this.#isSending) void this.#pump();
    });
  }

  async #pump(): Promise<void> {
    this.#isSending = true;
    // Requests of one turn are sent together.
    await Promise.resolve();
    this.#isSending = false;
    while (this.#maySend) {
      const batch = this.#queue;
      this.#queue = [];
      await this.#send(batch);
    }
    this.#maySuspend();
  }

  async #send(batch: readonly Queued[]): Promise<void> {
    this.#isSending = true;
    try {
      const asked = { Updates: batch.map(({ update }) => update), CheckpointToken: 't', DurableExecutionArn: 'a' };
      const { NewExecutionState } = await this.#ports.client.checkpoint(asked);
      if (this.#isOver) return;
      for (const operation of NewExecutionState?.Operations ?? []) this.#learn(operation);
      for (const { update, done } of batch) {
        // The SDK relies on it from here on.
        if (update.Type === 'STEP' && update.Action !== 'START') this.#ports.onRecorded(String(update.Id));
        done();
      }
    } catch (error) {
      this.#fail?.(error);
    } finally {
      this.#isSending = false;
      this.#turn++;
      if (this.#queue.length > 0 && batch.length === 0) void this.#pump();
    }
  }

  #learn(operation: WireOperation): void {
    const id = String(operation.Id);
    this.#operations.set(id, operation);
    this.#waiting.get(id)?.();
  }

  async #until(id: string, isMet: (status: unknown) => boolean): Promise<WireOperation> {
    for (;;) {
      const known = this.#operations.get(id);
      if (known !== undefined && isMet(known.Status)) return known;
      const changed = Promise.withResolvers<undefined>();
      this.#waiting.set(id, () => changed.resolve(undefined));
      this.#leave();
      await changed.promise;
      this.#waiting.delete(id);
      this.#enter();
    }
  }

  #enter(): void {
    this.#busy++;
    this.#turn++;
  }

  #leave(): void {
    this.#busy--;
    this.#turn++;
    this.#maySuspend();
  }

  #maySuspend(): void {
    const turn = this.#turn;
    if (!this.#isIdle) return;
    void this.#ports.clock.sleep(COOL_DOWN_MS).then(() => {
      if (this.#isIdle && this.#turn === turn) this.#end?.({ Status: 'PENDING' } as never);
    });
  }

  /** Another turn may have begun to send. */
  get #maySend(): boolean {
    return this.#queue.length > 0 && !this.#isOver && !this.#isSending;
  }

  get #isIdle(): boolean {
    return this.#busy === 0 && !this.#isSending && this.#queue.length === 0 && !this.#isOver;
  }
}

interface Details {
  readonly Result?: string | undefined;
  readonly Error?: { readonly ErrorMessage?: string | undefined } | undefined;
}

function resultOf({ Status, Id }: WireOperation, { Result, Error }: Details = {}): unknown {
  if (Status !== 'SUCCEEDED') throw new OperationFailed(`${Id} ${Status}: ${Error?.ErrorMessage ?? ''}`);
  return Result === undefined ? null : (JSON.parse(Result) as unknown);
}
