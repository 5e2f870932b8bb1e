/**
 * The journal of one claim of a durable task: what its holder has read, and its writes.
 *
 * The SDK asks for some changes without waiting for them: the start of a step that may repeat, contexts, and starts of waits. They are
 * kept here (`#soft`) and written together with the next change that it waits for, with the suspension or with the end. A crash loses
 * them; the replay asks for them again.
 *
 * If something has arrived that this holder has not seen, the row refuses a write. The holder folds the row that refused, and sends the
 * write again.
 */
import { isDenied } from '../../core/denied.ts';
import { CorruptItemError, StoreUnavailableError, messageOf } from '../../core/errors.ts';
import { utf8Bytes } from '../../core/runtime/bytes.ts';
import type { WriteLimits, Stamp } from '../../core/lease/write.ts';
import { stampOf } from '../../core/lease/write.ts';
import { NEVER } from '../task/batch.ts';
import type { SequencedStamp, Settled } from '../task/task-store.ts';
import type { Claim, JournalInRow, RunningTask, TaskRecord } from '../task/task.ts';
import { claimOf, describeTask } from '../task/task.ts';
import { refusalOf } from '../task/user-writes.ts';
import { barred } from '../run/bar.ts';
import type { ClaimHolder } from '../run/claim-holder.ts';
import { entryWithContent } from './arrival.ts';
import type { Element, Entry, OperationError } from './entry.ts';
import { joined, openKeyOf, parted } from './entry.ts';
import type { JournalEnd, JournalPart, JournalStore } from './journal-store.ts';
import type { Asked } from './asked-entries.ts';
import { JournalLimitError, ensureEntryFits, inTransactions } from './asked-entries.ts';
import { Operations } from './operations.ts';
import { elementsOfPart, packed, partsOf, unpacked } from './packed.ts';

/**
 * The row's elements go to separate rows before the task's row has more than 1 KB, because a checkpoint is billed by its size. Below
 * the first of these sizes they stay, because a move costs three units.
 */
const TAIL_BYTES = { min: 512, max: 720 };
const UNIT_BYTES = 1_010;
/** Size of a task's row without its names and its input. */
const ROW_BYTES = 240;
/** Size of the attributes of a journal with parts. */
const PARTS_BYTES = 50;
/** Entries that are only kept here, at most. */
const SOFT_BYTES = 16 * 1_024;
/** A worker holds it in memory. */
const JOURNAL_LIMIT_BYTES = 16 * 1_024 * 1_024;
/** AWS's limit. */
const OPERATIONS_LIMIT = 30_000;
/** A write of 1 KB costs as much as its storage for so long. */
const WORTH_EXPIRING_MS = 75 * 86_400_000;
const NOTHING: JournalInRow = { elements: [], part: undefined, open: new Set(), beats: {} };

/** Something has arrived, or the task was cancelled: the suspension is off. */
class NotSuspended extends Error {}

export class Journal {
  readonly operations = new Operations();
  readonly #holder: ClaimHolder;
  readonly #store: JournalStore;
  readonly #claim: Claim;
  /** How many bytes of elements may be in the row. */
  readonly #tailBytes: number;
  readonly #executionMs: number;
  /** The row's part, as last seen by the holder. */
  #row: JournalInRow;
  /** Number of the row's elements that are folded into `operations`, and their texts. */
  #seen = 0;
  #texts: readonly string[] = [];
  /** Entries that are folded but not written. */
  #soft: Entry[] = [];
  #sequence = 0;
  #bytes = 0;
  /** Names of the separate rows: parts, and arrivals. */
  readonly #apart = { parts: [] as string[], arrivals: [] as string[] };
  /** Operations whose start is in the journal. */
  readonly #isWritten = new Set<string>();
  /** Operations that have changed from outside since the last invocation. */
  readonly #updated = new Set<string>();

  private constructor(holder: ClaimHolder, store: JournalStore, executionMs: number) {
    this.#executionMs = executionMs;
    this.#holder = holder;
    this.#store = store;
    this.#claim = claimOf(holder.task);
    this.#tailBytes = tailBytesOf(holder.task);
    this.#row = holder.task.journal ?? NOTHING;
  }

  /** @throws CorruptItemError when rows of the journal are gone, or cannot be read */
  static async open(holder: ClaimHolder, store: JournalStore, executionMs: number): Promise<Journal> {
    const { task } = holder;
    const journal = new Journal(holder, store, executionMs);
    await journal.#foldAll().catch((error: unknown) => {
      if (error instanceof StoreUnavailableError || error instanceof CorruptItemError || isDenied(error)) throw error;
      throw new CorruptItemError(`of ${describeTask(task)}`, 'journal', `cannot be read: ${messageOf(error)}`);
    });
    // An invocation whose worker died has left no trace.
    const last = task.past.at(-1);
    if (last?.leaseCounter === task.leaseCounter - 1 && (last.how === 'died' || last.how === 'failed'))
      journal.#soft.push({ a: 'end', t: last.endedAt, e: errorOfEnd(last.how, last.error) });
    if (task.generation > journal.operations.generation)
      journal.#fold([{ a: 'redrive', t: journal.now, d: task.generation }]);
    return journal;
  }

  async #foldAll(): Promise<void> {
    const { texts, isWhole } = await this.#store.journalParts(this.#holder.task);
    if (!isWhole) throw new Error('rows of older elements are gone');
    this.#apart.parts.push(...texts.keys());
    await this.#read([...texts.values()].flatMap(elementsOfPart));
    this.#updated.clear();
    await this.#take(this.#row);
    this.operations.takeChanged();
  }

  get now(): number {
    return this.#holder.runtime.clock.now();
  }

  /** Lets time pass, and writes which callbacks have timed out. */
  async refresh(): Promise<void> {
    // A heartbeat does not change the nonce, so the row may be older.
    if (this.#late.some(({ e }) => e?.ErrorType === 'Callback.Heartbeat')) await this.#readRow();
    if (this.#late.length > 0) await this.#write(() => this.#late.map((entry) => ({ entry, effects: [] })));
    this.operations.tick(this.now);
  }

  /** Reads what has arrived since the last write. */
  async poll(): Promise<void> {
    await this.#readRow();
    await this.refresh();
  }

  /** Folds entries, and writes them later. */
  async soften(entries: readonly Entry[]): Promise<void> {
    this.#ensureFits(entries);
    this.#fold(entries);
    await this.#flush();
  }

  /** Folds and writes entries, with what else their transactions do. */
  async record(asked: readonly Asked[]): Promise<void> {
    this.#ensureFits(asked.map(({ entry }) => entry));
    for (const some of inTransactions(asked)) await this.#write(() => some);
    this.operations.tick(this.now);
  }

  /** @returns whether the claim has ended. Otherwise the code can continue */
  async suspend(latest: number): Promise<boolean> {
    // A suspension does not spill.
    if (packed(this.#texts).bytes > 4 * this.#tail) await this.#write();
    await this.#flush();
    const now = this.now;
    const at = Math.min(latest, this.operations.wakeAt(this.#beatOf));
    if (at <= now) {
      this.operations.tick(now);
      return false;
    }
    const { elements } = packed([...this.#texts, this.#elementOf([...this.#soft, { a: 'end', t: now }])]);
    const write = { elements, seen: this.#seen, readyAt: at === Infinity ? NEVER : at };
    let current: TaskRecord | undefined;
    try {
      await this.#holder.verb('suspended', async (stamp, limits) => {
        const outcome = await this.#store.suspend(this.#claim, write, this.#numbered(stamp), limits);
        if (outcome.kind === 'applied' || !this.#isMine(outcome.current)) return hasSettled(this.#holder, outcome);
        ({ current } = outcome);
        throw new NotSuspended();
      });
      this.#holder.onSuspended(write.readyAt);
      return true;
    } catch (error) {
      if (!(error instanceof NotSuspended)) throw error;
    }
    if (current?.cancellation !== undefined) {
      await this.#giveUp(current.cancellation.reason);
      return true;
    }
    if (current?.journal !== undefined) await this.#take(current.journal);
    return false;
  }

  async end({ result, error }: Omit<JournalEnd, 'apart'>): Promise<void> {
    const isWorthIt = error === undefined && 2 * this.#executionMs > WORTH_EXPIRING_MS;
    const end = { result, error, apart: isWorthIt ? this.#apart : undefined };
    const element = this.#elementOf([...this.#soft, { a: 'end', t: this.now }]);
    await this.#holder.verb(error === undefined ? 'done' : 'dead', async (stamp, limits) =>
      hasSettled(this.#holder, await this.#store.end(this.#claim, [element], end, this.#numbered(stamp), limits)),
    );
  }

  /** Ids of operations that have changed since the last invocation. */
  takeUpdated(): readonly string[] {
    const ids = new Set([...this.#updated, ...this.operations.takeChanged().map(({ id }) => id)]);
    this.#updated.clear();
    return [...ids];
  }

  msToWake(): number {
    return Math.max(0, this.operations.wakeAt(this.#beatOf) - this.now);
  }

  get #late(): readonly Entry[] {
    return this.operations.timedOut(this.now, this.#beatOf);
  }

  readonly #beatOf = (op: string): number | undefined => this.#row.beats[op];

  #fold(entries: readonly Entry[]): void {
    for (const entry of entries) this.operations.apply(entry);
    this.#soft.push(...entries);
  }

  /** Writes what is only kept here, if it is too much for the write that ends the invocation. */
  async #flush(): Promise<void> {
    const bytes = this.#soft.reduce((sum, { r }) => sum + 200 + (r === undefined ? 0 : utf8Bytes(r)), 0);
    if (bytes > SOFT_BYTES) await this.#write();
  }

  #ensureFits(entries: readonly Entry[]): void {
    entries.forEach(ensureEntryFits);
    const operations = this.operations.states.size + entries.filter(({ a }) => a === 'start').length;
    if (operations > OPERATIONS_LIMIT)
      throw new JournalLimitError(
        `the execution has more than ${OPERATIONS_LIMIT} operations: continue in another task`,
      );
    if (this.#bytes > JOURNAL_LIMIT_BYTES)
      throw new JournalLimitError(
        `the journal has more than ${JOURNAL_LIMIT_BYTES} bytes: keep large results elsewhere, or continue in another task`,
      );
  }

  get #tail(): number {
    return this.#row.part === undefined ? this.#tailBytes : this.#tailBytes - PARTS_BYTES;
  }

  #numbered(stamp: Stamp): SequencedStamp {
    return { ...stamp, sequence: this.#sequence };
  }

  #elementOf(entries: readonly Entry[]): string {
    const e = joined(entries, (id) => this.#isWritten.has(id));
    return JSON.stringify({ e, w: [this.#claim.leaseCounter, ++this.#sequence] } satisfies Element);
  }

  /** @param asks called again if something has arrived: an operation that was answered in time has not timed out */
  async #write(asks: () => readonly Asked[] = () => []): Promise<void> {
    for (;;) {
      const asked = asks();
      const entries = asked.map(({ entry }) => entry);
      const written = [...this.#soft, ...entries];
      const element = this.#elementOf(written);
      const opened = entries.filter(({ a, c }) => a === 'start' && c !== undefined);
      const timedOut = entries.filter(({ a }) => a === 'timeout');
      const all = [...this.#texts, element];
      const { elements, bytes } = packed(all);
      const newParts = bytes > this.#tail ? this.#partsOf(all) : [];
      const tail = newParts.length > 0 ? [] : elements;
      this.#apart.parts.push(...newParts.map(({ name }) => name));
      // An operator may retry it once, as long as it is kept.
      const keptUntil = this.now + 2 * this.#executionMs;
      const refused = await this.#send({
        opened: opened.map(({ i = '', c = '' }) => openKeyOf(i, c)),
        closed: timedOut.flatMap(({ i = '' }) => this.operations.states.get(i)?.openKey ?? []),
        hasBeats: opened.some(({ h }) => h !== undefined),
        effects: asked.flatMap(({ effects }) => effects),
        elements: tail,
        seen: this.#seen,
        newParts,
        keptUntil,
      });
      if (refused === undefined) {
        this.#soft = [];
        for (const { i } of written) if (i !== undefined) this.#isWritten.add(i);
        for (const entry of entries) this.operations.apply(entry);
        this.#texts = newParts.length > 0 ? [] : all;
        this.#row = { ...this.#row, elements: tail, part: newParts.at(-1)?.name ?? this.#row.part };
        this.#seen = tail.length;
        this.#bytes += utf8Bytes(element);
        return;
      }
      await this.#take(refused);
    }
  }

  /** Each row names the one before it. */
  #partsOf(texts: readonly string[]): readonly JournalPart[] {
    let before = this.#row.part;
    return partsOf(texts).map((text, at) => {
      const part = { name: [this.#claim.leaseCounter, this.#sequence, at].join('.'), before, text };
      before = part.name;
      return part;
    });
  }

  /** @returns the row's part, if something has arrived that this holder had not seen */
  async #send(write: Parameters<JournalStore['checkpoint']>[1]): Promise<JournalInRow | undefined> {
    const { tasks, verb, onProgress, onFollowers, runtime } = this.#holder;
    let refused: JournalInRow | undefined;
    const send = async (stamp: Stamp, limits: WriteLimits): Promise<boolean> => {
      const numbered = this.#numbered(stamp);
      const outcome = await this.#store.checkpoint(this.#claim, write, numbered, limits);
      if (outcome.kind === 'canceled') {
        const raise = () => tasks.bar(this.#claim, { ...stampOf(runtime), sequence: this.#sequence }, limits);
        const final = await barred(outcome, { nonce: stamp.nonce, to: 'running' }, raise);
        if (final.kind === 'canceled') throw refusalOf(`a step of ${describeTask(this.#claim)}`, final.reasons);
        return final.kind === 'applied';
      }
      if (outcome.kind === 'applied') return true;
      if (!this.#isMine(outcome.current)) return false;
      refused = outcome.current?.journal ?? NOTHING;
      return true;
    };
    await verb(undefined, send, 'checkpoint');
    if (refused !== undefined) return refused;
    onProgress();
    const children = write.effects.flatMap((effect) => ('spawn' in effect ? [effect.spawn] : []));
    if (children.length > 0) onFollowers(children);
    return undefined;
  }

  #isMine(row: TaskRecord | undefined): boolean {
    const { leaseCounter, session } = this.#claim;
    return row?.state === 'running' && row.leaseCounter === leaseCounter && row.session === session;
  }

  async #readRow(): Promise<void> {
    const row = await this.#holder.tasks.get(this.#claim);
    if (row !== undefined && this.#isMine(row)) await this.#take(row.journal ?? NOTHING);
  }

  /** Folds the elements of the row that are new, in their order. */
  async #take(row: JournalInRow): Promise<void> {
    const texts = row.elements.slice(this.#seen).flatMap(unpacked);
    this.#texts = [...this.#texts, ...texts];
    this.#row = row;
    this.#seen = row.elements.length;
    await this.#read(texts);
  }

  async #read(texts: readonly string[]): Promise<void> {
    const elements = texts.map((text) => JSON.parse(text) as Element);
    const apart = elements.flatMap(({ e }) => e.flatMap(({ l }) => l ?? []));
    this.#apart.arrivals.push(...apart);
    const contents = apart.length > 0 ? await this.#store.arrivals(this.#claim) : new Map<string, string>();
    for (const { w, e } of elements)
      for (const entry of parted(e)) {
        const { i } = entry;
        this.operations.apply(entryWithContent(entry, contents));
        if (i === undefined) continue;
        this.#isWritten.add(i);
        if (w === undefined) this.#updated.add(i);
      }
    this.#bytes += texts.reduce((sum, text) => sum + utf8Bytes(text), 0);
  }

  #giveUp(reason: string): Promise<void> {
    const { tasks, verb } = this.#holder;
    return verb('cancelled', async (stamp, limits) =>
      hasSettled(this.#holder, await tasks.giveUp(this.#claim, reason, stamp, limits)),
    );
  }
}

/** @returns whether the write that ended the claim was applied */
export function hasSettled({ onFollowed }: ClaimHolder, outcome: Settled): boolean {
  if (outcome.kind === 'applied' && outcome.isFollowed === true) onFollowed();
  return outcome.kind === 'applied';
}

function tailBytesOf({ queue, id, name, input, links, tenant, past, traceparent }: RunningTask): number {
  const asked = utf8Bytes(JSON.stringify([input, links, tenant, past, traceparent]));
  const bytes = ROW_BYTES + 3 * utf8Bytes(queue) + 2 * utf8Bytes(id) + utf8Bytes(name) + asked;
  return Math.min(TAIL_BYTES.max, Math.max(TAIL_BYTES.min, UNIT_BYTES - bytes));
}

function errorOfEnd(how: 'died' | 'failed', error: string | undefined): OperationError {
  return { ErrorType: how === 'died' ? 'Runtime.ExitError' : 'Error', ErrorMessage: error ?? 'the worker died' };
}
