/** Sort keys that order tasks of tenants and parked tasks in their index partitions. */
import { sha256 } from '../../../core/runtime/sha256.ts';
import { fitting, joinKey, splitKey } from '../../../dynamo/engine/keys.ts';
import { SORT_KEY_LIMIT_BYTES } from '../../../dynamo/engine/schema.ts';
import type { Priority } from '../../task/task.ts';
import { PRIORITIES } from '../../task/task.ts';
import { HASH_DIGITS } from '../../task/tenants.ts';

/** Returns the position of a tenant's task in its partition. Tenants have an arbitrary order; the tasks of each are ordered by time. */
export function tenantPlace(tenant: string, readyAt: number, id: string): string {
  const at = String(Math.ceil(readyAt)).padStart(MOMENT_DIGITS, '0');
  const parts = [sha256(tenant).slice(0, HASH_DIGITS), tenant, at, sha256(id).slice(0, HASH_DIGITS)];
  return fitting(joinKey(parts), SORT_KEY_LIMIT_BYTES, ['the place of tenant', tenant]);
}

export function parseTenantPlace(place: string): {
  readonly tenant: string;
  readonly readyAt: number;
  /** Sorts after all positions of the tenant. */
  readonly end: string;
} {
  const [prefix = '', tenant = '', at = ''] = splitKey(place);
  return { tenant, readyAt: Number(at), end: joinKey([prefix, tenant, BEHIND_DIGITS]) };
}

/** The number of digits of the last allowed time. */
const MOMENT_DIGITS = 15;
const BEHIND_DIGITS = '~';

const PARKED_DIGITS = 16;

/** Returns the prefix of the positions of all parked tasks of a key. It is a hash, because users' keys can have any length. */
export function parkedPrefix(key: string): string {
  return `${sha256(key).slice(0, PARKED_DIGITS)}#`;
}

/** Returns a parked task's position in its partition: by key, then in the order of service. */
export function parkedPlace(
  { key, priority, readyAt }: { readonly key: string; readonly priority: Priority; readonly readyAt: number },
  id: string,
): string {
  const at = String(Math.ceil(readyAt)).padStart(MOMENT_DIGITS, '0');
  const parts = [String(PRIORITIES.indexOf(priority)), at, sha256(id).slice(0, HASH_DIGITS)];
  return parkedPrefix(key) + joinKey(parts);
}

export function parseParkedPlace(place: string): { readonly priority: Priority; readonly readyAt: number } {
  const [, priority = '', at = ''] = splitKey(place);
  return { priority: PRIORITIES[Number(priority)] ?? 'low', readyAt: Number(at) };
}

/** Returns a position after all others of the same key. */
export function behindKeyOf(place: string): string {
  return joinKey([splitKey(place)[0] ?? '', BEHIND_DIGITS]);
}
