/** `node storm-worker.ts ENDPOINT`: a worker that lives until it is killed, or stopped by SIGTERM. */
import { createWorker } from '../../../shared/client/create-worker.ts';
import { QUEUE, TABLE } from './storm-tables.ts';
import * as tasks from './storm-tasks.ts';

const worker = createWorker(tasks, {
  table: TABLE,
  queue: QUEUE,
  endpoint: process.argv[2],
  concurrency: 5,
  sessionTtl: '3s',
  grace: '1s',
});
process.once('SIGTERM', () => worker.stop());
await worker.run();
