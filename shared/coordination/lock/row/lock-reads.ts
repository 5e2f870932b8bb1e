/** Reads of lock rows. */
import { directoryPartition, directoryPartitions } from '../../../dynamo/engine/directory.ts';
import type { RowKey } from '../../../dynamo/engine/keys.ts';
import { lockKey } from '../../../dynamo/engine/keys.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import { batchGetStatement, directoryStatement, getStatement } from '../../../dynamo/engine/statement.ts';
import { folderOf } from './lock-expressions.ts';

/** Returns the partitions that list the keys with a prefix. */
export function partitionsOfLocks(prefix: string): readonly string[] {
  return prefix.includes('/') ? [directoryPartition('lock', folderOf(prefix))] : directoryPartitions('lock');
}

/** Reads a key's entry in the listing, which is the first of all keys that begin with it. Eventually consistent. */
export const entryOfLock = (table: string, key: string): Statement<'query'> =>
  directoryStatement('lock.page', table, directoryPartition('lock', folderOf(key)), key, {
    after: undefined,
    limit: 1,
  });

export const readLock = (table: string, key: string): Statement<'get'> => getStatement('lock.get', table, lockKey(key));

export const readLocks = (
  table: string,
  keys: readonly string[],
  options: { readonly consistent: boolean },
): Statement<'batchGet'> => batchGetStatement('lock.getMany', table, keys.map(lockKey), options);

/** Reads a lock and its holder's session in one request. */
export const readRows = (
  table: string,
  keys: readonly RowKey[],
  options: { readonly consistent: boolean },
): Statement<'batchGet'> => batchGetStatement('lock.getWithSession', table, keys, options);
