/**
 * The platform's view of one execution environment: what Lambda guarantees about it, and nothing more.
 *
 * ```
 *            first invocation         answered, then SIGSTOP
 *  (forked) ───────► starting ─► busy ───────────────────────► idle
 *                                 │ ▲ ◄─────────────────────── │ next invocation: SIGCONT
 *                 operator freezes│ │thaws                     │
 *                                 ▼ │                          │
 *                                frozen                        │
 *     any state ── exit, crash, timeout, operator, idle for too long ──► gone
 * ```
 *
 * - One invocation at a time; variables of the module survive from one to the next.
 * - Between invocations not an instruction runs, so timers that a handler left behind fire during the next one.
 * - At the timeout the process is killed without warning, frozen or not: the time limit is the wall's, not the process's.
 * - An environment whose process ended is never used again.
 */
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { defined } from '../../../shared/core/defined.ts';
import { assert } from '../../../shared/core/errors.ts';
import type { Clock } from '../../../shared/core/runtime/clock.ts';
import type { Surroundings } from './environment-variables.ts';
import { environmentVariables } from './environment-variables.ts';
import type { Emit, EnvironmentEvent, KilledBy } from './events.ts';
import type { LocalFunction } from './function-settings.ts';
import { tellEnd, tellStart } from './invocation-record.ts';
import type { EnvironmentMessage } from './messages.ts';
import type { InvocationResult } from './outcomes.ts';
import { exitResult } from './outcomes.ts';
import type { OpenSandbox, SandboxExit, SandboxOptions } from './sandbox.ts';
import { Sandbox } from './sandbox.ts';

/** `idle` is stopped as well, as on AWS; `frozen` means that an operator stopped it in the middle of an invocation. */
type EnvironmentState = 'starting' | 'busy' | 'frozen' | 'idle';

export interface EnvironmentView {
  readonly id: string;
  readonly functionName: string;
  readonly pid: number;
  readonly state: EnvironmentState;
  /** Absent when idle. */
  readonly requestId?: string;
  /** Wall clock, milliseconds since 1970: when it entered this state. */
  readonly since: number;
}

export interface Invocation {
  readonly requestId: string;
  readonly payload: string;
  readonly invokedFunctionArn: string;
}

export interface EnvironmentLimits {
  /** On AWS 10 s; more here, because a laptop that starts fifty at once is slower than a data centre. */
  readonly initTimeoutMs: number;
  /** How long an idle environment is kept warm. */
  readonly idleTimeoutMs: number;
}

export interface EnvironmentOptions {
  readonly id: string;
  readonly target: LocalFunction;
  readonly surroundings: Surroundings;
  readonly limits: EnvironmentLimits;
  readonly clock: Clock;
  readonly emit: Emit;
  /** Default: a process. */
  readonly openSandbox?: OpenSandbox | undefined;
}

type Heard =
  | { readonly kind: 'message'; readonly message: EnvironmentMessage }
  | { readonly kind: 'exit'; readonly exit: SandboxExit };

type Started = { readonly kind: 'ready'; readonly initDurationMs?: number } | InvocationResult;

export class EnvironmentProcess {
  readonly id: string;
  /** Resolves when its process has ended and its last log lines have been handed on. */
  readonly exited: Promise<void>;
  readonly #options: EnvironmentOptions;
  readonly #sandbox: ReturnType<OpenSandbox>;
  #state: EnvironmentState = 'starting';
  #since: number;
  #requestId: string | undefined;
  #initialised = false;
  #exit: SandboxExit | undefined;
  #killedBy: KilledBy | undefined;
  #hear: (heard: Heard) => void = () => undefined;
  #leaveIdle = new AbortController();

  constructor(options: EnvironmentOptions) {
    const { id, target, surroundings, clock, openSandbox = (given: SandboxOptions) => new Sandbox(given) } = options;
    this.id = id;
    this.#options = options;
    this.#since = clock.now();
    this.#sandbox = openSandbox({
      label: [target.name, id],
      memoryMb: target.memoryMb,
      workingDirectory: path.dirname(target.entry),
      variables: environmentVariables(target, surroundings),
      onMessage: (message) => this.#hear({ kind: 'message', message }),
      onLine: (stream, line) => this.#tell({ type: 'log', stream, line, ...this.#requestOf() }),
    });
    this.#tell({ type: 'environmentStarted', pid: this.#sandbox.pid });
    this.exited = this.#sandbox.exited.then((exit) => this.#end(exit));
  }

  get view(): EnvironmentView {
    return {
      id: this.id,
      functionName: this.#options.target.name,
      pid: this.#sandbox.pid,
      state: this.#state,
      since: this.#since,
      ...this.#requestOf(),
    };
  }

  /** Whether it can still be given work. */
  get isUsable(): boolean {
    return this.#killedBy === undefined && this.#exit === undefined;
  }

  /** Never rejects: however the process fares, there is a result to show to the caller. */
  async invoke(invocation: Invocation): Promise<InvocationResult> {
    const { requestId } = invocation;
    assert(this.#requestId === undefined, `environment ${this.id} is given a second invocation at once`);
    this.#requestId = requestId;
    const coldStart = !this.#initialised;
    const begun = this.#options.clock.monotonic();
    const started: Started = coldStart ? await this.#initialise(requestId) : { kind: 'ready' };

    tellStart(this.#tell, { requestId, coldStart });
    if ('outcome' in started) return this.#finish(requestId, started, { begun });
    return this.#work(invocation, started.initDurationMs);
  }

  /** Kills at once. False when it is gone or going already. */
  kill(by: KilledBy): boolean {
    if (!this.isUsable) return false;
    this.#killedBy = by;
    this.#tell({ type: 'environmentKilled', by, ...this.#requestOf() });
    this.#sandbox.kill();
    return true;
  }

  /** Stops it in the middle of its invocation; its timeout keeps running. False when it is not at work. */
  freeze(): boolean {
    if (this.#state !== 'busy' || !this.isUsable) return false;
    this.#sandbox.stop();
    this.#enter('frozen');
    this.#tell({ type: 'environmentFrozen', ...this.#requestOf() });
    return true;
  }

  /** Continues a frozen invocation. False if no operator froze it. */
  thaw(): boolean {
    if (this.#state !== 'frozen' || this.#requestId === undefined || !this.isUsable) return false;
    this.#enter('busy');
    this.#tell({ type: 'environmentThawed', requestId: this.#requestId });
    this.#sandbox.resume();
    return true;
  }

  async #initialise(requestId: string): Promise<Started> {
    const { target, surroundings, limits, clock } = this.#options;
    const begun = clock.monotonic();
    this.#sandbox.send({
      type: 'init',
      entry: target.entry,
      handler: target.handler,
      functionName: target.name,
      memoryMb: target.memoryMb,
      logGroupName: surroundings.logGroupName,
      logStreamName: surroundings.logStreamName,
    });
    const heard = await this.#listen(limits.initTimeoutMs, 'initTimeout');
    if (heard.kind === 'exit') {
      const ended = { exit: heard.exit, killedBy: this.#killedBy, limitMs: limits.initTimeoutMs };
      return exitResult(requestId, { ...ended, phase: 'init' });
    }
    if (heard.message.type === 'initFailed') {
      await this.exited;
      return { outcome: 'initError', error: heard.message.error };
    }
    this.#initialised = true;
    return { kind: 'ready', initDurationMs: clock.monotonic() - begun };
  }

  async #work(invocation: Invocation, initDurationMs: number | undefined): Promise<InvocationResult> {
    const { target, clock } = this.#options;
    const { requestId } = invocation;
    this.#wake(requestId);
    const begun = clock.monotonic();
    const deadlineAt = clock.now() + target.timeoutMs;
    this.#sandbox.send({ type: 'invoke', deadlineAt, ...invocation });
    const heard = await this.#listen(target.timeoutMs, 'timeout');
    if (heard.kind === 'exit') {
      const ended = { exit: heard.exit, killedBy: this.#killedBy, limitMs: target.timeoutMs };
      const result = exitResult(requestId, { ...ended, phase: 'invoke' });
      return this.#finish(requestId, result, { begun, initDurationMs });
    }
    const { message } = heard;
    assert(message.type === 'succeeded' || message.type === 'failed', `unexpected answer ${message.type}`);
    if (message.type === 'failed' && message.fatal) await this.exited;
    else this.#sandbox.stop();
    // Its output was in the pipe before its answer, so one more turn of the event loop has read all of it.
    await nextTurn();
    const result: InvocationResult =
      message.type === 'succeeded'
        ? { outcome: 'success', payload: message.payload }
        : { outcome: 'error', error: message.error };
    return this.#finish(requestId, result, { begun, initDurationMs, maxMemoryUsedMb: message.maxRssMb });
  }

  #wake(requestId: string): void {
    this.#leaveIdle.abort();
    if (this.#state === 'idle') {
      this.#tell({ type: 'environmentThawed', requestId });
      this.#sandbox.resume();
    }
    this.#enter('busy');
  }

  /** Waits for the next message or the end of the process, and makes an end of it after the limit. */
  async #listen(limitMs: number, by: KilledBy): Promise<Heard> {
    const heard = Promise.withResolvers<Heard>();
    this.#hear = heard.resolve;
    if (this.#exit !== undefined) heard.resolve({ kind: 'exit', exit: this.#exit });
    const answered = new AbortController();
    this.#after(limitMs, answered.signal, () => {
      this.kill(by);
    });
    const result = await heard.promise;
    answered.abort();
    return result;
  }

  #finish(
    requestId: string,
    result: InvocationResult,
    measured: { begun: number; initDurationMs?: number | undefined; maxMemoryUsedMb?: number },
  ): InvocationResult {
    const { target, clock, limits } = this.#options;
    const { begun, initDurationMs, maxMemoryUsedMb } = measured;
    const durationMs = clock.monotonic() - begun;
    const endedAt = clock.now();
    tellEnd(this.#tell, { requestId, target, result, endedAt, durationMs, initDurationMs, maxMemoryUsedMb });
    this.#requestId = undefined;
    if (this.isUsable) this.#rest(limits.idleTimeoutMs);
    return result;
  }

  #rest(idleTimeoutMs: number): void {
    this.#enter('idle');
    this.#tell({ type: 'environmentFrozen' });
    this.#leaveIdle = new AbortController();
    this.#after(idleTimeoutMs, this.#leaveIdle.signal, () => {
      this.kill('idleTimeout');
    });
  }

  #end(exit: SandboxExit): void {
    this.#exit = exit;
    this.#leaveIdle.abort();
    this.#tell({ type: 'environmentExited', code: exit.code, signal: exit.signal });
    this.#hear({ kind: 'exit', exit });
  }

  #after(ms: number, unless: AbortSignal, act: () => void): void {
    void this.#options.clock.sleep(ms, unless).then(() => {
      if (!unless.aborted) act();
    });
  }

  #enter(state: EnvironmentState): void {
    this.#state = state;
    this.#since = this.#options.clock.now();
  }

  #requestOf(): { readonly requestId?: string } {
    return defined({ requestId: this.#requestId });
  }

  readonly #tell = (event: EnvironmentEvent): void => {
    const { id: environmentId, target, emit } = this.#options;
    emit({ environmentId, functionName: target.name, ...event });
  };
}
