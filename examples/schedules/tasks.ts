/** Writes the report of one slot of a schedule: the slot is in the task's id. */
import { defineTask } from 'leasehold/tasks';

export const report = defineTask({
  name: 'report',
  run(_: unknown, { id }) {
    console.log(`report ${id}`);
  },
});
