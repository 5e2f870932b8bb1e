/**
 * What one claim of a pack writes into its row: which items have ended, and how.
 *
 * Ends without writes of the user's own are written together: when the first of them has waited for the flush interval, with the next write
 * that the pack needs anyway, or with the pack's own end. One write is under way at a time, so that they arrive in order.
 *
 * A write that is refused is looked at: the row is another's, and then this claim is lost; or it is still ours, and a request of ours that
 * had been given up for lost has decided an item meanwhile. Then the row is right, and what it says is taken over.
 */
import { LeaseLostError } from '../../core/errors.ts';
import type { WriteLimits } from '../../core/lease/outcome.ts';
import { stampOf } from '../../core/lease/stamp.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { Settlement } from '../run/settle.ts';
import type { CommitOutcome, Effect, Settled } from '../task/task-store.ts';
import type { Claim, Json, RunningTask, TaskRecord } from '../task/task.ts';
import { claimOf, describeTask } from '../task/task.ts';
import type { PackOf } from '../task/pack.ts';
import type { PackState } from '../task/task.ts';
import { isOpen } from '../task/pack.ts';
import type { BulkPolicy } from '../task/pack-policy.ts';
import { settlementOf } from './departure.ts';
import type { MovedItem, NumberedStamp, PackEntry, PackStore } from './pack-store.ts';

interface RecorderPorts {
  readonly packs: PackStore;
  readonly runtime: Runtime;
  /** Limits of writes that no item asks for. */
  readonly limits: () => WriteLimits;
  /** This claim is no longer the current one. */
  readonly onLost: (error: LeaseLostError) => void;
}

type Refusal = Extract<Settled, { kind: 'refused' }>;

/** To the code of an item: another worker decides it. */
const REFUSED: Refusal = { kind: 'refused', current: undefined, earlierAttempt: 'none' };
const APPLIED = { kind: 'applied', row: undefined } as const;

export class PackRecorder {
  /** How items have ended here, by what is in the row. */
  readonly settled: Partial<Record<Settlement, number>> = {};

  readonly #claim: Claim;
  readonly #total: number;
  readonly #ports: RecorderPorts;
  readonly #policy: Pick<BulkPolicy, 'flushIntervalMs' | 'keepsResults'>;
  #state: PackState;
  /** Numbers of the last write that was sent, and of the last one that the row is known to have. */
  #sequence: number;
  #writtenSequence: number;
  /** Items that have ended and are not in the row yet, with what they returned. */
  readonly #ended = new Map<number, Json | undefined>();
  #waitingSinceMonotonicMs = 0;
  #underWay: Promise<unknown> = Promise.resolve();
  /** Aborts when nothing is to be written any more. */
  readonly #closed = new AbortController();
  #isTimed = false;
  #isLost = false;

  /** @param policy a flush interval of zero records each end before the next item begins */
  constructor(
    pack: PackOf<RunningTask>,
    policy: Pick<BulkPolicy, 'flushIntervalMs' | 'keepsResults'>,
    ports: RecorderPorts,
  ) {
    this.#claim = claimOf(pack);
    this.#total = pack.input.length;
    this.#state = pack.bulk;
    this.#sequence = pack.bulk.sequence;
    this.#writtenSequence = pack.bulk.sequence;
    this.#policy = policy;
    this.#ports = ports;
  }

  /** Whether the item is still to be run, as far as is known here. */
  isOpen(index: number): boolean {
    return isOpen(this.#state, index) && !this.#ended.has(index);
  }

  /** Whether the row says what has become of the item. */
  isRecorded(index: number): boolean {
    return !isOpen(this.#state, index);
  }

  /** The item has ended well. */
  async complete(index: number, result: Json | undefined, limits: WriteLimits | undefined): Promise<Settled> {
    if (this.#isOver()) return REFUSED;
    const { flushIntervalMs } = this.#policy;
    if (this.#ended.size === 0) this.#waitingSinceMonotonicMs = this.#ports.runtime.clock.monotonic();
    this.#ended.set(index, result);
    // After the last one the pack's own end follows at once, and takes it along.
    if (!this.#hasOpenItem()) return APPLIED;
    if (this.#waitingMs() >= flushIntervalMs) return this.flush(limits);
    if (!this.#isTimed) this.#flushIn(flushIntervalMs);
    return APPLIED;
  }

  /** The item has ended well, together with writes of the user's own. */
  commit(
    index: number,
    result: Json | undefined,
    effects: readonly Effect[],
    limits: WriteLimits | undefined,
  ): Promise<CommitOutcome> {
    return this.#write<CommitOutcome>(
      async () => {
        const ended = new Map([...this.#ended, [index, result]]);
        const entry = this.#entryOf(ended);
        const outcome = await this.#ports.packs.commit(this.#claim, index, entry, effects, this.#stamp(), limits);
        if (outcome.kind === 'applied') this.#noteEnded(ended);
        return outcome;
      },
      () => isOpen(this.#state, index),
    );
  }

  /** The item goes on as a task of its own; `canceled` when its id is taken. */
  move(item: MovedItem, limits: WriteLimits | undefined): Promise<CommitOutcome> {
    return this.#write<CommitOutcome>(
      async () => {
        const ended = new Map(this.#ended);
        const outcome = await this.#ports.packs.move(this.#claim, item, this.#entryOf(ended), this.#stamp(), limits);
        if (outcome.kind !== 'applied') return outcome;
        this.#noteEnded(ended);
        this.#state = { ...this.#state, moved: new Set([...this.#state.moved, item.index]) };
        this.#count(settlementOf(item));
        return outcome;
      },
      () => isOpen(this.#state, item.index),
    );
  }

  /** The item was given up because it was cancelled; the row says so already. */
  giveUp(index: number): Settled {
    this.#state = { ...this.#state, cancelled: new Set([...this.#state.cancelled, index]) };
    this.#count('cancelled');
    return APPLIED;
  }

  /** Writes what has ended. */
  flush(limits: WriteLimits | undefined): Promise<Settled> {
    return this.#write<Settled>(async () => {
      if (this.#ended.size === 0) return APPLIED;
      const ended = new Map(this.#ended);
      const outcome = await this.#ports.packs.record(this.#claim, this.#entryOf(ended), this.#stamp(), limits);
      if (outcome.kind === 'refused') return outcome;
      this.#noteEnded(ended);
      this.#noteRow(outcome.row);
      return APPLIED;
    });
  }

  /** Writes what has ended, and that the pack has. */
  finish(limits: WriteLimits | undefined): Promise<Settled> {
    return this.#write<Settled>(async () => {
      const ended = new Map(this.#ended);
      const outcome = await this.#ports.packs.finish(this.#claim, this.#entryOf(ended), this.#stamp(), limits);
      if (outcome.kind === 'applied') this.#noteEnded(ended);
      return outcome;
    });
  }

  /** Nothing is written from here on; an item's code that outlives its pack is told that it is not its holder. */
  close(): void {
    this.#closed.abort();
  }

  /** An item that takes long must not keep those before it from being recorded. */
  #flushIn(ms: number): void {
    this.#isTimed = true;
    const { runtime, limits } = this.#ports;
    void runtime.clock.sleep(ms, this.#closed.signal).then(async () => {
      this.#isTimed = false;
      if (this.#ended.size === 0 || this.#closed.signal.aborted) return;
      const restMs = this.#policy.flushIntervalMs - this.#waitingMs();
      if (restMs > 0) {
        this.#flushIn(restMs);
        return;
      }
      // What could not be written now goes with the next write, and those that wait for that one are told.
      await this.flush(limits()).catch(() => undefined);
    });
  }

  /** How long the first of those that wait to be written has waited. */
  #waitingMs(): number {
    return this.#ports.runtime.clock.monotonic() - this.#waitingSinceMonotonicMs;
  }

  /**
   * One write at a time, and none once the pack is closed or lost.
   * @param isWanted whether it is to be sent again when the row turns out to be still ours, and merely further than we knew
   */
  #write<T extends Settled | CommitOutcome>(send: () => Promise<T>, isWanted = () => true): Promise<T | Refusal> {
    const turn = this.#underWay.then(async () => {
      for (;;) {
        if (this.#isOver()) return REFUSED;
        const outcome = await send();
        if (outcome.kind !== 'refused') return outcome;
        this.#noteRefusal(outcome);
        if (this.#isOver() || !isWanted()) return outcome;
      }
    });
    this.#underWay = turn.catch(() => undefined);
    return turn;
  }

  #hasOpenItem(): boolean {
    for (let index = 0; index < this.#total; index++) if (this.isOpen(index)) return true;
    return false;
  }

  #isOver(): boolean {
    return this.#closed.signal.aborted || this.#isLost;
  }

  #stamp(): NumberedStamp {
    return { ...stampOf(this.#ports.runtime), sequence: ++this.#sequence, previousSequence: this.#writtenSequence };
  }

  #entryOf(ended: ReadonlyMap<number, Json | undefined>): PackEntry {
    return { done: [...ended.keys()], results: this.#resultsWith(ended) };
  }

  /** Undefined where none are kept. */
  #resultsWith(ended: ReadonlyMap<number, Json | undefined>): PackState['results'] | undefined {
    if (!this.#policy.keepsResults) return undefined;
    const returned = [...ended].flatMap(([index, result]) => (result === undefined ? [] : [[index, result] as const]));
    return { ...this.#state.results, ...Object.fromEntries(returned) };
  }

  /** The row has been written. */
  #noteEnded(ended: ReadonlyMap<number, Json | undefined>): void {
    const results = this.#resultsWith(ended) ?? {};
    this.#writtenSequence = this.#sequence;
    this.#state = { ...this.#state, results, done: new Set([...this.#state.done, ...ended.keys()]) };
    for (const index of ended.keys()) this.#noteDone(index);
    this.#waitingSinceMonotonicMs = this.#ports.runtime.clock.monotonic();
  }

  #noteDone(index: number): void {
    this.#ended.delete(index);
    this.#count('done');
  }

  /** What others have written meanwhile: items cancelled by an operator. */
  #noteRow({ bulk }: TaskRecord): void {
    if (bulk !== undefined) this.#state = { ...this.#state, cancelled: bulk.cancelled };
  }

  #noteRefusal({ current }: Refusal): void {
    const { session, leaseCounter } = this.#claim;
    const isOurs = current?.state === 'running' && current.session === session && current.leaseCounter === leaseCounter;
    if (isOurs && current.bulk !== undefined) {
      this.#state = current.bulk;
      this.#sequence = Math.max(this.#sequence, current.bulk.sequence);
      this.#writtenSequence = current.bulk.sequence;
      for (const index of this.#ended.keys()) {
        // A record that was given up for lost had arrived.
        if (this.#state.done.has(index)) this.#noteDone(index);
      }
      return;
    }
    this.#isLost = true;
    const detail = `counter ${leaseCounter} is no longer the current one`;
    this.#ports.onLost(new LeaseLostError(describeTask(this.#claim), 'superseded', detail));
  }

  #count(how: Settlement): void {
    this.settled[how] = (this.settled[how] ?? 0) + 1;
  }
}
