/** Variable with the path of the user's task module, which `worker-entry.ts` loads. */
export const TASKS_ENTRY_VARIABLE = 'LEASEHOLD_TASKS_ENTRY';
