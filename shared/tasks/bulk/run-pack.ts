/**
 * Runs one claim of a pack: its open items, one after the other.
 *
 * The pack itself runs as a task whose code runs the items.
 * So a pack, and each item within it, is stopped, handed back, cancelled and lost like
 * any task. Only the targets of their claims' operations differ.
 *
 * | how the pack's claim ends | its items |
 * | --- | --- |
 * | no item is open: done | are done, moved, or cancelled, each by itself |
 * | handed back, or the store was unavailable: ready again, attempt refunded | stay open, unless they have ended |
 * | cancelled: cancelled | the open ones are cancelled with it |
 * | lost, its holder taken over | those not recorded run again elsewhere |
 * | an item could not leave, because its id is taken: retried, eventually dead | items that can finish do so, unless the pack is suspected of crashing its worker |
 */
import { StoreUnavailableError } from '../../core/errors.ts';
import type { WriteLimits } from '../../core/lease/outcome.ts';
import { limitsWithinTrust } from '../../session/limits.ts';
import type { TaskContext } from '../task/context.ts';
import { HandedBackError } from '../task/control.ts';
import type { AnyTask } from '../task/definition.ts';
import type { RunPorts } from '../run/run-claim.ts';
import { runClaim } from '../run/run-claim.ts';
import type { Settlement } from '../run/settle.ts';
import type { Settled, TaskStore } from '../task/task-store.ts';
import type { TaskAndPackStore } from './pack-store.ts';
import type { RunningTask } from '../task/task.ts';
import { settlementOf } from './departure.ts';
import { itemVerbs } from './item-verbs.ts';
import type { Span } from '../tracing/tracing.ts';
import type { PackOf } from '../task/pack.ts';
import { itemId, itemTask } from '../task/pack.ts';
import { PackRecorder } from './recorder.ts';
import { isCareful, suspectOf } from './suspect.ts';
import { tracedPacks } from './traced-packs.ts';

/** Ports of any run, with a store that has packs. */
export type RunPackPorts = RunPorts & { readonly tasks: TaskAndPackStore };

export interface ClaimReport {
  readonly settlement: Settlement;
  /** How the claimed tasks ended; the items of a pack count one by one. */
  readonly settled: Readonly<Partial<Record<Settlement, number>>>;
}

export function runPack(pack: PackOf<RunningTask>, definition: AnyTask, ports: RunPackPorts): Promise<ClaimReport> {
  return new PackRun(pack, definition, ports).run();
}

/** The part of a pack's grace period that its running item may use when it must stop. The rest is for recording. */
const ITEM_GRACE_SHARE = 0.8;

class PackRun {
  #pack: PackOf<RunningTask>;
  readonly #definition: AnyTask;
  readonly #ports: RunPackPorts;
  readonly #recorder: PackRecorder;
  readonly #stop = new AbortController();
  /** Items whose ids are taken. */
  readonly #stuck = new Set<number>();
  #itemSpan: Span | undefined;

  constructor(pack: PackOf<RunningTask>, definition: AnyTask, ports: RunPackPorts) {
    this.#pack = pack;
    this.#definition = definition;
    this.#ports = ports;
    const { flushIntervalMs, keepsResults } = definition.bulk;
    this.#recorder = new PackRecorder(
      pack,
      { keepsResults, flushIntervalMs: isCareful(pack, definition.retry) ? 0 : flushIntervalMs },
      {
        packs: tracedPacks(ports.tasks.bulk, pack, { ...ports, itemSpan: () => this.#itemSpan }),
        runtime: ports.runtime,
        limits: () => limitsWithinTrust(ports.session),
        onLost: (error) => this.#stop.abort(error),
      },
    );
  }

  async run(): Promise<ClaimReport> {
    const { handBack } = this.#ports;
    const definition: AnyTask = {
      ...this.#definition,
      input: undefined,
      timeoutMs: undefined,
      run: (_, task) => this.#runItems(task),
    };
    try {
      const settlement = await runClaim(this.#pack, definition, {
        ...this.#ports,
        tasks: this.#packVerbs(),
        handBack: AbortSignal.any([handBack, this.#stop.signal]),
      });
      const { settled } = this.#recorder;
      const rest = this.#pack.input.filter((_, index) => !this.#recorder.isRecorded(index)).length;
      return { settlement, settled: { ...settled, [settlement]: (settled[settlement] ?? 0) + rest } };
    } finally {
      this.#recorder.close();
    }
  }

  async #runItems({ signal }: TaskContext): Promise<void> {
    try {
      for (const index of (await this.#partWithSuspect()) ? this.#openItems() : []) {
        // An operator may have cancelled the item in the meantime.
        if (signal.aborted || !this.#recorder.isOpen(index)) continue;
        if ((await this.#runItem(index, signal)) === 'unsettled')
          throw new StoreUnavailableError('recording the end of an item failed', { applied: 'unknown' });
      }
    } catch (error) {
      // The pack is not the cause, and another worker may reach the store.
      if (error instanceof StoreUnavailableError) this.#stop.abort(new HandedBackError(error.message));
      throw error;
    }
    if (this.#openItems().length > 0 && signal.aborted) throw signal.reason as Error;
    const [stuck] = this.#stuck;
    if (stuck !== undefined)
      throw new Error(
        `${this.#stuck.size} items of the pack failed and could not leave it: another task has the id ${itemId(this.#pack.id, stuck)}`,
      );
  }

  async #runItem(index: number, signal: AbortSignal): Promise<Settlement> {
    const task = itemTask(this.#pack, index);
    const { trace, runtime } = this.#ports;
    const span = trace?.spans.item(task, runtime.clock.now());
    this.#itemSpan = span;
    const run = (): Promise<Settlement> => this.#runItemClaim(task, index, signal);
    let settlement: Settlement = 'unsettled';
    try {
      settlement = await (span === undefined ? run() : span.within(run));
      return settlement;
    } finally {
      this.#itemSpan = undefined;
      trace?.spans.endAttempt(span, { at: runtime.clock.now(), settlement });
    }
  }

  #runItemClaim(task: RunningTask, index: number, signal: AbortSignal): Promise<Settlement> {
    return runClaim(task, this.#definition, {
      ...this.#ports,
      // The item's end is recorded together with other items of the pack.
      trace: undefined,
      tasks: itemVerbs(this.#pack, index, {
        tasks: this.#ports.tasks,
        recorder: this.#recorder,
        policy: this.#definition.bulk,
        isPackStopping: () => signal.aborted,
        onStuck: (item) => {
          this.#stuck.add(item);
        },
      }),
      handBack: signal,
      graceMs: this.#ports.graceMs * ITEM_GRACE_SHARE,
    });
  }

  /**
   * Moves out the item that killed the last worker, before it kills this one.
   * Returns false if it cannot leave; then no item is run.
   */
  async #partWithSuspect(): Promise<boolean> {
    const suspect = suspectOf(this.#pack, this.#definition.retry, this.#ports.runtime.clock.now());
    if (suspect === undefined) return true;
    this.#ports.log.warn('pack item suspected of killing its worker', {
      task: itemId(this.#pack.id, suspect.index),
      attempt: suspect.attempts,
      then: settlementOf(suspect),
    });
    const outcome = await this.#recorder.move(suspect, limitsWithinTrust(this.#ports.session));
    if (outcome.kind === 'canceled') this.#stuck.add(suspect.index);
    // The crashed claim does not count against the other items, which did not run in it.
    if (outcome.kind === 'applied') this.#pack = { ...this.#pack, attempts: this.#pack.attempts - 1 };
    return outcome.kind !== 'canceled';
  }

  /** The operations of the pack's own claim. Each of them first records all ended items and then stops recording. */
  #packVerbs(): TaskStore {
    const { tasks } = this.#ports;
    const recorder = this.#recorder;
    let isFlushed = false;
    const after = async (limits: WriteLimits | undefined, end: () => Promise<Settled>): Promise<Settled> => {
      // A resent end has already flushed and stopped recording.
      if (!isFlushed) {
        const flushed = await recorder.flush(limits);
        if (flushed.kind === 'refused') return flushed;
        isFlushed = true;
        recorder.close();
      }
      return end();
    };
    return {
      ...tasks,
      complete: (_, __, ___, limits) => recorder.finish(limits),
      release: (claim, stamp, limits) => after(limits, () => tasks.release(claim, stamp, limits)),
      giveUp: (claim, reason, stamp, limits) => after(limits, () => tasks.giveUp(claim, reason, stamp, limits)),
      retry: (claim, failure, stamp, limits) => after(limits, () => tasks.retry(claim, failure, stamp, limits)),
      discard: (claim, error, stamp, limits) => after(limits, () => tasks.discard(claim, error, stamp, limits)),
    };
  }

  #openItems(): number[] {
    return this.#pack.input.flatMap((_, index) =>
      this.#recorder.isOpen(index) && !this.#stuck.has(index) ? [index] : [],
    );
  }
}
