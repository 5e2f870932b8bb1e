/** Recognizes a missing table, and words the message about it. */

export function missingTable(table: string): string {
  return `there is no table ${table} in this account and region: create it with 'leasehold up', or name another`;
}

/** Whether that is at the bottom of whatever was thrown. */
export function isMissingTable(thrown: unknown): boolean {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    const { name, code } = error as Error & { readonly code?: unknown };
    if (name === 'ResourceNotFoundException' || code === 'ResourceNotFoundException') return true;
  }
  return false;
}
