import type { SendPolicy } from '../../shared/dynamo/engine/send.ts';

/** In real time, an engine on a machine with other work is slow and not away. */
export const PATIENT: SendPolicy = {
  attemptTimeoutMs: 300_000,
  budgetMs: 600_000,
  backoff: { baseMs: 25, capMs: 1_000 },
};
