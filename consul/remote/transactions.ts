/**
 * Several operations on several keys, atomically.
 *
 * We read the rows and try the operations on them one after another, each on the result of the earlier ones.
 * If all are allowed, one transaction writes the result, on the condition that every row is still as it was read.
 * The effect is as if all happened at one moment. Operations that change nothing depend on two consecutive reads that agree.
 *
 * One operation on one key is one write: a transaction costs twice as much. The session that acquires is then read once more after the
 * write: it was live when it got the key, because an ended session never comes back. One read suffices where nothing changes.
 *
 * A row below a prefix that does not decode is not listed, and no transaction deletes the prefix without it.
 *
 * We look up the keys of a prefix first. A key that is created under it in the meantime is not part of the transaction.
 */
import { ensureUnwritten, stampOf } from '../../shared/core/lease/write.ts';
import { CorruptItemError, assert } from '../../shared/core/errors.ts';
import type { Stamp } from '../../shared/core/lease/write.ts';
import type { Contended } from '../../shared/core/wait/retry-contended.ts';
import { contended, retryContended } from '../../shared/core/wait/retry-contended.ts';
import { RemoteSessions } from './sessions.ts';
import type { SessionRecord } from '../../shared/session/session-record.ts';
import { closingOf } from '../../shared/session/session-record.ts';
import { Draft } from './draft.ts';
import type { KeyContent, KeyEntry } from './entry.ts';
import { isStored } from './entry.ts';
import type { LockRecord } from '../../shared/coordination/lock/lock-record.ts';
import { opensAt } from '../../shared/coordination/lock/lock-record.ts';
import type { PrefixView } from './prefix.ts';
import { PrefixReader } from './prefix.ts';
import { LockReader } from '../../shared/coordination/lock/lock-reader.ts';
import { KEYS_LIMIT } from '../../shared/coordination/lock/several-locks.ts';
import type { LockPorts } from '../../shared/coordination/lock/lock-verdict.ts';
import type { EndedTenures, KeyWrite } from '../../shared/coordination/lock/lock-store.ts';

export type KeyOperation =
  | { readonly verb: 'set'; readonly key: string; readonly content: KeyContent }
  /** `index` 0: only if there is no entry. */
  | { readonly verb: 'setIf'; readonly key: string; readonly content: KeyContent; readonly index: number }
  | {
      readonly verb: 'acquire' | 'release';
      readonly key: string;
      readonly content: KeyContent;
      readonly session: string;
    }
  | { readonly verb: 'get' | 'find' | 'delete' | 'checkAbsent'; readonly key: string }
  | { readonly verb: 'deleteIf' | 'checkIndex'; readonly key: string; readonly index: number }
  | { readonly verb: 'checkSession'; readonly key: string; readonly session: string }
  | { readonly verb: 'deleteAll'; readonly prefix: string }
  /** `shows`: whether a key is the caller's to see; the others are not read, and the transaction does not rest on them. */
  | { readonly verb: 'list'; readonly prefix: string; readonly shows?: (key: string) => boolean };

/** Why an operation cannot be done. */
export type OperationFailure =
  | { readonly kind: 'stale' | 'held' | 'delayed' | 'notHeld' | 'absent' | 'present' | 'sessionGone' }
  | { readonly kind: 'otherIndex'; readonly index: number }
  | { readonly kind: 'otherSession'; readonly session: string };

interface OperationRefusal {
  /** Which of the operations, from 0. */
  readonly at: number;
  readonly failure: OperationFailure;
}

type TransactionOutcome =
  /** The result of each operation, in order; deletions have none. */
  | {
      readonly kind: 'done';
      readonly results: readonly (readonly KeyEntry[])[];
      /** Keys. */
      readonly written: readonly string[];
      /** Why rows below its prefixes could not be read, or judged: these entries are not listed, or as held. */
      readonly damaged: readonly unknown[];
    }
  | {
      readonly kind: 'refused';
      readonly failures: readonly OperationRefusal[];
    }
  /** It touches more keys than one transaction takes. */
  | { readonly kind: 'tooMany'; readonly keys: number };

export class KeyTransactions {
  readonly #ports: LockPorts;
  readonly #reader: LockReader;
  readonly #prefixes: PrefixReader;
  readonly #sessions: RemoteSessions;
  readonly #maxClockSkewMs: number;

  constructor(ports: LockPorts, maxClockSkewMs: number) {
    this.#ports = ports;
    this.#maxClockSkewMs = maxClockSkewMs;
    this.#reader = new LockReader(ports, maxClockSkewMs);
    this.#prefixes = new PrefixReader(ports, this.#reader);
    this.#sessions = new RemoteSessions(ports, maxClockSkewMs);
  }

  /** The keys and contents have been validated. */
  async run(operations: readonly KeyOperation[]): Promise<TransactionOutcome> {
    const isAlone = operations.length === 1 && operations.every((operation) => 'key' in operation);
    let lastReading: string | undefined;
    let mayBeReleased = false;
    return retryContended(
      'a key of the transaction',
      this.#ports.runtime,
      async (): Promise<TransactionOutcome | Contended> => {
        const stamp = stampOf(this.#ports.runtime);
        const holders = new Map<string, SessionRecord>();
        const damaged: unknown[] = [];
        const { drafts, live } = await this.#read(operations, { holders, damaged }, stamp);
        const trial = new Trial(drafts, { live, holders }, stamp.now - this.#maxClockSkewMs);
        // Like Consul, we check the lock-delay before trying anything, and report only that.
        const delayed = operations.flatMap((operation, at) => trial.delay(operation, at));
        if (delayed.length > 0) return { kind: 'refused', failures: delayed };
        const failures = operations.flatMap((operation, at) => trial.try(operation, at));
        // Refused after a lost response: this tenure is over, and that attempt may have ended it.
        if (mayBeReleased && failures.length > 0)
          return { kind: 'done', results: [[]], written: keysOf(drafts), damaged };
        if (failures.length > 0) return { kind: 'refused', failures };
        const moment = { now: stamp.now, maxClockSkewMs: this.#maxClockSkewMs };
        const ended = endedTenures(drafts, holders, moment);
        const used = drafts.size + new Set([...live, ...ended.keys()]).size;
        if (used > KEYS_LIMIT) return { kind: 'tooMany', keys: used };
        const writes = [...drafts.values()].map((draft) => draft.write()).filter((write) => write !== undefined);
        const done = { kind: 'done', results: trial.results, written: writes.map(keyOf), damaged } as const;
        if (writes.length === 0) {
          const reading = JSON.stringify([...drafts.values()].map(({ key, observed }) => [key, observed?.nonce]));
          if (isAlone || reading === lastReading) return done;
          lastReading = reading;
          return contended();
        }
        const unwritten = [...drafts.values()].filter((draft) => draft.write() === undefined);
        const conditions = {
          unchanged: unwritten.flatMap(({ observed }) => observed ?? []),
          absent: unwritten.filter(({ observed }) => observed === undefined).map(({ key }) => key),
          live: isAlone ? [] : [...live],
        };
        const outcome = await this.#ports.locks.commit(writes, conditions, ended, stamp);
        if (outcome.kind === 'applied') return isAlone && !(await this.#areLive(live)) ? SESSION_GONE : done;
        const [{ kind } = { kind: 'put' }] = writes;
        // The next round reads whether an acquire or a release was applied. A value may have been replaced since.
        if (kind === 'put' || kind === 'remove') ensureUnwritten('a key of the transaction', outcome);
        mayBeReleased ||= kind === 'leave' && outcome.earlierAttempt === 'unknown';
        return contended(outcome);
      },
    );
  }

  /** Keys that the prefixes list now. Keys that our own operations create below them are among the drafts. */
  async #listedBy(operations: readonly KeyOperation[], damaged: unknown[]): Promise<readonly string[]> {
    const views = new Map<string, Promise<PrefixView>>();
    const listed: string[] = [];
    for (const operation of operations) {
      if (!('prefix' in operation)) continue;
      const view = views.get(operation.prefix) ?? this.#prefixes.read(operation.prefix);
      views.set(operation.prefix, view);
      const { entries, unread, unjudged } = await view;
      if (operation.verb === 'deleteAll' && unread.length > 0) throw unread[0];
      damaged.push(...unread, ...unjudged);
      const keys = entries.map(({ key }) => key);
      listed.push(...keys.filter((key) => isShown(operation, key)));
    }
    return listed;
  }

  /** The rows and the sessions that the operations name are read at once. `live`: the sessions that may acquire. */
  async #read(
    operations: readonly KeyOperation[],
    { holders, damaged }: { readonly holders: Map<string, SessionRecord>; readonly damaged: unknown[] },
    stamp: Stamp,
  ): Promise<{ readonly drafts: ReadonlyMap<string, Draft>; readonly live: ReadonlySet<string> }> {
    const named = new Set(operations.flatMap((operation) => ('key' in operation ? [operation.key] : [])));
    const keys = [...new Set([...named, ...(await this.#listedBy(operations, damaged))])].sort();
    const sessions = new Set(operations.flatMap((operation) => ('session' in operation ? [operation.session] : [])));
    // An operation that names no session fails on its own.
    sessions.delete('');
    const [rows, records] = await Promise.all([
      this.#ports.locks.getMany(keys),
      this.#ports.sessions.getMany([...sessions]),
    ]);
    for (const [id, record] of records) holders.set(id, record);
    const drafts = new Map<string, Draft>();
    for (const key of keys) {
      const row = rows.get(key);
      const standing = await (named.has(key) ? this.#settled(row, holders) : this.#settledListed(row, holders));
      drafts.set(key, new Draft(key, standing, stamp.now));
    }
    const live = new Set<string>();
    for (const operation of operations)
      if (operation.verb === 'acquire' && (await this.#sessions.liveOf(records.get(operation.session))) !== undefined)
        live.add(operation.session);
    return { drafts, live };
  }

  /** For a key that only a prefix names: one damaged session fails no prefix, and its key is held as it stands. */
  async #settledListed(
    row: LockRecord | undefined,
    holders: Map<string, SessionRecord>,
  ): Promise<LockRecord | undefined> {
    try {
      return await this.#settled(row, holders);
    } catch (error) {
      if (error instanceof CorruptItemError) return row;
      throw error;
    }
  }

  /** A row as it stands: one whose session is dead is settled first. The sessions are noted in `holders`. */
  async #settled(row: LockRecord | undefined, holders: Map<string, SessionRecord>): Promise<LockRecord | undefined> {
    if (row?.state !== 'held') return row;
    const session = holders.get(row.session) ?? (await this.#ports.sessions.get(row.session));
    if (session !== undefined) holders.set(session.id, session);
    const { lock } = await this.#reader.judge(row, session);
    // Another caller was faster, and its session has not been seen.
    return lock?.state === 'held' && lock.session !== row.session ? this.#settled(lock, holders) : lock;
  }

  async #areLive(sessions: ReadonlySet<string>): Promise<boolean> {
    for (const id of sessions) if ((await this.#sessions.live(id)) === undefined) return false;
    return true;
  }
}

/** The ended tenures whose sessions we can notify. A remote session has no local heartbeat that would read the notice. */
function endedTenures(
  drafts: ReadonlyMap<string, Draft>,
  holders: ReadonlyMap<string, SessionRecord>,
  reading: { readonly now: number; readonly maxClockSkewMs: number },
): EndedTenures {
  const ended = [...drafts.values()].flatMap((draft) => draft.ended ?? []);
  const told = ended.filter(({ session }) => isTold(holders.get(session)));
  const bySession = Map.groupBy(told, ({ session }) => session);
  return new Map(
    [...bySession].map(([id, tenures]) => [id, { tenures, closing: closingOf(holders.get(id), reading) }]),
  );
}

function isTold(session: SessionRecord | undefined): boolean {
  return session?.status === 'live' && session.remote !== true;
}

/** For acquires only. */
const SESSION_GONE: TransactionOutcome = { kind: 'refused', failures: [{ at: 0, failure: { kind: 'sessionGone' } }] };

function isShown(operation: Extract<KeyOperation, { prefix: string }>, key: string): boolean {
  return operation.verb !== 'list' || operation.shows === undefined || operation.shows(key);
}

/** Operations tried on drafts, before anything is written. */
class Trial {
  readonly results: (readonly KeyEntry[])[] = [];
  readonly #drafts: ReadonlyMap<string, Draft>;
  readonly #live: ReadonlySet<string>;
  readonly #holders: ReadonlyMap<string, SessionRecord>;
  readonly #openBefore: number;

  constructor(
    drafts: ReadonlyMap<string, Draft>,
    { live, holders }: { readonly live: ReadonlySet<string>; readonly holders: ReadonlyMap<string, SessionRecord> },
    openBefore: number,
  ) {
    this.#drafts = drafts;
    this.#live = live;
    this.#holders = holders;
    this.#openBefore = openBefore;
  }

  /** Whether an acquire comes before the end of its key's lock-delay. */
  delay(operation: KeyOperation, at: number): OperationRefusal[] {
    if (operation.verb !== 'acquire') return [];
    const isOpen = opensAt(this.#draft(operation.key).notBefore, 0) <= this.#openBefore;
    return isOpen ? [] : [{ at, failure: { kind: 'delayed' } }];
  }

  try(operation: KeyOperation, at: number): OperationRefusal[] {
    const outcome = 'prefix' in operation ? this.#tree(operation) : this.#one(operation, this.#draft(operation.key));
    if (!Array.isArray(outcome)) return [{ at, failure: outcome }];
    this.results.push(outcome);
    return [];
  }

  /** Reads all drafts, so that entries created by earlier operations belong to the prefix as well. */
  #tree(operation: Extract<KeyOperation, { prefix: string }>): KeyEntry[] {
    const below = [...this.#drafts.values()].filter(({ key }) => key.startsWith(operation.prefix));
    if (operation.verb === 'list')
      return below.filter(({ key }) => isShown(operation, key)).flatMap((draft) => draft.entry ?? []);
    for (const draft of below) draft.remove();
    return [];
  }

  #one(operation: Extract<KeyOperation, { key: string }>, draft: Draft): KeyEntry[] | OperationFailure {
    const { entry } = draft;
    switch (operation.verb) {
      case 'set':
        return this.#store(draft, operation.content);
      case 'setIf':
        return (entry?.modifyIndex ?? 0) === operation.index
          ? this.#store(draft, operation.content)
          : { kind: 'stale' };
      case 'acquire':
        return this.#acquire(draft, operation);
      case 'release':
        if (draft.session === undefined || draft.session !== operation.session) return { kind: 'notHeld' };
        return draft.become(operation.content, undefined);
      case 'delete':
        return draft.remove();
      case 'deleteIf':
        return entry === undefined || entry.modifyIndex === operation.index ? draft.remove() : { kind: 'stale' };
      case 'get':
        return entry === undefined ? { kind: 'absent' } : [entry];
      case 'find':
        return entry === undefined ? [] : [entry];
      case 'checkIndex':
        if (entry === undefined) return { kind: 'absent' };
        return entry.modifyIndex === operation.index ? [entry] : { kind: 'otherIndex', index: entry.modifyIndex };
      case 'checkSession':
        if (entry === undefined) return { kind: 'absent' };
        return (entry.session ?? '') === operation.session
          ? [entry]
          : { kind: 'otherSession', session: entry.session ?? '' };
      case 'checkAbsent':
        return entry === undefined ? [] : { kind: 'present' };
    }
  }

  #store(draft: Draft, content: KeyContent): KeyEntry[] {
    const { entry, session } = draft;
    return entry !== undefined && isStored(content, entry) ? [entry] : draft.become(content, session);
  }

  #acquire(
    draft: Draft,
    { session, content }: Extract<KeyOperation, { session: string; content: KeyContent }>,
  ): KeyEntry[] | OperationFailure {
    if (!this.#live.has(session)) return { kind: 'sessionGone' };
    if (draft.session === session) return this.#store(draft, content);
    if (draft.session !== undefined) return { kind: 'held' };
    // An operation before this one takes it from a local session, whose holder trusts it until a heartbeat has told it.
    if (draft.ended !== undefined && isTold(this.#holders.get(draft.ended.session))) return { kind: 'delayed' };
    return draft.become(content, session);
  }

  #draft(key: string): Draft {
    const draft = this.#drafts.get(key);
    assert(draft !== undefined, `key ${key} of a transaction was not read`);
    return draft;
  }
}

function keysOf(drafts: ReadonlyMap<string, Draft>): readonly string[] {
  return [...drafts.keys()];
}

function keyOf(write: KeyWrite): string {
  return 'key' in write ? write.key : write.observed.key;
}
