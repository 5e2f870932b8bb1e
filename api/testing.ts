/** `leasehold/testing`: a queue in memory for the tests of those who write tasks, and a clock that tests move. */
export { TestKit, createTestKit } from '../testing/kit.ts';
export type { CrashPoint, TestKitOptions, TestTable, WorkOptions } from '../testing/kit.ts';
export { MemoryPayloads } from '../testing/memory-payloads.ts';
export { FakeClock } from '../testing/fake-clock.ts';
export type { Cancel, Clock } from '../shared/runtime/clock.ts';
export type { PayloadRequest, PayloadStore } from '../shared/task/payload.ts';
export type { TaskTimes } from '../shared/worker/tally.ts';
export type { WorkerReport } from '../shared/worker/worker.ts';
