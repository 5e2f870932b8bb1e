/** The tasks of the app's workers. */
import { defineTask } from 'leasehold/tasks';
import * as z from 'zod';

export const thumbnail = defineTask({
  name: 'thumbnail',
  input: z.object({ bucket: z.string(), key: z.string() }),
  retry: { maxAttempts: 5 },
  timeout: '2m',
  async run({ bucket, key }, task) {
    task.log.info('a thumbnail is made', { bucket, key });
    const Item = { key, of: `${bucket}/${key}`, attempt: task.attempt };
    return await task.commit({ key }, [{ Put: { TableName: process.env.THUMBNAILS ?? 'thumbnails', Item } }]);
  },
});
