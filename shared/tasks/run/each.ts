/**
 * `task.each`: many small items in one task.
 *
 * The record of the items is the task's progress: one character for each item, in order.
 *
 *     '-' open ──▶ 'd' done
 *           │ ├──▶ '-' threw, or was cut short: runs again in the next attempt
 *          │ └──▶ 'x' threw `DoNotRetry`: failed permanently
 *          └──▶ '1' an attempt died at it ──▶ '2' two attempts died at it: failed permanently
 *
 * Guarantees
 *   - A recorded item does not run again, whichever worker has the task.
 *   - An item that throws does not stop the others. The attempt fails at the end, and the next one runs only the unfinished items.
 *   - An item that kills its workers costs three attempts, and the others end.
 *     The first death shows nothing, because ends are recorded later. So after a death items run one after the other,
 *     and the beginning of each is recorded before it runs.
 *   - An operator's retry runs the failed items once more.
 *
 * Does not guarantee that an item runs once: a crash repeats the items whose ends were not recorded.
 */
import { ConfigurationError, LeaseLostError, StoreUnavailableError, messageOf, shown } from '../../core/errors.ts';
import { allOf } from '../../core/runtime/all-of.ts';
import { utf8Bytes } from '../../core/runtime/bytes.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import { durationMs } from '../../core/validate/duration.ts';
import { validOptions, validWholeNumber } from '../../core/validate/options.ts';
import type { EachOptions } from '../task/context.ts';
import { DoNotRetry, RetryAfter } from '../task/control.ts';
import { storableJson } from '../task/storable-json.ts';
import type { Json, RunningTask } from '../task/task.ts';
import { MAX_CONCURRENCY, PROGRESS_LIMIT_BYTES, describeTask } from '../task/task.ts';
import { readable } from './thrown.ts';

/** A crash repeats little, and recording fast items costs very little. */
const DEFAULT_FLUSH_MS = 500;
/** The record has one character for each. */
export const ITEMS_LIMIT = 4_000;
const OPTIONS = ['flushInterval', 'concurrency', 'results'] as const;

/** The row's record. */
interface EachRecord {
  readonly each: string;
  /** How many times the task had been retried by an operator: failed items run again after the next time. */
  readonly generation?: number;
  /** The item that begins, and the counter of its claim. Only after a death. */
  readonly begun?: readonly [index: number, leaseCounter: number];
  /** By index. */
  readonly results?: Readonly<Record<string, Json>>;
}

/** Writes the record. `hasNew`: an item has ended since the last one. */
type Save = (record: Json, hasNew: boolean) => Promise<void>;

interface EachPorts {
  readonly runtime: Runtime;
  readonly signal: AbortSignal;
  /** Aborts when the attempt is over. */
  readonly finished: AbortSignal;
}

interface Failure {
  readonly index: number;
  readonly error: unknown;
}

type Code = (item: never, index: number) => unknown;

/** The items of one attempt. */
export class EachItems {
  readonly #task: RunningTask;
  readonly #ports: EachPorts;
  #run: ItemsRun | undefined;

  constructor(task: RunningTask, ports: EachPorts) {
    this.#task = task;
    this.#ports = ports;
  }

  get isUsed(): boolean {
    return this.#run !== undefined;
  }

  async each(
    items: readonly unknown[],
    code: Code,
    options: EachOptions,
    save: Save,
  ): Promise<readonly Json[] | undefined> {
    if (this.#run !== undefined)
      throw new ConfigurationError(`${describeTask(this.#task)} has called each already: its record is of one list`);
    this.#run = new ItemsRun(this.#task, checked(this.#task, items, code, options), { ...this.#ports, save });
    return this.#run.run();
  }

  /** Writes which items have ended, if that is not written yet. */
  async record(): Promise<void> {
    await this.#run?.record();
  }

  /** The same before the attempt ends in another way than done. Unwritten items run again. */
  async recordAtEnd(): Promise<void> {
    try {
      await this.record();
    } catch (error) {
      if (!(error instanceof StoreUnavailableError || error instanceof LeaseLostError)) throw error;
    }
  }
}

interface Asked {
  readonly items: readonly unknown[];
  readonly code: Code;
  readonly flushMs: number;
  readonly concurrency: number;
  readonly keepsResults: boolean;
}

function checked(task: RunningTask, items: readonly unknown[], code: Code, options: EachOptions): Asked {
  const what = `each of ${describeTask(task)}`;
  validOptions(`the options of ${what}`, options, OPTIONS);
  if (!Array.isArray(items) || items.length > ITEMS_LIMIT)
    throw new ConfigurationError(
      `${what}: pass a list of at most ${ITEMS_LIMIT} items, not ${Array.isArray(items) ? items.length : shown(items)}`,
    );
  if (typeof code !== 'function') throw new ConfigurationError(`${what}: run is ${shown(code)}: must be a function`);
  const { flushInterval = DEFAULT_FLUSH_MS, concurrency = 1, results = true } = options;
  if (typeof results !== 'boolean')
    throw new ConfigurationError(`${what}: results = ${shown(results)}: must be true or false`);
  return {
    items,
    code,
    flushMs: durationMs('flushInterval', flushInterval),
    concurrency: validWholeNumber('concurrency', concurrency, { min: 1, max: MAX_CONCURRENCY }),
    keepsResults: results,
  };
}

class ItemsRun {
  readonly #task: RunningTask;
  readonly #asked: Asked;
  readonly #ports: EachPorts & { readonly save: Save };
  /** A character for each item. */
  readonly #states: string[];
  readonly #results = new Map<number, Json>();
  readonly #failures: Failure[] = [];
  /** Whether the last attempt died: then each item's beginning is recorded. */
  readonly #isCareful: boolean;
  #begun: EachRecord['begun'];
  /** Whether something has changed since the last write, and whether an item has ended since then. */
  #isDirty = false;
  #hasNew = false;
  #isTimed = false;
  /** Ends the pass through the items. */
  #stop: { readonly error: unknown } | undefined;

  constructor(task: RunningTask, asked: Asked, ports: EachPorts & { readonly save: Save }) {
    this.#task = task;
    this.#asked = asked;
    this.#ports = ports;
    this.#isCareful = task.past.at(-1)?.how === 'died';
    const left = recordOf(task, asked.items.length);
    this.#states = left.each.split('');
    if (asked.keepsResults)
      for (const [index, result] of Object.entries(left.results ?? {})) this.#results.set(Number(index), result);
    this.#charge(left.begun);
  }

  async run(): Promise<readonly Json[] | undefined> {
    const { concurrency, items, keepsResults } = this.#asked;
    const open = this.#states.flatMap((state, index) => (state === '-' || state === '1' ? [index] : [])).values();
    const lane = async (): Promise<void> => {
      for (const index of open) {
        if (this.#stop !== undefined || this.#ports.signal.aborted) return;
        await this.#runItem(index);
      }
    };
    await allOf(Array.from({ length: this.#isCareful ? 1 : concurrency }, lane));
    if (this.#stop !== undefined) throw this.#stop.error;
    if (this.#states.some((state) => state === '-' || state === '1')) this.#ports.signal.throwIfAborted();
    if (this.#states.some((state) => state !== 'd')) throw failureOf(this.#allFailures(), items.length);
    // As a list in JSON has it.
    return keepsResults ? items.map((_, index) => this.#results.get(index) ?? null) : undefined;
  }

  /** Waits for its turn: operations of a claim are sent one at a time. */
  async record(): Promise<void> {
    if (!this.#isDirty) return;
    const [hadNew, record] = [this.#hasNew, this.#recordNow()];
    this.#isDirty = false;
    this.#hasNew = false;
    try {
      await this.#ports.save(record as unknown as Json, hadNew);
    } catch (error) {
      this.#isDirty = true;
      this.#hasNew ||= hadNew;
      throw error;
    }
  }

  async #runItem(index: number): Promise<void> {
    try {
      if (this.#isCareful) await this.#begin(index);
      const result = await this.#codeOf(index);
      if (result.isCutShort) return;
      if (this.#asked.flushMs === 0 && !this.#isCareful) await this.record();
      else void this.#recordLater();
    } catch (error) {
      // The record could not be written: the item is not to blame, and no other may begin.
      this.#stop ??= { error };
    }
  }

  async #begin(index: number): Promise<void> {
    this.#begun = [index, this.#task.leaseCounter];
    this.#isDirty = true;
    await this.record();
  }

  /** Runs an item, and notes how it has ended. */
  async #codeOf(index: number): Promise<{ readonly isCutShort: boolean }> {
    const { code, items, keepsResults } = this.#asked;
    try {
      const value = await code(items[index] as never, index);
      this.#note(index, 'd');
      if (keepsResults && value !== undefined) this.#keep(index, value);
    } catch (thrown) {
      const error = readable(thrown);
      if (this.#ports.signal.aborted) return { isCutShort: true };
      this.#failures.push({ index, error });
      if (isFinal(error)) this.#note(index, 'x');
      else this.#endsBeginning(index);
    }
    return { isCutShort: false };
  }

  #note(index: number, state: 'd' | 'x'): void {
    this.#states[index] = state;
    this.#endsBeginning(index);
    this.#isDirty = true;
    this.#hasNew = true;
  }

  /** If the attempt dies now, this item is not the cause. */
  #endsBeginning(index: number): void {
    if (this.#begun?.[0] !== index) return;
    this.#begun = undefined;
    this.#isDirty = true;
  }

  /** Running the item again would not make its result smaller. */
  #keep(index: number, value: unknown): void {
    const what = `the result of items[${index}] of ${describeTask(this.#task)}`;
    try {
      this.#results.set(index, storableJson(what, value, PROGRESS_LIMIT_BYTES));
    } catch (cause) {
      this.#stop ??= { error: new DoNotRetry(messageOf(cause), { cause }) };
      return;
    }
    const bytes = utf8Bytes(JSON.stringify(this.#recordNow()));
    if (bytes <= PROGRESS_LIMIT_BYTES) return;
    this.#results.delete(index);
    const message =
      `${what} makes the record of its items ${bytes} bytes as JSON: at most ${PROGRESS_LIMIT_BYTES} fit into ` +
      'the progress of a task; store results elsewhere, and pass results: false';
    this.#stop ??= { error: new DoNotRetry(message) };
  }

  /** At most one write in each flush interval. The attempt's own end writes what is left. */
  async #recordLater(): Promise<void> {
    const { runtime, finished } = this.#ports;
    if (this.#isTimed || this.#isCareful || !this.#isDirty) return;
    this.#isTimed = true;
    await runtime.clock.sleep(this.#asked.flushMs, finished);
    this.#isTimed = false;
    // The next write reports its own errors.
    if (!finished.aborted) await this.record().catch(() => undefined);
  }

  #recordNow(): EachRecord {
    const { generation } = this.#task;
    return {
      each: this.#states.join(''),
      ...(generation > 0 && { generation }),
      ...(this.#begun !== undefined && { begun: this.#begun }),
      ...(this.#results.size > 0 && { results: Object.fromEntries(this.#results) }),
    };
  }

  /** Counts the attempt that died at an item. */
  #charge(begun: EachRecord['begun']): void {
    if (begun === undefined) return;
    const [index, counter] = begun;
    const died = this.#task.past.some(({ leaseCounter, how }) => leaseCounter === counter && how === 'died');
    if (!died) return;
    if (this.#states[index] === '-') this.#states[index] = '1';
    else if (this.#states[index] === '1') this.#states[index] = '2';
    this.#isDirty = true;
  }

  /** The failed items of this attempt, and the items that had failed permanently before. */
  #allFailures(): readonly Failure[] {
    const known = new Set(this.#failures.map(({ index }) => index));
    const earlier = this.#states.flatMap((state, index): Failure[] => {
      if (known.has(index) || (state !== 'x' && state !== '2')) return [];
      const why = state === '2' ? 'two attempts died at it' : 'it had failed for good before';
      return [{ index, error: new DoNotRetry(why) }];
    });
    return [...this.#failures, ...earlier].sort((one, other) => one.index - other.index);
  }
}

/** The record that earlier attempts left. @throws ConfigurationError when the progress is something else */
function recordOf(task: RunningTask, count: number): EachRecord {
  const { progress, generation } = task;
  if (progress === undefined) return { each: '-'.repeat(count) };
  const left = progress as Partial<EachRecord> | null;
  if (typeof left !== 'object' || typeof left?.each !== 'string' || !/^[-dx12]*$/.test(left.each))
    throw new ConfigurationError(
      `${describeTask(task)} has progress that each did not write: a task uses each or saveProgress, not both`,
    );
  if (left.each.length !== count)
    throw new ConfigurationError(
      `${describeTask(task)} began with ${left.each.length} items and has ${count} now: pass the items of its input, ` +
        'the same in each attempt',
    );
  if ((left.generation ?? 0) === generation) return { ...left, each: left.each };
  return { ...left, each: left.each.replaceAll(/[x12]/g, '-') };
}

function isFinal(error: unknown): boolean {
  return error instanceof DoNotRetry;
}

/** One error for all failed items, which decides what follows the attempt. */
function failureOf(failures: readonly Failure[], count: number): Error {
  const errors = failures.map(({ error }) => error);
  const indexes = failures.map(({ index }) => index).join(', ');
  const reasons = failures.map(({ index, error }) => `${index}: ${messageOf(error)}`).join('; ');
  const message = `${failures.length} of ${count} items failed (${indexes}): ${reasons}`;
  // Logs and the task's history show the stack of the first one.
  const [cause] = errors;
  if (errors.every(isFinal)) return new DoNotRetry(message, { cause });
  const outage = errors.find((error) => error instanceof StoreUnavailableError);
  if (outage !== undefined && errors.every((error) => error instanceof StoreUnavailableError))
    return new StoreUnavailableError(message, { applied: outage.applied, cause });
  const waits = errors.flatMap((error) => (error instanceof RetryAfter ? [error.delayMs] : []));
  if (waits.length > 0) return new RetryAfter(Math.max(...waits), message, { cause });
  return new AggregateError(errors, message, { cause });
}
