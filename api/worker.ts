/** `leasehold/worker`: a worker in a process of your own, such as a container. */
export { createWorker } from '../shared/create-worker.ts';
export type { Worker, WorkerOptions } from '../shared/create-worker.ts';
export type { WorkTotals } from '../shared/keep-at-work.ts';
