/**
 * Lambda on a laptop: the same handlers, unmodified, in their own processes, behind the same Invoke API.
 *
 * It keeps the parts of Lambda that matter to the protocol's correctness:
 * one process per concurrent environment, warm reuse, freezing between invocations, death without warning at the timeout,
 * throttling above the concurrency limit, and asynchronous events that are delivered at least once, with retries.
 *
 * It does not keep: CPU in proportion to memory, limits other than the JavaScript heap, layers, extensions,
 * versions (an alias leads to the only code), permissions and authentication.
 * It listens on loopback only, because a caller that reaches it runs code.
 *
 * No environment outlives this process (see `../../../local/bind-to-parent.ts`).
 */
import type { Server } from 'node:http';
import { assert } from '../../../shared/core/errors.ts';
import { LOOPBACK, close, listen } from '../../../shared/core/listen.ts';
import type { Runtime } from '../../../shared/core/runtime/runtime.ts';
import { systemRuntime } from '../../../shared/core/runtime/runtime.ts';
import { assertPosix } from '../../../local/bind-to-parent.ts';
import type { AsyncRetryTiming } from './async-queue.ts';
import { LAMBDA_RETRY_TIMING } from './async-queue.ts';
import type { EnvironmentProcess, EnvironmentView } from './environment-process.ts';
import type { Emit } from './events.ts';
import { functionNotFound, serviceStopped } from './faults.ts';
import type { Platform } from './function-host.ts';
import { FunctionHost } from './function-host.ts';
import { parseFunctionReference } from './function-name.ts';
import type { FunctionSettings, LocalFunction } from './function-settings.ts';
import { localFunction } from './function-settings.ts';
import type { InvocationType, InvokeRequest, InvokeResponse } from './invoke-api.ts';
import { createInvokeServer } from './invoke-api.ts';

export interface LocalLambdaOptions {
  readonly functions: Readonly<Record<string, FunctionSettings>>;
  /** Called at once, in order; must not throw. */
  readonly onEvent?: Emit;
  /** A free one when left out. */
  readonly port?: number;
  /** How long an idle environment stays warm; `DEFAULT_IDLE_TIMEOUT_MS` when left out. */
  readonly idleTimeoutMs?: number;
  /** How long loading a module may take; `DEFAULT_INIT_TIMEOUT_MS` when left out. */
  readonly initTimeoutMs?: number;
  /** AWS's own (minutes) when left out. */
  readonly asyncRetry?: AsyncRetryTiming;
  readonly runtime?: Runtime;
}

/** AWS promises nothing; 5 to 15 minutes have been seen. */
const DEFAULT_IDLE_TIMEOUT_MS = 300_000;
const DEFAULT_INIT_TIMEOUT_MS = 30_000;

/** An answer to a direct call, with the payload as a value. */
interface DirectResponse extends Omit<InvokeResponse, 'payload'> {
  readonly payload?: unknown;
}

export class LocalLambda {
  readonly #options: LocalLambdaOptions;
  readonly #runtime: Runtime;
  readonly #functions: readonly LocalFunction[];
  readonly #hosts = new Map<string, FunctionHost>();
  readonly #server: Server;
  readonly #stopping = new AbortController();

  /** @throws ConfigurationError when a function's setting is wrong */
  constructor(options: LocalLambdaOptions) {
    this.#options = options;
    this.#runtime = options.runtime ?? systemRuntime;
    this.#functions = Object.entries(options.functions).map(([name, settings]) => localFunction(name, settings));
    this.#server = createInvokeServer((request) => this.#serve(request));
  }

  /** @throws ConfigurationError when the port is taken */
  async start(): Promise<void> {
    assertPosix();
    const { port = 0 } = this.#options;
    const refusal = (): string => `the local Lambda cannot listen on port ${port}: choose another`;
    await listen(this.#server, { host: LOOPBACK, port, refusal });
    const platform = this.#platform();
    for (const target of this.#functions) this.#hosts.set(target.name, new FunctionHost(target, platform));
  }

  /** Where `@aws-sdk/client-lambda` finds it. */
  get endpoint(): string {
    const address = this.#server.address();
    assert(address !== null && typeof address === 'object', 'the local Lambda has no endpoint before start()');
    return `http://${LOOPBACK}:${address.port}`;
  }

  /**
   * Invokes without HTTP.
   * @param name as in the API: name, name:alias or ARN
   * @throws InvokeFault with the API's answer: unknown function, throttled
   */
  async invoke(name: string, payload: unknown, type: InvocationType = 'RequestResponse'): Promise<DirectResponse> {
    const reference = parseFunctionReference(name);
    if (reference === undefined) throw functionNotFound(name);
    const text = (JSON.stringify(payload) as string | undefined) ?? '{}';
    const { payload: answered, ...response } = await this.#serve({ reference, type, payload: text });
    return answered === undefined ? response : { ...response, payload: JSON.parse(answered) as unknown };
  }

  /** Everything that runs now, in no particular order. */
  environments(): readonly EnvironmentView[] {
    return this.#processes().map((environment) => environment.view);
  }

  /** Sends SIGKILL at any moment. False if it is already gone. */
  kill(environmentId: string): boolean {
    return this.#find(environmentId)?.kill('operator') ?? false;
  }

  /** SIGSTOP in the middle of its invocation, as a paused machine would; its timeout keeps running. False when it is not at work. */
  freeze(environmentId: string): boolean {
    return this.#find(environmentId)?.freeze() ?? false;
  }

  /** Undoes `freeze`. False when it is not frozen by an operator. */
  thaw(environmentId: string): boolean {
    return this.#find(environmentId)?.thaw() ?? false;
  }

  /** Kills every environment and resolves when all have ended; queued events are dropped. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const processes = this.#processes();
    for (const environment of processes) environment.kill('shutdown');
    await Promise.all(processes.map((environment) => environment.exited));
    if (this.#server.listening) await close(this.#server);
  }

  async #serve(request: InvokeRequest): Promise<InvokeResponse> {
    if (this.#stopping.signal.aborted) throw serviceStopped();
    const host = this.#hosts.get(request.reference.name);
    if (host === undefined) throw functionNotFound(request.reference.name);
    return host.invoke(request);
  }

  #platform(): Platform {
    const { onEvent, asyncRetry, initTimeoutMs, idleTimeoutMs } = this.#options;
    return {
      lambdaEndpoint: this.endpoint,
      limits: {
        initTimeoutMs: initTimeoutMs ?? DEFAULT_INIT_TIMEOUT_MS,
        idleTimeoutMs: idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS,
      },
      asyncRetry: asyncRetry ?? LAMBDA_RETRY_TIMING,
      runtime: this.#runtime,
      emit: onEvent ?? (() => undefined),
      signal: this.#stopping.signal,
    };
  }

  #processes(): EnvironmentProcess[] {
    return [...this.#hosts.values()].flatMap((host) => host.environments);
  }

  #find(environmentId: string): EnvironmentProcess | undefined {
    return this.#processes().find(({ id }) => id === environmentId);
  }
}
