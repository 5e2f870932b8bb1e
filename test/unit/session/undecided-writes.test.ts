/** Writes without an answer are settled with the next heartbeats, each time that a session has some. */
import { expect, test } from 'vitest';
import { UndecidedWrites } from '../../../shared/session/undecided-writes.ts';
import { ManualClock } from '../../support/manual-clock.ts';

test('retries each write until it is settled, and begins again after it had none', async () => {
  const clock = new ManualClock('2026-11-27T00:00:00Z');
  const tries: string[] = [];
  const failures: unknown[] = [];
  const writes = new UndecidedWrites({
    pause: () => clock.sleep(1_000),
    isOver: () => false,
    onFailed: (error) => void failures.push(error),
  });
  const settling = (what: string, outcomes: (boolean | Error)[]) => () => {
    tries.push(what);
    const outcome = outcomes.shift() ?? true;
    return outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve(outcome);
  };

  for (let round = 0; round < 3; round++) {
    writes.add('a', settling('a', [false, new Error('no answer')]));
    writes.add('b', settling('b', []));
    await clock.advance(10_000);
    await writes.idle();

    expect([writes.has('a'), writes.has('b')]).toEqual([false, false]);
    expect(tries.splice(0)).toEqual(['a', 'b', 'a', 'a']);
    expect(failures.splice(0)).toMatchObject([{ message: 'no answer' }]);
  }
});

test('an older write does not settle a newer write of the same name, and nothing is retried after the end', async () => {
  const clock = new ManualClock('2026-11-27T00:00:00Z');
  const tries: string[] = [];
  let isOver = false;
  const writes = new UndecidedWrites({
    pause: () => clock.sleep(1_000),
    isOver: () => isOver,
    onFailed: () => undefined,
  });
  const older = Promise.withResolvers<boolean>();
  writes.add('a', () => older.promise);
  await clock.advance(1_000);
  writes.add('a', () => Promise.resolve(tries.push('newer') > 1));
  older.resolve(true);
  await clock.advance(1_000);

  expect(writes.has('a')).toBe(true);
  isOver = true;
  await clock.advance(5_000);
  await writes.idle();
  expect(tries).toEqual(['newer']);
});
