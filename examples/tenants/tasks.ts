/** Renders a tenant's report, and says whose it was. */
import { defineTask } from 'leasehold/tasks';
import * as z from 'zod';

export const render = defineTask({
  name: 'report.render',
  input: z.object({ tenant: z.string() }),
  run({ tenant }) {
    console.log(`rendered ${tenant}`);
  },
});
