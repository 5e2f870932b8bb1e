import { warn } from '../../core/runtime/host.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Refusal } from './lock-record.ts';
import { describeLock, describeRefusal } from './lock-record.ts';

/** Longer than most critical sections. A caller that still waits for its own session after this time may be waiting for itself. */
const OWN_WAIT_WARNING_MS = 30_000;

/** Without this warning, a caller that waits without limit for its own flow's lock would wait silently as long as the session lives. */
export function warningOfOwnWait(clock: Clock): (refusal: Refusal) => void {
  const startedAt = clock.monotonic();
  let isWarned = false;
  return (refusal) => {
    if (isWarned || refusal.kind !== 'held' || refusal.isOwn !== true) return;
    if (clock.monotonic() - startedAt < OWN_WAIT_WARNING_MS) return;
    isWarned = true;
    warn(`a caller waits for ${describeLock(refusal.key)}, ${describeRefusal(refusal)}`);
  };
}
