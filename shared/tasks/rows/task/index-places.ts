/**
 * Sort keys that order tasks in the partitions of groups.
 *
 * | tasks | name |
 * | --- | --- |
 * | of a tenant, without a key | hash of the tenant, tenant, three empty parts, time, hash of the id |
 * | of a key with a limit, perhaps of a tenant | hash of the tenant or else of the key, tenant or nothing, hash of the key, key, limit, time, hash of the id |
 *
 * So the tasks of a tenant stand together, and so do the tasks of one key and limit within it, ordered by time.
 * An entry alone shows its tenant and its limit.
 * Hashes stand first, because JavaScript and DynamoDB order texts with characters above U+FFFF differently.
 */
import { sha256 } from '../../../core/runtime/sha256.ts';
import { fitting, joinKey, splitKey } from '../../../dynamo/engine/keys.ts';
import { SORT_KEY_LIMIT_BYTES } from '../../../dynamo/engine/schema.ts';
import type { KeyLimit } from '../../task/key-limit.ts';
import { limitText, parseLimit } from '../../task/key-limit.ts';
import { HASH_DIGITS } from '../../task/group-walk.ts';

/** Tasks that stand together: of a tenant, of a key with a limit, or of both. */
export interface Group {
  readonly tenant?: string | undefined;
  readonly limit?: KeyLimit | undefined;
}

/** Returns a task's position in its partition. Groups have an arbitrary order; the tasks of each are ordered by time. */
export function groupPlace({ tenant, limit }: Group, readyAt: number, id: string): string {
  const key = limit?.key ?? '';
  const at = String(Math.ceil(readyAt)).padStart(MOMENT_DIGITS, '0');
  const ofKey = limit === undefined ? ['', '', ''] : [hashed(key), key, limitText(limit)];
  const parts = [hashed(tenant ?? key), tenant ?? '', ...ofKey, at, hashed(id)];
  const what = [tenant === undefined ? [] : ['tenant', tenant], limit === undefined ? [] : ['key', key]].flat();
  return fitting(joinKey(parts), SORT_KEY_LIMIT_BYTES, ['the place of', ...what]);
}

export function parseGroupPlace(place: string): Group & {
  readonly readyAt: number;
  /** Sorts after all positions of the same tenant, key and limit. */
  readonly end: string;
  /** Sorts after all positions of the tenant. A key without a tenant is like a tenant of its own. */
  readonly tenantEnd: string;
} {
  const [prefix = '', tenant = '', keyHash = '', key = '', text = '', at = ''] = splitKey(place);
  const end = joinKey([prefix, tenant, keyHash, key, text, BEHIND_DIGITS]);
  return {
    tenant: tenant === '' ? undefined : tenant,
    limit: parseLimit(key, text),
    readyAt: Number(at),
    end,
    tenantEnd: tenant === '' ? end : joinKey([prefix, tenant, BEHIND_DIGITS]),
  };
}

function hashed(text: string): string {
  return sha256(text).slice(0, HASH_DIGITS);
}

/** The number of digits of the last allowed time. */
const MOMENT_DIGITS = 15;
const BEHIND_DIGITS = '~';
