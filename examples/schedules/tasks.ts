/** Writes the report of one occurrence of a schedule, from the occurrence before it. */
import { defineTask } from 'leasehold/tasks';

export const report = defineTask({
  name: 'report',
  run(_: unknown, { id, schedule }) {
    console.log(`report ${id}, since ${schedule?.since?.toISOString() ?? 'the beginning'}`);
  },
});
