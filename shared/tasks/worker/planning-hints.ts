/**
 * `PlanningHintsWriter` writes into the queue's row how long tasks take and which names no worker knows, for the dispatcher and the waker.
 * It adds the names that its worker defines, for operators: see `announced-names.ts`.
 *
 * The hint is the mean time in a slot. Each task counts up to `startWithinMs`, because for a plan all longer tasks are alike.
 * So a task counts as soon as that time is over, and a few long tasks do not hide that the others are short: what still runs at a write
 * is counted later, but with the tasks that began when it did.
 * A worker writes when it exits, 10 s after its first task, and then at most once a minute. It writes only if the mean has changed by a
 * fifth, or if names are missing.
 * A hint that is lost or overwritten only changes how many workers start, not what they do.
 */
import { CorruptItemError, StoreUnavailableError } from '../../core/errors.ts';
import { stampOf } from '../../core/lease/write.ts';
import type { Cancel, Clock } from '../../core/runtime/clock.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { QueueRecord, QueueStore, WorkerHints } from '../task/queue-store.ts';
import { namesToAnnounce } from './announced-names.ts';

/** Weight of the previous mean, in tasks. Longer times count sooner, because an extra worker costs less than a wait. */
const MEMORY = { longer: 10, shorter: 100 };
const CHANGED = 0.2;
/** A change below this is not worth a write, even if it is a large part of the mean. */
const NEGLIGIBLE_MS = 5;
const EVERY_MS = 60_000;
const FIRST_MS = 10_000;
/** Tasks that started together are counted together. */
const GATHERED_MS = 250;
const BUDGET_MS = 1_000;
const NAMES_KEPT = 20;

interface HintsPorts {
  readonly queues: QueueStore;
  readonly runtime: Runtime;
  /** The row at the last read. */
  readonly known: () => QueueRecord | undefined;
  /** Names that the worker defines. */
  readonly defined: ReadonlySet<string>;
}

/** Tasks that began between two writes, as far as they have been counted. */
interface Sample {
  count: number;
  sumMs: number;
}

export class PlanningHintsWriter {
  readonly #queue: string;
  readonly #settings: WorkerHints;
  readonly #ports: HintsPorts;
  readonly #clock: Clock;
  readonly #unknown = new Set<string>();
  #sample: Sample = { count: 0, sumMs: 0 };
  /** The sample of the last write, and the mean before it. */
  #last: Sample = { count: 0, sumMs: 0 };
  #meanBefore: number | undefined;
  #writtenAt: number;
  /** The value that this worker wrote last. The last row that it read may be older. */
  #tookMs: number | undefined;
  #names: readonly string[] | undefined;
  #announced: readonly string[] | undefined;
  #areSettingsWritten = false;
  #writing: Promise<void> = Promise.resolve();
  #timer: Cancel | undefined;

  constructor(queue: string, settings: WorkerHints, ports: HintsPorts) {
    this.#queue = queue;
    this.#settings = settings;
    this.#ports = ports;
    this.#clock = ports.runtime.clock;
    this.#writtenAt = this.#clock.monotonic() + FIRST_MS - EVERY_MS;
  }

  /** Times a task that has taken a slot. @returns a function to call when it has left the slot */
  begin({ name }: { readonly name: string }): () => void {
    const from = this.#clock.monotonic();
    // A deployment has added the name, so plans should soon use it.
    if (this.#namesBefore().includes(name)) this.#schedule();
    const sample = this.#sample;
    let isCounted = false;
    const count = (): void => {
      if (isCounted) return;
      isCounted = true;
      sample.count++;
      sample.sumMs += Math.min(this.#settings.startWithinMs, this.#clock.monotonic() - from);
      if (this.#clock.monotonic() >= this.#writtenAt + EVERY_MS) this.#schedule();
    };
    const cancel = this.#clock.after(this.#settings.startWithinMs, count);
    return () => {
      cancel();
      count();
    };
  }

  /** Notes the name of a task that this worker skips. */
  meetUnknown({ name }: { readonly name: string }): void {
    this.#unknown.add(name);
  }

  /** Writes the remaining hints when the worker leaves. */
  finish(): Promise<void> {
    this.#write();
    return this.#writing;
  }

  #schedule(): void {
    this.#timer ??= this.#clock.after(GATHERED_MS, () => this.#write());
  }

  #write(): void {
    this.#timer?.();
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#tell());
  }

  async #tell(): Promise<void> {
    const { queues, runtime } = this.#ports;
    const before = this.#tookMs === undefined ? this.#ports.known()?.tookMs : withSample(this.#meanBefore, this.#last);
    const tookMs = this.#newTook(withSample(before, this.#sample));
    const names = this.#newNames();
    const announced = namesToAnnounce(this.#ports.defined, this.#announcedBefore());
    this.#writtenAt = this.#clock.monotonic();
    const isNameNew = announced !== undefined && this.#ports.known() !== undefined;
    if (tookMs === undefined && names === undefined && this.#areSettingsKnown && !isNameNew) return;
    const unknownNames = names ?? this.#namesBefore();
    const announcedNames = announced ?? this.#announcedBefore();
    try {
      const hints = { tookMs, unknownNames, announcedNames, workerSettings: this.#settings };
      await queues.noteHints(this.#queue, hints, stampOf(runtime), { budgetMs: BUDGET_MS });
    } catch (error) {
      if (!(error instanceof StoreUnavailableError || error instanceof CorruptItemError)) throw error;
      return;
    }
    this.#names = unknownNames;
    this.#announced = announcedNames;
    this.#areSettingsWritten = true;
    if (tookMs === undefined) return;
    this.#tookMs = tookMs;
    this.#meanBefore = before;
    this.#last = this.#sample;
    this.#sample = { count: 0, sumMs: 0 };
  }

  get #areSettingsKnown(): boolean {
    if (this.#areSettingsWritten || this.#sample.count === 0) return true;
    const known = this.#ports.known()?.workerSettings;
    const { concurrency, startWithinMs } = this.#settings;
    return known?.concurrency === concurrency && known.startWithinMs === startWithinMs;
  }

  /** Returns the mean if it is worth a write. */
  #newTook(mean: number | undefined): number | undefined {
    const before = this.#tookMs ?? this.#ports.known()?.tookMs;
    if (mean === undefined || before === undefined) return mean && Math.round(mean);
    return Math.abs(mean - before) > Math.max(NEGLIGIBLE_MS, CHANGED * before) ? Math.round(mean) : undefined;
  }

  /** Returns the unknown names if they have changed. */
  #newNames(): readonly string[] | undefined {
    const before = this.#namesBefore();
    const now = [...new Set([...before, ...this.#unknown])].filter((name) => !this.#ports.defined.has(name));
    const isSame = now.length === before.length && now.every((name) => before.includes(name));
    return isSame ? undefined : now.slice(-NAMES_KEPT);
  }

  #namesBefore(): readonly string[] {
    return this.#names ?? this.#ports.known()?.unknownNames ?? [];
  }

  #announcedBefore(): readonly string[] {
    return this.#announced ?? this.#ports.known()?.announcedNames ?? [];
  }
}

function withSample(before: number | undefined, { count, sumMs }: Sample): number | undefined {
  if (count === 0) return before;
  const mean = sumMs / count;
  if (before === undefined) return mean;
  const memory = mean > before ? MEMORY.longer : MEMORY.shorter;
  return before + ((mean - before) * count) / (count + memory);
}
