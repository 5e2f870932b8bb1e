/**
 * All entries under a prefix, consistent as of one moment.
 *
 * The listing names the keys. A strongly consistent read of each row gives the content.
 * A listing taken before the rows could miss a key that was created in between, and still show entries that depend on it.
 * So we read the listing again after the rows, until it names no key whose row we have not read.
 * A reader that sees an entry therefore sees everything that its writer had seen listed before writing it.
 * A row that does not decode is left out, and a key is shown as held if its holder's session does not decode: one damaged row affects
 * only its own key.
 * On AWS, a key is listed a moment after its creation; `awaitListed` waits for that, two seconds at most.
 */
import { CorruptItemError } from '../../shared/core/errors.ts';
import { sha256 } from '../../shared/core/runtime/sha256.ts';
import { contended, retryContended } from '../../shared/core/wait/retry-contended.ts';
import type { LockRecord } from '../../shared/coordination/lock/lock-record.ts';
import { validKey } from '../../shared/coordination/lock/lock-record.ts';
import type { KeyEntry } from './entry.ts';
import { entryOf } from './entry.ts';
import type { LockReader, LockSnapshot } from '../../shared/coordination/lock/lock-reader.ts';
import type { LockPorts } from '../../shared/coordination/lock/lock-verdict.ts';

export interface PrefixView {
  /** In order of key. */
  readonly entries: readonly KeyEntry[];
  /** Names this content: another one means that an entry was created, written, deleted, acquired or freed. */
  readonly fingerprint: string;
  /** Why rows are not among the entries: they do not decode. A caller that must have all entries fails with the first. */
  readonly unread: readonly unknown[];
  /** Errors of holders' sessions that do not decode: their keys are shown as held. */
  readonly unjudged: readonly unknown[];
}

/** A short read. `isBound`: a session that holds one of the keys is bound to health checks. */
export interface Glance {
  readonly fingerprint: string;
  readonly isBound: boolean;
}

interface Reading {
  readonly settled: Promise<void>;
  /** The one after it, once it is waited for. */
  next: Promise<PrefixView> | undefined;
}

/** An index lags its table by milliseconds, rarely more. Waiting longer gains nothing. */
const LISTED_WITHIN_MS = 2_000;
const LOOK_EVERY_MS = 20;

export class PrefixReader {
  readonly #ports: LockPorts;
  readonly #reader: LockReader;
  readonly #readings = new Map<string, Reading>();

  constructor(ports: LockPorts, reader: LockReader) {
    this.#ports = ports;
    this.#reader = reader;
  }

  /**
   * Strongly consistent, except for keys that are not listed yet.
   * Costs two listings, a read per row, and a read per holding session.
   * A caller that arrives during a read shares the next one, so every result was read after its caller asked.
   */
  read(prefix: string): Promise<PrefixView> {
    const current = this.#readings.get(prefix);
    if (current === undefined) return this.#begin(prefix);
    current.next ??= current.settled.then(() => this.#begin(prefix));
    return current.next;
  }

  #begin(prefix: string): Promise<PrefixView> {
    const view = this.#read(prefix);
    const end = (): void => {
      if (reading.next === undefined) this.#readings.delete(prefix);
    };
    const reading: Reading = { settled: view.then(end, end), next: undefined };
    this.#readings.set(prefix, reading);
    return view;
  }

  async #read(prefix: string): Promise<PrefixView> {
    const rows = new Map<string, LockRecord>();
    const read = new Set<string>();
    const unread: unknown[] = [];
    const onDamaged = (error: unknown): void => void unread.push(error);
    return retryContended(`the listing of keys under ${prefix}`, this.#ports.runtime, async () => {
      const unseen = (await this.#keys(prefix)).filter((key) => !read.has(key));
      // An empty first listing names no row that could be read after it.
      if (unseen.length === 0) return this.#viewOf(rows, unread);
      for (const [key, row] of await this.#ports.locks.getMany(unseen, { onDamaged })) rows.set(key, row);
      for (const key of unseen) read.add(key);
      return contended();
    });
  }

  /**
   * Half the price, and possibly a moment old: good enough to notice that something may have changed.
   * @param options.withSessions whether to read the holders' sessions: an ended one frees its keys without touching their rows
   */
  async glance(prefix: string, { withSessions }: { readonly withSessions: boolean }): Promise<Glance> {
    const rows = await this.#ports.locks.getMany(await this.#keys(prefix), { consistent: false, onDamaged: ignore });
    if (!withSessions) return { fingerprint: glanceOf([...rows.values()]), isBound: false };
    const { sightings, isBound } = await this.#judge(rows, ignore);
    return { fingerprint: glanceOf(sightings.map(({ lock }) => lock)), isBound };
  }

  /** Waits until a key that was just created is listed, so that whatever its writer does next is not seen without it. */
  async awaitListed(key: string): Promise<void> {
    const { clock } = this.#ports.runtime;
    const until = clock.monotonic() + LISTED_WITHIN_MS;
    while (!(await this.#ports.locks.isListed(key)) && clock.monotonic() < until) await clock.sleep(LOOK_EVERY_MS);
  }

  async #keys(prefix: string): Promise<readonly string[]> {
    const keys: string[] = [];
    let after: unknown;
    do {
      const page = await this.#ports.locks.page(prefix === '' ? prefix : validKey(prefix), after);
      keys.push(...page.keys);
      after = page.next;
    } while (after !== undefined);
    return keys;
  }

  async #viewOf(rows: ReadonlyMap<string, LockRecord>, unread: unknown[]): Promise<PrefixView> {
    const unjudged: unknown[] = [];
    const { sightings } = await this.#judge(rows, (error) => void unjudged.push(error));
    const entries = sightings.flatMap((seen) => {
      const info = this.#reader.infoOf(seen);
      try {
        return info === undefined ? [] : [entryOf(info)];
      } catch (error) {
        if (!(error instanceof CorruptItemError)) throw error;
        unread.push(error);
        return [];
      }
    });
    entries.sort((one, other) => (one.key < other.key ? -1 : 1));
    return { entries, fingerprint: fingerprintOfEntries(entries), unread, unjudged };
  }

  /** Keys whose session is dead are settled on the way. */
  async #judge(
    rows: ReadonlyMap<string, LockRecord>,
    onDamaged: (error: unknown) => void,
  ): Promise<{ readonly sightings: readonly LockSnapshot[]; readonly isBound: boolean }> {
    const holders = new Set([...rows.values()].flatMap((row) => (row.state === 'held' ? [row.session] : [])));
    const damaged = new Set<string>();
    const onDamagedSession = (id: string, error: unknown): void => {
      damaged.add(id);
      onDamaged(error);
    };
    const records = await this.#ports.sessions.getMany([...holders], onDamagedSession);
    const sightings: LockSnapshot[] = [];
    for (const row of rows.values())
      sightings.push(await this.#reader.judgeListed(row, { records, damaged }, onDamaged));
    const isBound = [...records.values()].some((session) => session.consul !== undefined);
    return { sightings, isBound };
  }
}

/** The fingerprint of a view, or of some of its entries. */
export function fingerprintOfEntries(entries: readonly KeyEntry[]): string {
  return fingerprintOf(
    entries.map(({ key, modifyIndex, createIndex, session }) =>
      JSON.stringify([key, createIndex, modifyIndex, session]),
    ),
  );
}

function ignore(): void {
  // Damage is not reported here, because the preceding read has reported it.
}

function glanceOf(locks: readonly (LockRecord | undefined)[]): string {
  return fingerprintOf(locks.map((lock) => JSON.stringify([lock?.key, lock?.nonce])));
}

function fingerprintOf(lines: readonly string[]): string {
  return sha256([...lines].sort().join('\n'));
}
