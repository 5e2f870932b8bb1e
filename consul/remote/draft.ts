/** A key as a transaction would leave it: the row as read, and the result of the operations so far. */
import type { Content, Entry, HeldLock, LockRecord } from '../../shared/coordination/lock/lock-record.ts';
import type { KeyWrite } from '../../shared/coordination/lock/lock-store.ts';

/** An entry and who holds it, as the transaction will leave it. */
export interface DraftEntry extends Entry {
  readonly key: string;
  readonly modifyIndex: number;
  readonly session: string | undefined;
}

export class Draft {
  readonly key: string;
  readonly observed: LockRecord | undefined;
  /** Every write of the transaction raises the key's index to this value. */
  readonly #nextIndex: number;
  readonly #now: number;
  #entry: DraftEntry | undefined;
  #isChanged = false;

  constructor(key: string, observed: LockRecord | undefined, now: number) {
    this.key = key;
    this.observed = observed;
    this.#now = now;
    this.#nextIndex = (observed?.modifyIndex ?? now) + 1;
    if (observed?.entry !== undefined) {
      const { modifyIndex, entry } = observed;
      const session = observed.state === 'held' ? observed.session : undefined;
      this.#entry = { key, ...entry, modifyIndex, session };
    }
  }

  get entry(): DraftEntry | undefined {
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
   * The indexes are those of one write to the row as it was read, whatever earlier operations did to the draft.
   */
  become(content: Content, session: string | undefined): DraftEntry[] {
    this.#isChanged = true;
    const { createIndex = this.#now, lockIndex = 0 } = this.observed?.entry ?? {};
    this.#entry = {
      key: this.key,
      session,
      createIndex,
      modifyIndex: this.#nextIndex,
      ...content,
      lockIndex: session !== undefined && this.#isAnothers(session) ? lockIndex + 1 : lockIndex,
    };
    return [this.#entry];
  }

  remove(): DraftEntry[] {
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
    const { value = '', encoding, flags, session } = this.#entry;
    const content = { value, encoding, flags };
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
