/** Figures of waits and costs in the documents, computed by the functions that bound the rules of the simulator. */
import { expect, test } from 'vitest';
import { DEFAULT_TTL_MS, sessionTiming } from '../../shared/core/lease/timing.ts';
import { MIN_POLL_GAP_MS } from '../../shared/tasks/picker/tuning.ts';
import { freeAfterCrashMs, LONGEST_PAUSE_MS, looksApartMs } from '../../proof/simulation/bounds.ts';
import { textOf } from '../support/made-blocks.ts';

const seconds = (ms: number): string => `${ms / 1_000} s`;
const { ttlMs, ...timing } = sessionTiming();
const defaults = { ...timing, ttlMs: ttlMs ?? DEFAULT_TTL_MS };
const task = freeAfterCrashMs({ ...defaults, lockDelayMs: 0 });

test.each([
  ['docs/timing.md', `unless the lock-delay is 0: ${seconds(freeAfterCrashMs(defaults))} by default`],
  ['docs/timing.md', `a contender's next poll, within ${seconds(LONGEST_PAUSE_MS.lock)} |`],
  ['docs/timing.md', `the next poll within ${seconds(LONGEST_PAUSE_MS.permit)} |`],
  ['docs/timing.md', `of the *worker's* session: ${seconds(task)} by default`],
  ['docs/timing.md', `once a heartbeat (${seconds(looksApartMs(defaults.ttlMs))})`],
  ['docs/timing.md', `reads up to ${1_000 / MIN_POLL_GAP_MS / 2} units a second`],
  ['docs/coming-from.md', `${seconds(task)} after its last heartbeat by default (TTL and clock bound)`],
])('%s has: %s', (document, sentence) => {
  expect(textOf(document)).toContain(sentence);
});
