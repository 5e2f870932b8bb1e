/** Where the platform writes the path of the user's task module, for `worker-entry.ts` to load. */
export const TASKS_ENTRY_VARIABLE = 'LEASEHOLD_TASKS_ENTRY';
