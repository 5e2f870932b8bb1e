/** Recognizes a missing table, and builds the error message for it. */

export function missingTable(table: string): string {
  return `there is no table ${table} in this account and region: create it with 'leasehold up', or name another`;
}

/** Whether a missing table is the root cause of a thrown value. */
export function isMissingTable(thrown: unknown): boolean {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    const { name, code } = error as Error & { readonly code?: unknown };
    if (name === 'ResourceNotFoundException' || code === 'ResourceNotFoundException') return true;
  }
  return false;
}
