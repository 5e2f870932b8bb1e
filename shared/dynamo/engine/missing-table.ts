/** Recognizes a missing table, and builds the error message for it. */
import { isCausedBy } from '../../core/errors.ts';

export function missingTable(table: string): string {
  return `there is no table ${table} in this account and region: create it with 'leasehold up', or name another`;
}

/** Whether a missing table is the root cause of a thrown value. */
export function isMissingTable(thrown: unknown): boolean {
  return isCausedBy(thrown, ({ name, code }) => [name, code].includes('ResourceNotFoundException'));
}
