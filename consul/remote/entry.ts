/**
 * A Consul entry: bytes, a number of 64 bits, and how often the key was acquired.
 * Text is the value of the row. All else stands in its map `consul`, which the library carries and does not read:
 *
 * | in the map | type | meaning |
 * | --- | --- | --- |
 * | bytes | B | the value, if it is no text; the row's value is empty |
 * | flags | S, decimal | absent: 0 |
 * | lockIndex | N | tenures that gateways began; absent: 0 |
 *
 * A value that the library writes replaces all of it.
 */
import { isDeepStrictEqual } from 'node:util';
import { defined } from '../../shared/core/defined.ts';
import { CorruptItemError } from '../../shared/core/errors.ts';
import type { Content, Entry, LockInfo } from '../../shared/coordination/lock/lock-record.ts';

/** The content that a client writes. */
export interface KeyContent {
  readonly bytes: Uint8Array;
  readonly flags: bigint;
}

/** An entry in the form that clients read. */
export interface KeyEntry extends KeyContent {
  readonly key: string;
  readonly lockIndex: number;
  readonly createIndex: number;
  readonly modifyIndex: number;
  /** Its holder. */
  readonly session: string | undefined;
}

/** @throws CorruptItemError */
export function keptIn(
  key: string,
  { value = '', consul = {} }: Pick<Entry, 'value' | 'consul'>,
): KeyContent & Pick<KeyEntry, 'lockIndex'> {
  const { bytes, flags = '0', lockIndex = 0 } = consul;
  const isWhole =
    (bytes === undefined || bytes instanceof Uint8Array) &&
    typeof flags === 'string' &&
    /^\d{1,20}$/.test(flags) &&
    typeof lockIndex === 'number';
  if (!isWhole) throw new CorruptItemError(`lock#${key}`, 'consul', 'is not what a gateway writes');
  return { bytes: bytes ?? Buffer.from(value, 'utf8'), flags: BigInt(flags), lockIndex };
}

/** @throws CorruptItemError */
export function entryOf(info: LockInfo): KeyEntry {
  const { key, createdAt, modifyIndex, holder } = info;
  return { key, ...keptIn(key, info), createIndex: createdAt, modifyIndex, session: holder?.session };
}

/** The content of the row. Bytes that are valid text are stored as text, so that people can read the table. */
export function contentOf({ bytes, flags, lockIndex }: KeyContent & Pick<KeyEntry, 'lockIndex'>): Content {
  const text = textOf(bytes);
  const consul = defined({
    bytes: text === undefined ? new Uint8Array(bytes) : undefined,
    flags: flags === 0n ? undefined : String(flags),
    lockIndex: lockIndex === 0 ? undefined : lockIndex,
  });
  return Object.keys(consul).length === 0 ? { value: text ?? '' } : { value: text ?? '', consul };
}

/** Whether writing it would change nothing. */
export function isStored({ bytes, flags }: KeyContent, entry: KeyContent): boolean {
  return flags === entry.flags && isDeepStrictEqual(new Uint8Array(bytes), new Uint8Array(entry.bytes));
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}
