/**
 * One function as the platform runs it: its settings, its environments, its queue of asynchronous events.
 */
import type { Runtime } from '../../../shared/core/runtime/runtime.ts';
import type { AsyncRetryTiming } from './async-queue.ts';
import { AsyncQueue } from './async-queue.ts';
import type { EnvironmentLimits, EnvironmentOptions, Invocation } from './environment-process.ts';
import { EnvironmentProcess } from './environment-process.ts';
import type { Emit } from './events.ts';
import { tooManyRequests } from './faults.ts';
import { Fleet } from './fleet.ts';
import { functionArn } from './function-name.ts';
import type { LocalFunction } from './function-settings.ts';
import type { InvokeRequest, InvokeResponse } from './invoke-api.ts';
import type { InvocationResult } from './outcomes.ts';

export interface Platform {
  readonly lambdaEndpoint: string;
  readonly limits: EnvironmentLimits;
  readonly asyncRetry: AsyncRetryTiming;
  readonly runtime: Runtime;
  readonly emit: Emit;
  /** Aborted when the platform stops. */
  readonly signal: AbortSignal;
  readonly openSandbox?: EnvironmentOptions['openSandbox'];
}

export class FunctionHost {
  readonly #target: LocalFunction;
  readonly #platform: Platform;
  readonly #fleet: Fleet;
  readonly #queue: AsyncQueue;
  #started = 0;

  constructor(target: LocalFunction, platform: Platform) {
    const { asyncRetry: timing, runtime, emit, signal } = platform;
    const { clock, random } = runtime;
    this.#target = target;
    this.#platform = platform;
    this.#fleet = new Fleet(target.maxConcurrency, () => this.#startEnvironment());
    const attempt = (invocation: Invocation): Promise<InvocationResult | 'throttled'> =>
      this.#attempt(invocation, 'Event');
    this.#queue = new AsyncQueue({ target, attempt, timing, clock, random, emit, signal });
  }

  get environments(): readonly EnvironmentProcess[] {
    return this.#fleet.environments;
  }

  /** @throws InvokeFault when a synchronous call finds no room */
  async invoke({ reference, type, payload }: InvokeRequest): Promise<InvokeResponse> {
    const requestId = this.#platform.runtime.ids.unique();
    const invocation = { requestId, payload, invokedFunctionArn: functionArn(reference) };
    switch (type) {
      case 'DryRun':
        return { status: 204, requestId };
      case 'Event':
        void this.#queue.accept(invocation);
        return { status: 202, requestId };
      case 'RequestResponse':
        return this.#answer(invocation);
    }
  }

  async #answer(invocation: Invocation): Promise<InvokeResponse> {
    const { requestId } = invocation;
    const result = await this.#attempt(invocation, 'RequestResponse');
    if (result === 'throttled') throw tooManyRequests();
    if (result.outcome === 'success') return { status: 200, requestId, payload: result.payload };
    return {
      status: 200,
      requestId,
      functionError: 'Unhandled',
      payload: JSON.stringify(result.error),
    };
  }

  async #attempt(
    invocation: Invocation,
    invocationType: 'RequestResponse' | 'Event',
  ): Promise<InvocationResult | 'throttled'> {
    const result = await this.#fleet.invoke(invocation);
    if (result === 'throttled') {
      const { requestId } = invocation;
      this.#platform.emit({ type: 'throttled', functionName: this.#target.name, requestId, invocationType });
    }
    return result;
  }

  #startEnvironment(): EnvironmentProcess {
    const { runtime, limits, emit, lambdaEndpoint, openSandbox } = this.#platform;
    const { clock, ids } = runtime;
    const { name } = this.#target;
    this.#started++;
    const day = new Date(clock.now()).toISOString().slice(0, 10).replaceAll('-', '/');
    return new EnvironmentProcess({
      id: `${name}-${this.#started}`,
      target: this.#target,
      surroundings: {
        logGroupName: `/aws/lambda/${name}`,
        logStreamName: `${day}/[$LATEST]${ids.unique().replaceAll('-', '')}`,
        lambdaEndpoint,
      },
      limits,
      clock,
      emit,
      openSandbox,
    });
  }
}
