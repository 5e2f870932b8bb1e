/** A worker in a process of its own. It sends the id of each task when the task's first line runs. */
import { createWorker } from '../../shared/client/create-worker.ts';
import { defineTask } from '../../shared/tasks/task/definition.ts';
import { silent } from '../idle-world.ts';

const [endpoint = ''] = process.argv.slice(2);
const heard = defineTask({ name: 'heard', run: (_input, { id }) => void process.send?.(id) });
await createWorker({ heard }, { endpoint, table: 'leasehold', log: silent }).run();
