/**
 * Records in the pack's row how the items of one claim ended.
 *
 * Ends without the user's own writes are recorded together: after the flush interval of the first one, with the next write
 * that the pack needs anyway, or with the pack's own end. Only one write is in flight at a time, so writes arrive in order.
 *
 * After a refused write, the recorder checks the row. If it belongs to another holder, this claim is lost. If it is still ours, an earlier
 * request without a response has decided an item, and the recorder adopts the row's content.
 */
import { LeaseLostError } from '../../core/errors.ts';
import type { WriteLimits } from '../../core/lease/outcome.ts';
import { stampOf } from '../../core/lease/stamp.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import { barred } from '../run/bar.ts';
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
  /** Limits of writes that are not for an item. */
  readonly limits: () => WriteLimits;
  /** This claim is no longer the current one. */
  readonly onLost: (error: LeaseLostError) => void;
}

type Refusal = Extract<Settled, { kind: 'refused' }>;

/** The error that an item's code gets after another worker has taken the pack over. */
const REFUSED: Refusal = { kind: 'refused', current: undefined, earlierAttempt: 'none' };
const APPLIED = { kind: 'applied', row: undefined } as const;

export class PackRecorder {
  /** Counts of items that ended in this claim, by settlement in the row. */
  readonly settled: Partial<Record<Settlement, number>> = {};

  readonly #claim: Claim;
  readonly #total: number;
  readonly #ports: RecorderPorts;
  readonly #policy: Pick<BulkPolicy, 'flushIntervalMs' | 'keepsResults'>;
  #state: PackState;
  /** Sequence numbers of the last write sent, and of the last write known to be in the row. */
  #sequence: number;
  #writtenSequence: number;
  /** Ended items that are not in the row yet, with their results. */
  readonly #ended = new Map<number, Json | undefined>();
  #waitingSinceMonotonicMs = 0;
  #underWay: Promise<unknown> = Promise.resolve();
  /** Aborts when no more writes are allowed. */
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

  /** Whether the item still has to run, as far as this worker knows. */
  isOpen(index: number): boolean {
    return isOpen(this.#state, index) && !this.#ended.has(index);
  }

  /** Whether the row records the item's end. */
  isRecorded(index: number): boolean {
    return !isOpen(this.#state, index);
  }

  /** The item has completed. */
  async complete(index: number, result: Json | undefined, limits: WriteLimits | undefined): Promise<Settled> {
    if (this.#isOver()) return REFUSED;
    const { flushIntervalMs } = this.#policy;
    if (this.#ended.size === 0) this.#waitingSinceMonotonicMs = this.#ports.runtime.clock.monotonic();
    this.#ended.set(index, result);
    // After the last item, the pack's own end follows at once and records it too.
    if (!this.#hasOpenItem()) return APPLIED;
    if (this.#waitingMs() >= flushIntervalMs) return this.flush(limits);
    if (!this.#isTimed) this.#flushIn(flushIntervalMs);
    return APPLIED;
  }

  /** Completes the item together with the user's own writes. `canceled`: one of the writes was refused, which is final. */
  commit(
    index: number,
    result: Json | undefined,
    effects: readonly Effect[],
    limits: WriteLimits | undefined,
  ): Promise<CommitOutcome> {
    return this.#write<CommitOutcome>(
      async () => {
        const ended = new Map([...this.#ended, [index, result]]);
        const stamp = this.#stamp();
        const sent = await this.#ports.packs.commit(this.#claim, index, this.#entryOf(ended), effects, stamp, limits);
        if (sent.kind === 'applied') this.#noteEnded(ended);
        if (sent.kind !== 'canceled') return sent;
        const outcome = await barred(sent, { nonce: stamp.nonce, to: 'running' }, () => this.#record(limits));
        if (outcome.kind === 'applied') this.#noteEnded(ended, stamp.sequence);
        return outcome;
      },
      () => isOpen(this.#state, index),
    );
  }

  /** Moves the item to its own row. `canceled`: its id is taken. */
  async move(item: MovedItem, limits: WriteLimits | undefined): Promise<CommitOutcome> {
    const sent = await this.#write<CommitOutcome>(
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
    // An earlier request without a response had moved it.
    if (sent.kind === 'refused' && this.#state.moved.has(item.index)) this.#count(settlementOf(item));
    return sent;
  }

  /** Notes that the item was given up because it was cancelled. The row already records that. */
  giveUp(index: number): Settled {
    this.#state = { ...this.#state, cancelled: new Set([...this.#state.cancelled, index]) };
    this.#count('cancelled');
    return APPLIED;
  }

  /** Records ended items. */
  flush(limits: WriteLimits | undefined): Promise<Settled> {
    return this.#write<Settled>(async () => (this.#ended.size === 0 ? APPLIED : this.#record(limits)));
  }

  /** Records ended items, and the end of the pack. */
  finish(limits: WriteLimits | undefined): Promise<Settled> {
    return this.#write<Settled>(async () => {
      const ended = new Map(this.#ended);
      const outcome = await this.#ports.packs.finish(this.#claim, this.#entryOf(ended), this.#stamp(), limits);
      if (outcome.kind === 'applied') this.#noteEnded(ended);
      return outcome;
    });
  }

  /** Stops all writes; the code of an item that outlives its pack gets an error that it is no longer the holder. */
  close(): void {
    this.#closed.abort();
  }

  /** A long item must not delay the records of the items before it. */
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
      // Items of a failed write are recorded with the next write, which reports its own errors.
      await this.flush(limits()).catch(() => undefined);
    });
  }

  /** How long the oldest unwritten end has waited. */
  #waitingMs(): number {
    return this.#ports.runtime.clock.monotonic() - this.#waitingSinceMonotonicMs;
  }

  /**
   * Sends one write at a time, and stops once the pack is closed or lost.
   * @param isWanted whether to resend if the row turns out to be still ours but newer than we knew
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

  async #record(limits: WriteLimits | undefined): Promise<Settled> {
    const ended = new Map(this.#ended);
    const outcome = await this.#ports.packs.record(this.#claim, this.#entryOf(ended), this.#stamp(), limits);
    if (outcome.kind === 'refused') return outcome;
    this.#noteEnded(ended);
    this.#noteRow(outcome.row);
    return APPLIED;
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

  /** Undefined if results are not kept. */
  #resultsWith(ended: ReadonlyMap<number, Json | undefined>): PackState['results'] | undefined {
    if (!this.#policy.keepsResults) return undefined;
    const returned = [...ended].flatMap(([index, result]) => (result === undefined ? [] : [[index, result] as const]));
    return { ...this.#state.results, ...Object.fromEntries(returned) };
  }

  /**
   * Notes that the row was written. @param sequence number of the applied write: the last one, unless a copy of an earlier one was faster
   */
  #noteEnded(ended: ReadonlyMap<number, Json | undefined>, sequence = this.#sequence): void {
    const results = this.#resultsWith(ended) ?? {};
    this.#writtenSequence = sequence;
    this.#state = { ...this.#state, results, done: new Set([...this.#state.done, ...ended.keys()]) };
    for (const index of ended.keys()) this.#noteDone(index);
    this.#waitingSinceMonotonicMs = this.#ports.runtime.clock.monotonic();
  }

  #noteDone(index: number): void {
    this.#ended.delete(index);
    this.#count('done');
  }

  /** Adopts the items that an operator has cancelled. */
  #noteRow({ bulk }: TaskRecord): void {
    if (bulk !== undefined) this.#state = { ...this.#state, cancelled: bulk.cancelled };
  }

  #noteRefusal({ current }: Refusal): void {
    const { session, leaseCounter } = this.#claim;
    const isOurs = current?.state === 'running' && current.session === session && current.leaseCounter === leaseCounter;
    if (isOurs && current.bulk !== undefined) {
      const { done } = this.#state;
      this.#state = current.bulk;
      this.#sequence = Math.max(this.#sequence, current.bulk.sequence);
      this.#writtenSequence = current.bulk.sequence;
      for (const index of this.#state.done) {
        // A record or a commit without a response had been applied.
        if (!done.has(index)) this.#noteDone(index);
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
