/** The task of `npm run bench -- dev`: it reports when its first line ran. */
import { defineTask } from '../../shared/tasks/task/definition.ts';

/** Milliseconds since 1970 with fractions: processes of one machine read the same clock. */
export const now = (): number => performance.timeOrigin + performance.now();

export const ping = defineTask({ name: 'ping', run: (_: null) => now() });
