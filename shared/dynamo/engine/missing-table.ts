/** Recognizes a missing table, and one that is not ours, and builds the error messages for them. */
import { isCausedBy } from '../../core/errors.ts';

export function missingTable(table: string): string {
  return `there is no table ${table} in this account and region: create it with 'leasehold up', or name another`;
}

/** Whether a missing table is the root cause of a thrown value. */
export function isMissingTable(thrown: unknown): boolean {
  return isCausedBy(thrown, ({ name, code }) => [name, code].includes('ResourceNotFoundException'));
}

/** Whether DynamoDB refused a request because the table, or an index of it, has other keys. */
export function hasOtherKeys({ message }: { readonly message: string }): boolean {
  return OTHER_KEYS.test(message);
}

const OTHER_KEYS = new RegExp(
  [
    'provided key element does not match the schema',
    'Missing the key ',
    'Type mismatch for key ',
    'does not have the specified index',
    // Of DynamoDB Local.
    'number of conditions on the keys is invalid',
    'One of the required keys was not given a value',
  ].join('|'),
);

export function otherTable(table: string, message: string): string {
  return (
    `table ${table} has other keys or indexes than a table of Leasehold (${message}): name another, create one with 'leasehold up', ` +
    "or see what differs with 'leasehold doctor'"
  );
}
