/** The tasks of `npm run deploy`: a greeting, and a page to fetch and describe. */
import { createHash } from 'node:crypto';
import { DoNotRetry, defineTask } from 'leasehold/tasks';
import * as z from 'zod/mini';

/** For a first try: it needs nothing. */
export const greet = defineTask({
  name: 'greet',
  input: z.object({ name: z.string() }),
  run: ({ name }) => `Hello, ${name}!`,
});

export const digestPage = defineTask({
  name: 'page.digest',
  input: z.object({ url: z.url({ protocol: /^https?$/, error: 'an http or https URL is wanted' }) }),
  retry: { maxAttempts: 5 },
  timeout: '1m',
  async run({ url }, task) {
    const response = await fetch(url, { signal: task.signal });
    if (response.status === 404) throw new DoNotRetry(`${url} does not exist`);
    if (!response.ok) throw new Error(`${url} answered ${response.status}`);
    const body = Buffer.from(await response.arrayBuffer());
    task.log.info('page fetched', { url, bytes: body.length });
    return { url, bytes: body.length, sha256: createHash('sha256').update(body).digest('hex') };
  },
});
