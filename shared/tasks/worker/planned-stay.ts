/** How long a worker that a plan has started stays for the next task, and how often it polls. */

/** Where tasks come one by one. The polls are at least that frequent: a start costs more. */
const STAY_MS = 2_200;
const STAYING_POLL_MS = 100;

/** Of the worker's settings. */
interface PlannedStay {
  readonly lingerMs?: number | undefined;
  readonly pollMs: number;
  readonly stays?: boolean | undefined;
}

export function lingerMsOf({ lingerMs = 0, stays = false }: PlannedStay): number {
  return Math.max(lingerMs, stays ? STAY_MS : 0);
}

export function pollMsOf({ pollMs, stays = false }: PlannedStay): number {
  return stays ? Math.min(pollMs, STAYING_POLL_MS) : pollMs;
}
