/** A key as a transaction would leave it: the row as read, and the result of the operations so far. */
import type { HeldLock, LockRecord } from '../../shared/coordination/lock/lock-record.ts';
import type { KeyWrite } from '../../shared/coordination/lock/lock-store.ts';
import type { KeyContent, KeyEntry } from './entry.ts';
import { contentOf, keptIn } from './entry.ts';

export class Draft {
  readonly key: string;
  readonly observed: LockRecord | undefined;
  /** Every write of the transaction raises the key's index to this value. */
  readonly #nextIndex: number;
  readonly #now: number;
  #entry: KeyEntry | undefined;
  /** The entry, as it was read. */
  #tenures = 0;
  #isChanged = false;

  /** @throws CorruptItemError */
  constructor(key: string, observed: LockRecord | undefined, now: number) {
    this.key = key;
    this.observed = observed;
    this.#now = now;
    this.#nextIndex = (observed?.modifyIndex ?? now) + 1;
    if (observed?.entry !== undefined) {
      const { modifyIndex, entry } = observed;
      const session = observed.state === 'held' ? observed.session : undefined;
      this.#entry = { key, ...keptIn(key, entry), createIndex: entry.createdAt, modifyIndex, session };
      this.#tenures = this.#entry.lockIndex;
    }
  }

  get entry(): KeyEntry | undefined {
    return this.#entry;
  }

  get session(): string | undefined {
    return this.#entry?.session;
  }

  /** No acquire succeeds before; 0: open. */
  get notBefore(): number {
    return this.observed?.state === 'free' ? this.observed.notBefore : 0;
  }

  /**
   * Sets this content and its holder; without a session, the key has no holder.
   * The indexes count one write to the row as it was read, regardless of earlier operations on the draft.
   */
  become({ bytes, flags }: KeyContent, session: string | undefined): KeyEntry[] {
    this.#isChanged = true;
    this.#entry = {
      key: this.key,
      session,
      createIndex: this.observed?.entry?.createdAt ?? this.#now,
      modifyIndex: this.#nextIndex,
      bytes,
      flags,
      lockIndex: session !== undefined && this.#isAnothers(session) ? this.#tenures + 1 : this.#tenures,
    };
    return [this.#entry];
  }

  remove(): KeyEntry[] {
    this.#isChanged ||= this.#entry !== undefined;
    this.#entry = undefined;
    return [];
  }

  /** The tenure, as it was read, that this draft ends, or gives to another session. */
  get ended(): HeldLock | undefined {
    const { observed } = this;
    return observed?.state === 'held' && this.#isChanged && this.session !== observed.session ? observed : undefined;
  }

  /** Returns the write that turns the row into this draft, or undefined if nothing changed. */
  write(): KeyWrite | undefined {
    const { key, observed } = this;
    if (!this.#isChanged) return undefined;
    if (this.#entry === undefined) return observed?.entry === undefined ? undefined : { kind: 'remove', observed };
    const { session } = this.#entry;
    const content = contentOf(this.#entry);
    if (session !== undefined && this.#isAnothers(session))
      return { kind: 'take', observed: { key, record: observed, isFresh: false }, session, content };
    if (session === undefined && observed?.state === 'held') return { kind: 'leave', observed, content };
    return { kind: 'put', key, observed, content };
  }

  /** Whether the row as it was read is not this session's: with it, a tenure begins. */
  #isAnothers(session: string): boolean {
    return this.observed?.state !== 'held' || this.observed.session !== session;
  }
}
