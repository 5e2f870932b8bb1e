/** When the service may delete an item for its age. */
import type { StoredItem } from './attribute-value.ts';
import type { TableDefinition } from './table-definition.ts';

/** Values further in the past are taken for a mistake and left alone. */
const FIVE_YEARS_SECONDS = 5 * 365 * 24 * 60 * 60;

export function isExpired({ ttlAttribute }: TableDefinition, item: StoredItem, nowSeconds: number): boolean {
  const expiresAt = ttlAttribute === undefined ? undefined : item[ttlAttribute];
  if (typeof expiresAt !== 'number') return false;
  return expiresAt < nowSeconds && nowSeconds - FIVE_YEARS_SECONDS <= expiresAt;
}
