import type { SendPolicy } from '../../shared/dynamo/engine/send.ts';

/** In real time, an engine on a machine with other work is slow and not away. */
export const PATIENT: SendPolicy = {
  attemptTimeoutMs: 300_000,
  budgetMs: 600_000,
  backoff: { baseMs: 25, capMs: 1_000 },
};

/** For a session that must learn soon of its end, and must not expire because the machine is busy. */
export const SOON_TOLD = { ttl: '60s', heartbeat: '500ms' } as const;
