/** The locks of one session, including several in one transaction. */
import { ConfigurationError, shown } from '../../core/errors.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import { validOptions } from '../../core/validate/options.ts';
import type { WaitOptions } from '../../core/wait/wait.ts';
import type { Attempt, KeyContender } from './lock-contender.ts';
import { HeldLocks } from './held-locks.ts';
import type { Lock, LockOptions } from './lock.ts';
import type { Content, Refusal } from './lock-record.ts';
import { validContent, validKey } from './lock-record.ts';
import type { LockWish } from './lock-store.ts';
import type { SessionLocksPorts } from './session-locks.ts';
import { LOCK_OPTIONS, OPTIONS, PATIENT_OPTIONS, SessionLocks, validListed, validReentrant } from './session-locks.ts';
import { KEYS_LIMIT, SeveralContender } from './several.ts';
import type { LockPorts } from './lock-verdict.ts';

export type AcquisitionOfSeveral = { readonly kind: 'acquired'; readonly locks: HeldLocks } | Refusal;

export type SeveralLocksPorts = SessionLocksPorts & LockPorts;

export class SeveralLocks extends SessionLocks {
  readonly #session: SessionHolder;
  readonly #ports: SeveralLocksPorts;

  constructor(session: SessionHolder, ports: SeveralLocksPorts) {
    super(session, ports);
    this.#session = session;
    this.#ports = ports;
  }

  /** Acquires several keys in one transaction, without waiting. */
  async tryAcquireAll(keys: readonly string[], options: LockOptions = {}): Promise<AcquisitionOfSeveral> {
    validOptions(OPTIONS, options, LOCK_OPTIONS);
    const attempt = await this.#several(keys, options).attempt();
    if (attempt.kind !== 'acquired') this.ensureDecided(keys);
    return attempt.kind === 'acquired' ? { kind: 'acquired', locks: attempt.right } : attempt;
  }

  /** Acquires several keys in one transaction; does not hold a key while it waits. @throws as `acquire` */
  async acquireAll(keys: readonly string[], options: LockOptions & WaitOptions = {}): Promise<HeldLocks> {
    validOptions(OPTIONS, options, PATIENT_OPTIONS);
    return this.wait(keys, this.#several(keys, options), options);
  }

  #several(keys: readonly string[], options: LockOptions): KeyContender<HeldLocks> {
    if (!Array.isArray(keys)) throw new ConfigurationError(`the lock keys are ${shown(keys)}: must be a list of them`);
    const wanted = [...new Set((keys as readonly string[]).map(validKey))].sort();
    const [first] = wanted;
    if (first === undefined || wanted.length > KEYS_LIMIT)
      throw new ConfigurationError(
        `${wanted.length} lock keys are given: must be 1 to ${KEYS_LIMIT}, what one transaction takes`,
      );
    const wish = { content: validContent(first, options), isListed: validListed(options) };
    const isReentrant = validReentrant(options);
    return {
      key: JSON.stringify(wanted),
      read: () => Promise.resolve(undefined),
      attempt: () =>
        this.turns.run(wanted, async () => {
          await this.verbsUnderWay(wanted);
          const own = isReentrant ? undefined : this.refusalOfOwn(wanted);
          return own ?? (await this.#attemptSeveral(wanted, wish));
        }),
    };
  }

  /** Held keys are confirmed last, because a refused attempt, the usual case while waiting, has written nothing. */
  async #attemptSeveral(wanted: readonly string[], wish: LockWish): Promise<Attempt<HeldLocks>> {
    const lost = new Set<Lock>();
    for (;;) {
      const locks = new Map<string, Lock>();
      for (const lock of wanted.flatMap((key) => this.lockOf(key) ?? []))
        if (!lock.signal.aborted && !lost.has(lock)) locks.set(lock.key, lock);
      const held = [...locks.values()];
      const missing = wanted.filter((key) => !locks.has(key));
      const attempt = await this.#attemptMissing(missing, wish);
      if (attempt.kind !== 'acquired') return attempt;
      for (const lock of attempt.right) locks.set(lock.key, lock);
      const lostOne = await this.#confirmOrLeave(held, wish.content, attempt.right);
      if (lostOne === undefined)
        return { kind: 'acquired', right: new HeldLocks(wanted.flatMap((key) => locks.get(key) ?? [])) };
      lost.add(lostOne);
    }
  }

  async #attemptMissing(keys: readonly string[], wish: LockWish): Promise<Attempt<readonly Lock[]>> {
    if (keys.length === 0) return { kind: 'acquired', right: [] };
    const attempt = await new SeveralContender(keys, wish, this.#session, {
      ...this.#ports,
      unresolved: this.unresolved,
    }).attempt();
    if (attempt.kind !== 'acquired') return attempt;
    return { kind: 'acquired', right: attempt.right.map((row) => this.register(row)) };
  }

  /** Confirms all keys: if a held key is lost, the newly acquired keys are released again. @returns the lost key */
  async #confirmOrLeave(
    held: readonly Lock[],
    content: Content | undefined,
    acquired: readonly Lock[],
  ): Promise<Lock | undefined> {
    // The next attempt, or the session's end, releases what cannot be released now.
    const leave = () => Promise.allSettled(acquired.map((lock) => lock.release()));
    try {
      for (const lock of held) {
        if ((await this.again(lock.key, content)) === lock) continue;
        await leave();
        return lock;
      }
      return undefined;
    } catch (error) {
      await leave();
      throw error;
    }
  }
}
