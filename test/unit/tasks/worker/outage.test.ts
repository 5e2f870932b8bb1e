/** A worker's report when its requests get no answer: the store is unavailable, or its own process was suspended. */
import { expect, test } from 'vitest';
import { StoreUnavailableError } from '../../../../shared/core/errors.ts';
import type { Clock } from '../../../../shared/core/runtime/clock.ts';
import { EventLoopLag } from '../../../../shared/session/event-loop-lag.ts';
import { tellOfOutage } from '../../../../shared/tasks/worker/outage.ts';
import { silent } from '../../../../shared/testing/silent-log.ts';

const HEARTBEAT_MS = 10_000;
const AWAY = 'error: store unavailable, no more claims';

test.each([
  ['is due in a second', HEARTBEAT_MS - 1_000, AWAY],
  ['is five seconds late, which is tolerated', HEARTBEAT_MS + 5_000, AWAY],
  ['is nine seconds late', HEARTBEAT_MS + 9_000, 'warn: this process stood still for 9 s at least, no more claims'],
])('while a heartbeat %s', (_, afterMs, said) => {
  let nowMs = 0;
  const clock = { monotonic: () => nowMs, sleep: () => Promise.withResolvers<never>().promise } as unknown as Clock;
  const lag = new EventLoopLag(clock, HEARTBEAT_MS);
  void lag.sleep(HEARTBEAT_MS, new AbortController().signal);
  nowMs += afterMs;
  const lines: string[] = [];
  const note = (level: string) => (message: string) => void lines.push(`${level}: ${message}`);

  const log = { ...silent, warn: note('warn'), error: note('error') };
  tellOfOutage(new StoreUnavailableError('no response', { applied: 'no' }), { log, session: lag });

  expect(lines).toEqual([said]);
});
