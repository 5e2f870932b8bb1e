/**
 * Lets the test kit kill a worker at any of its requests, as if the worker were a separate process.
 *
 * An `AsyncLocalStorage` tells which process a call comes from, so task code that uses `kit.leasehold` is part of its worker.
 * After the kill, requests and sleeps of the process never return, and its timers do not fire.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Cancel } from '../core/runtime/clock.ts';
import type { DynamoCalls, DynamoDriver, DynamoKind } from '../dynamo/engine/driver.ts';
import { ownClientsOnly } from '../core/own-client.ts';
import { FakeClock, settled } from './fake-clock.ts';
import { simulatedDriver } from './simulated-dynamo/driver.ts';
import type { SimulatedDynamo } from './simulated-dynamo/simulated-dynamo.ts';

/** Where to kill a worker: a request, counted from 1. */
export interface CrashPlace {
  readonly request: number;
  /** `unsent`: kill it before the request is sent. `unanswered`: kill it after the request was applied, before the answer. */
  readonly outcome: 'unsent' | 'unanswered';
}

const processes = new AsyncLocalStorage<WorkerProcess>();

ownClientsOnly(() => currentProcess() !== undefined);

/** Returns the process of the caller, or `undefined` in the test's own code. */
export function currentProcess(): WorkerProcess | undefined {
  return processes.getStore();
}

/** All that the workers of one task send, one after another, until one of them is killed. */
export class WorkersLife {
  /** Kind and tables of each request so far. */
  readonly requests: string[] = [];
  /** The verbs of the answered requests. */
  readonly verbs: string[] = [];
  /** The ids of the tasks that its workers claimed, once for each claim. */
  readonly claims: string[] = [];
  readonly killAt: CrashPlace | undefined;

  constructor(killAt?: CrashPlace) {
    this.killAt = killAt;
  }
}

export class WorkerProcess {
  /** Names and ids of tasks whose code is running. The clock is stopped for them. */
  readonly running = new Set<string>();
  readonly life: WorkersLife;
  readonly #killed = Promise.withResolvers<undefined>();
  #waiting = 0;
  #turns = 0;
  #onKilled: (() => void) | undefined;
  #isDead = false;

  constructor(life = new WorkersLife()) {
    this.life = life;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Whether all code that runs here waits for a lock, a permit or tokens. */
  get isWaiting(): boolean {
    return this.#waiting >= this.running.size;
  }

  /** Whether a request lets the event loop turn before it is sent. Until then, time must not pass. */
  get isTurning(): boolean {
    return this.#turns > 0;
  }

  /** Runs the worker until it ends or is killed. @returns undefined if it was killed */
  run<T>(work: () => Promise<T>): Promise<T | undefined> {
    return Promise.race([processes.run(this, work), this.#killed.promise]);
  }

  async whileWaiting(wait: () => Promise<void>): Promise<void> {
    this.#waiting++;
    await wait();
    this.#waiting--;
  }

  /** Calls `call` once, at the kill. It aborts the tasks' signals. */
  onKilled(call: () => void): void {
    this.#onKilled = call;
  }

  /** Returns at once, or never if the process is dead. */
  async ensureAlive(): Promise<void> {
    if (this.#isDead) await never();
  }

  /** Sends a request. Never returns if the process is dead, or is killed here. */
  async send<T>(request: string, apply: () => Promise<T>): Promise<T> {
    if (this.#isDead) return never();
    const { requests, killAt } = this.life;
    requests.push(request);
    if (requests.length !== killAt?.request) {
      if (requests.length % REQUESTS_PER_TURN === 0) await this.#letOthersTurn();
      return apply();
    }
    // The answer is lost, even if it was a refusal.
    if (killAt.outcome === 'unanswered') await apply().catch(() => undefined);
    this.kill();
    return never();
  }

  /** The in-memory table answers without a turn of the event loop, so the test runner's own timers would never fire. */
  async #letOthersTurn(): Promise<void> {
    this.#turns++;
    await settled();
    this.#turns--;
  }

  /** Kills it now, whatever it does. */
  kill(): void {
    this.#isDead = true;
    this.running.clear();
    this.#onKilled?.();
    this.#killed.resolve(undefined);
  }
}

const REQUESTS_PER_TURN = 100;

/** One driver for all processes of a kit and for the test itself. */
export class ProcessDriver implements DynamoDriver {
  readonly #dynamo: () => SimulatedDynamo;
  #sent = 0;

  constructor(dynamo: () => SimulatedDynamo) {
    this.#dynamo = dynamo;
  }

  async attempt<K extends DynamoKind>(
    kind: K,
    input: DynamoCalls[K]['input'],
    signal: AbortSignal,
  ): Promise<DynamoCalls[K]['output']> {
    const apply = () => simulatedDriver(this.#dynamo()).attempt(kind, input, signal);
    const process = currentProcess();
    if (process !== undefined) return process.send(`${kind} ${tablesOf(input).join(', ')}`, apply);
    if (++this.#sent % REQUESTS_PER_TURN === 0) await settled();
    return apply();
  }
}

/** A clock that never wakes a killed process. */
export class ProcessClock extends FakeClock {
  override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const process = currentProcess();
    await process?.ensureAlive();
    await super.sleep(ms, signal);
    await process?.ensureAlive();
  }

  override after(ms: number, call: () => void): Cancel {
    const process = currentProcess();
    if (process === undefined) return super.after(ms, call);
    // Timers are called by the code that moves the clock, so the process has to be restored.
    return super.after(ms, () => {
      if (!process.isDead) processes.run(process, call);
    });
  }

  override async advance(ms: number): Promise<void> {
    await currentProcess()?.ensureAlive();
    await super.advance(ms);
  }
}

/** A request to many rows of one table names the table elsewhere, and differs by its kind. */
function tablesOf(input: object): readonly string[] {
  const { TransactItems } = input as { readonly TransactItems?: readonly Record<string, WithTable>[] };
  const actions: readonly WithTable[] = TransactItems?.flatMap((item) => Object.values(item)) ?? [input];
  return actions.map(({ TableName = '' }) => TableName);
}

interface WithTable {
  readonly TableName?: string;
}

function never(): Promise<never> {
  return Promise.race<never>([]);
}
