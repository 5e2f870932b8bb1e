/**
 * Sort keys that order tasks in the partitions of groups.
 *
 * | tasks | name |
 * | --- | --- |
 * | of a tenant, without a key | hash of the tenant, tenant, three empty parts, time, hash of the id |
 * | of a key with a limit, perhaps of a tenant | hash of the tenant or else of the key, tenant or nothing, hash of the key, key, limit, time, hash of the id |
 * | in a line, perhaps of a tenant | the same, with `order` for the limit, and the ticket before the time |
 *
 * So the tasks of a tenant stand together, and so do the tasks of one key and limit within it, ordered by time, or by ticket.
 * An entry alone shows its tenant and its limit or its ticket.
 * Hashes stand first, because JavaScript and DynamoDB order texts with characters above U+FFFF differently.
 */
import { sha256 } from '../../../core/runtime/sha256.ts';
import { fitting, joinKey, splitKey } from '../../../dynamo/engine/keys.ts';
import { SORT_KEY_LIMIT_BYTES } from '../../../dynamo/engine/schema.ts';
import type { KeyLimit } from '../../task/key-limit.ts';
import { limitText, parseLimit } from '../../task/key-limit.ts';
import type { LinePlace } from '../../task/line.ts';
import { HASH_DIGITS } from '../../task/group-walk.ts';

/** The group of a task: a tenant; a key with a limit, or else a position in a line; or both. */
export interface Group {
  readonly tenant?: string | undefined;
  readonly limit?: KeyLimit | undefined;
  readonly line?: LinePlace | undefined;
}

/** Returns a task's position in its partition. Groups have an arbitrary order; the tasks of each are ordered by ticket, or by time. */
export function groupPlace({ tenant, limit, line }: Group, readyAt: number, id: string): string {
  const key = line?.key ?? limit?.key;
  const text = line === undefined ? limit && limitText(limit) : IN_ORDER;
  const ofKey = key === undefined ? ['', '', ''] : [hashed(key), key, text ?? ''];
  const at = [...(line === undefined ? [] : [digits(line.ticket)]), digits(readyAt)];
  const parts = [hashed(tenant ?? key ?? ''), tenant ?? '', ...ofKey, ...at, hashed(id)];
  const what = [tenant === undefined ? [] : ['tenant', tenant], key === undefined ? [] : ['key', key]].flat();
  return fitting(joinKey(parts), SORT_KEY_LIMIT_BYTES, ['the place of', ...what]);
}

export function parseGroupPlace(place: string): Group & {
  readonly readyAt: number;
  /** Sorts after all positions of the same tenant, key and limit, or of the same tenant and line. */
  readonly end: string;
  /** Sorts after all positions of the tenant. A key without a tenant counts as a separate tenant. */
  readonly tenantEnd: string;
} {
  const [prefix = '', tenant = '', keyHash = '', key = '', text = '', ...at] = splitKey(place);
  const [first, second] = at.map(Number);
  const isInLine = text === IN_ORDER;
  const end = joinKey([prefix, tenant, keyHash, key, text, BEHIND_DIGITS]);
  return {
    tenant: tenant === '' ? undefined : tenant,
    limit: isInLine ? undefined : parseLimit(key, text),
    line: isInLine ? { key, ticket: first ?? Number.NaN } : undefined,
    readyAt: (isInLine ? second : first) ?? Number.NaN,
    end,
    tenantEnd: tenant === '' ? end : joinKey([prefix, tenant, BEHIND_DIGITS]),
  };
}

function hashed(text: string): string {
  return sha256(text).slice(0, HASH_DIGITS);
}

/** @param value a time, or a ticket, which begins at the clock */
function digits(value: number): string {
  return String(Math.ceil(value)).padStart(MOMENT_DIGITS, '0');
}

/** Stands where a limit would. */
const IN_ORDER = 'order';
/** The number of digits of the last allowed time. */
const MOMENT_DIGITS = 15;
const BEHIND_DIGITS = '~';
