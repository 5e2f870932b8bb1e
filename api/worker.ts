/** `leasehold/worker`: a worker in a process of your own, such as a container. */
export { createWorker } from '../shared/client/create-worker.ts';
export type { Worker, WorkerOptions } from '../shared/client/create-worker.ts';
export type { WorkTotals } from '../shared/client/keep-at-work.ts';
