/** `leasehold/middy`: middleware that gives any Lambda handler a right while it runs, and the handler that runs tasks. */
export { lock } from '../functions/middleware/lock.ts';
export type { LockOptions } from '../functions/middleware/lock.ts';
export { semaphore } from '../functions/middleware/semaphore.ts';
export type { SemaphoreOptions } from '../functions/middleware/semaphore.ts';
export { leader } from '../functions/middleware/leader.ts';
export type { LeaderOptions } from '../functions/middleware/leader.ts';
export { signalOf } from '../functions/middleware/held-right.ts';
export type { NameOf } from '../functions/middleware/held-right.ts';
export { createWorkHandler } from '../functions/work.ts';
export type { WorkHandlerOptions, WorkResult } from '../functions/work.ts';
export type { WorkEvent } from '../shared/tasks/dispatch/dispatcher.ts';
export type { PayloadRequest, PayloadStore } from '../shared/tasks/task/payload.ts';
