/** One core's share of a run: histories in sequence; results go to the parent at intervals. */
import { parentPort, workerData } from 'node:worker_threads';
import type { ProfileName } from './profile.ts';
import type { BatchMessage } from './tally.ts';
import { emptyMessage, include } from './tally.ts';
import { makeTurnable } from './knobs/turn.ts';

makeTurnable();
const { runSeed } = await import('./run-seed.ts');

export interface Share {
  readonly from: bigint;
  readonly step: number;
  readonly histories: number;
  /** Minimum number of histories, whatever time they take. */
  readonly least: number;
  /** Milliseconds from now. */
  readonly endsAt: number;
  readonly profile: ProfileName;
}

const REPORT_EVERY_MS = 1_000;

// Every abort makes an error, and most of its cost is a stack that is not read; a replay keeps them.
Error.stackTraceLimit = 0;

const { from, step, histories, least, endsAt, profile } = workerData as Share;
const startedAt = performance.now();
let spent = process.threadCpuUsage();
let message: BatchMessage = emptyMessage();
let reportedAt = startedAt;
for (let index = 0; index < histories; index++) {
  if (index >= least && performance.now() - startedAt >= endsAt) break;
  const seed = from + BigInt(index) * BigInt(step);
  const result = await runSeed(seed, profile, { stopAtViolation: true });
  const { user, system } = process.threadCpuUsage(spent);
  spent = process.threadCpuUsage();
  message = include(message, result, (user + system) / 1_000);
  if (performance.now() - reportedAt > REPORT_EVERY_MS) {
    parentPort?.postMessage(message);
    message = emptyMessage();
    reportedAt = performance.now();
  }
}
parentPort?.postMessage(message);
