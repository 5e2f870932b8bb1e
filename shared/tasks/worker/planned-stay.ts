/** The stay of a planned worker after its last task, and its poll interval meanwhile. */

/** For tasks that come one by one. Frequent polls cost less than a start. Set by `bench fanout --scene "one a second"`. */
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
