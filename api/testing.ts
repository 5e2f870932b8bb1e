/** `leasehold/testing`: an in-memory queue for task authors' tests, with a clock that tests control. */
export { TestKit, createTestKit } from '../shared/testing/kit.ts';
export type { TestKitOptions } from '../shared/testing/kit.ts';
export type { TestTable } from '../shared/testing/test-table.ts';
export type { CrashPoint } from '../shared/testing/crash-points.ts';
export type { DrainReport, WorkOptions } from '../shared/testing/kit-worker.ts';
export type { EndedAttempt } from '../shared/testing/attempt-watch.ts';
export type { CrashRun, EveryCrashOptions, EveryCrashReport } from '../shared/testing/every-crash.ts';
export type { CrashPlace } from '../shared/testing/worker-process.ts';
export { MemoryPayloads } from '../shared/testing/memory-payloads.ts';
export { FakeClock } from '../shared/testing/fake-clock.ts';
export type { Cancel, Clock } from '../shared/core/runtime/clock.ts';
export type { PayloadRequest, PayloadStore } from '../shared/tasks/task/payload.ts';
export type { TaskTimes } from '../shared/tasks/worker/tally.ts';
export type { WorkerReport } from '../shared/tasks/worker/run-worker.ts';
