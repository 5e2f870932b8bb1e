/** `leasehold/worker`: a worker in your own process, such as a container. */
export { createWorker } from '../shared/client/create-worker.ts';
export type { Worker, WorkerOptions } from '../shared/client/create-worker.ts';
