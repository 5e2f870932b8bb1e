/** `WaiterQueue`: in any order of joining, telling, waking and leaving, the first in a line is awake, and an empty line leaves nothing behind. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { WaiterSlot } from '../../../../shared/core/wait/waiter-queue.ts';
import { WaiterQueue } from '../../../../shared/core/wait/waiter-queue.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const HOUR_MS = 3_600_000;
const never = new AbortController().signal;

interface Waiter {
  readonly turn: WaiterSlot<number>;
  /** Whether its wait for the first place has ended. */
  isAwake: boolean;
}

const KEYS = ['a', 'b'];
const KINDS = ['', 'large'];
/** Mostly of one line, so that it has a history. */
const place = { key: fc.constantFrom('a', 'a', 'a', 'b'), kind: fc.constantFrom('', '', '', 'large') };
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ act: fc.constant('join' as const), ...place }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant('end' as const), ...place, at: fc.nat({ max: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('tell' as const), ...place, obstacle: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('wake' as const), ...place }) },
);

test('the first in each line is awake, whoever left before it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20, size: 'max' }), async (steps) => {
      const clock = new ManualClock('2026-03-01T12:00:00Z');
      const turns = new WaiterQueue<number>(clock);
      const lines = new Map(KEYS.flatMap((key) => KINDS.map((kind) => [`${key}/${kind}`, new Array<Waiter>()])));
      for (const next of steps) {
        const line = lines.get(`${next.key}/${next.kind}`) ?? [];
        if (next.act === 'join') {
          const waiter: Waiter = { turn: turns.join(next.key, next.kind), isAwake: false };
          // Nobody has told this line anything since it was empty.
          if (line.length === 0) expect(waiter.turn.told).toBeUndefined();
          line.push(waiter);
          void waiter.turn.come(HOUR_MS, never).then(() => (waiter.isAwake = true));
        } else if (next.act === 'end') {
          const [leaving] = line.splice(Math.min(next.at, line.length - 1), 1);
          leaving?.turn.end();
        } else if (next.act === 'tell') line[0]?.turn.tell(next.obstacle);
        else turns.wake(next.key);
        await clock.advance(0);
        for (const [first, ...others] of lines.values()) {
          expect([first?.isAwake, first?.turn.isFirst]).not.toContain(false);
          expect(others.map(({ turn }) => turn.isFirst)).not.toContain(true);
        }
      }
    }),
    { seed: 1, numRuns: 200 },
  );
});

test('wakes the first of each kind once per release', async () => {
  const clock = new ManualClock('2026-03-01T12:00:00Z');
  const turns = new WaiterQueue<number>(clock);
  const first = turns.join('a');
  turns.join('a');
  let woken = 0;
  const sleepAgain = async (): Promise<void> => {
    for (;;) {
      await first.sleep(HOUR_MS, never);
      woken++;
    }
  };
  void sleepAgain();
  turns.wake('b');
  await clock.advance(0);
  expect(woken).toBe(0);
  turns.wake('a');
  await clock.advance(1_000);
  expect(woken).toBe(1);
});
