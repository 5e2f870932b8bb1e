/** A worker of its own queue, as in a container: runs until it receives a stop signal. */
import { defineTask } from 'leasehold/tasks';
import { createWorker } from 'leasehold/worker';

const say = defineTask({ name: 'say', run: ({ words }) => console.log(`said: ${words}`) });

const worker = createWorker({ say }, { queue: 'container' });
process.once('SIGTERM', () => worker.stop());
console.log(JSON.stringify(await worker.run()));
