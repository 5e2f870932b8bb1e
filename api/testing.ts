/** `leasehold/testing`: an in-memory queue for task authors' tests, with a clock that tests control. */
export { TestKit, createTestKit } from '../shared/testing/kit.ts';
export type { TestKitOptions } from '../shared/testing/kit.ts';
export type { CrashPoint } from '../shared/testing/crash-points.ts';
export type { DrainReport } from '../shared/testing/kit-worker.ts';
export type { EveryCrashOptions, EveryCrashReport } from '../shared/testing/every-crash.ts';
export { MemoryPayloads } from '../shared/testing/memory-payloads.ts';
export { FakeClock } from '../shared/testing/fake-clock.ts';
export type { Clock } from '../shared/core/runtime/clock.ts';
export type { PayloadRequest, PayloadStore } from '../shared/tasks/task/payload.ts';
