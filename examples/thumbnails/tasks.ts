/** Small items by the hundred: sixteen thumbnails are one task. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DoNotRetry, defineTask } from 'leasehold/tasks';

export const thumbnails = defineTask({
  name: 'thumbnails',
  run: (pictures: readonly number[], task) =>
    task.each(pictures, async (picture) => {
      await sleep(10, undefined, { signal: task.signal });
      // The other pictures of the task are made nevertheless.
      if (picture % 500 === 499) throw new DoNotRetry('the picture is damaged');
      console.log(`made ${picture}`);
    }),
});
