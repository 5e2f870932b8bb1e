/**
 * `WaiterQueue`: in any order of joining, telling, waking and leaving, the first in a line is awake, nobody is woken without a reason,
 * and an empty line leaves nothing behind.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Waiter } from '../../../../shared/core/wait/waiter-queue.ts';
import { LONGEST_TIMER_MS } from '../../../../shared/core/runtime/clock.ts';
import { WaiterQueue } from '../../../../shared/core/wait/waiter-queue.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const HOUR_MS = 3_600_000;
const never = new AbortController().signal;

interface Joined {
  readonly turn: Waiter<number>;
  /** Whether its wait for the first place has ended. */
  isAwake: boolean;
  /** How many of its sleeps since then have ended. */
  woken: number;
  /** How many releases came while it was first. */
  releases: number;
}

/** Refuses sleeps that no timer has. */
class StrictClock extends ManualClock {
  override sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (ms > LONGEST_TIMER_MS) throw new RangeError(`${ms} ms is too long`);
    return super.sleep(ms, signal);
  }
}

async function waitAndSleep(waiter: Joined): Promise<void> {
  await waiter.turn.come(Infinity, never);
  waiter.isAwake = true;
  for (;;) {
    await waiter.turn.sleep(HOUR_MS, never);
    waiter.woken++;
  }
}

const KEYS = ['a', 'b'];
const KINDS = ['', 'large'];
/** Mostly of one line, so that it has a history. */
const place = { key: fc.constantFrom('a', 'a', 'a', 'b'), kind: fc.constantFrom('', '', '', 'large') };
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ act: fc.constant('join' as const), ...place }) },
  {
    weight: 3,
    arbitrary: fc.record({ act: fc.constant('end' as const), ...place, at: fc.nat({ max: 3 }), isTwice: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('tell' as const), ...place, obstacle: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('wake' as const), ...place }) },
);

test('the first in each line is awake, whoever left before it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20, size: 'max' }), async (steps) => {
      const clock = new StrictClock('2026-03-01T12:00:00Z');
      const turns = new WaiterQueue<number>(clock);
      const lines = new Map(KEYS.flatMap((key) => KINDS.map((kind) => [`${key}/${kind}`, new Array<Joined>()])));
      const told = new Map<string, number>();
      for (const next of steps) {
        const name = `${next.key}/${next.kind}`;
        const line = lines.get(name) ?? [];
        if (next.act === 'join') {
          const waiter: Joined = { turn: turns.join(next.key, next.kind), isAwake: false, woken: 0, releases: 0 };
          // Nobody has told this line anything since it was empty.
          if (line.length === 0) told.delete(name);
          line.push(waiter);
          void waitAndSleep(waiter);
        } else if (next.act === 'end') {
          const [leaving] = line.splice(Math.min(next.at, line.length - 1), 1);
          leaving?.turn.end();
          // It has left, and cannot make room again.
          if (next.isTwice) leaving?.turn.end();
        } else if (next.act === 'tell') {
          line[0]?.turn.tell(next.obstacle);
          told.set(name, next.obstacle);
        } else {
          turns.wake(next.key);
          for (const kind of KINDS)
            for (const first of lines.get(`${next.key}/${kind}`)?.slice(0, 1) ?? []) first.releases++;
        }
        await clock.advance(0);
        const all = [...lines].flatMap(([of, waiters]) => waiters.map((waiter, nth) => ({ of, waiter, nth })));
        expect(all.map(({ waiter: { isAwake, turn, woken } }) => [isAwake, turn.isFirst, woken, turn.told])).toEqual(
          all.map(({ of, waiter: { releases }, nth }) => [nth === 0, nth === 0, releases, told.get(of)]),
        );
      }
    }),
    { seed: 1, numRuns: 200 },
  );
});
