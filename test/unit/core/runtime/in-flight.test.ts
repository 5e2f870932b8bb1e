import { describe, expect, test } from 'vitest';
import { allOf } from '../../../../shared/core/runtime/all-of.ts';
import { inFlight, sideBySide } from '../../../../shared/core/runtime/in-flight.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

describe('inFlight', () => {
  function open(count: number) {
    const run = inFlight(2);
    const begun: number[] = [];
    const works = Array.from({ length: count }, () => Promise.withResolvers<number>());
    const outcomes = Promise.allSettled(
      works.map(({ promise }, at) =>
        run(() => {
          begun.push(at);
          return promise;
        }),
      ),
    );
    /** The jobs that have begun after all other work has run. */
    const begunByNow = async (): Promise<readonly number[]> => {
      await new ManualClock('2026-11-22T00:00:00Z').advance(0);
      return begun;
    };
    return { works, outcomes, begunByNow };
  }

  test('begins at most the limit at a time, and the next when one ends', async () => {
    const { works, outcomes, begunByNow } = open(4);
    expect(await begunByNow()).toEqual([0, 1]);

    works[1]?.resolve(1);

    expect(await begunByNow()).toEqual([0, 1, 2]);
    works.forEach(({ resolve }, at) => {
      resolve(at);
    });
    expect(await outcomes).toEqual([0, 1, 2, 3].map((value) => ({ status: 'fulfilled', value })));
  });

  test('starts nothing after a failure: unstarted jobs fail with it, and running jobs finish', async () => {
    const { works, outcomes, begunByNow } = open(4);
    const failure = new Error('the table is not there');

    works[1]?.reject(failure);

    expect(await begunByNow()).toEqual([0, 1]);
    works[0]?.resolve(0);
    expect(await begunByNow()).toEqual([0, 1]);
    const failed = { status: 'rejected', reason: failure };
    expect(await outcomes).toEqual([{ status: 'fulfilled', value: 0 }, failed, failed, failed]);
  });
});

test('sideBySide passes a free slot to the longest waiter', async () => {
  const run = sideBySide(1);
  const first = Promise.withResolvers<undefined>();
  const begun: string[] = [];
  const begin = (name: string, until: Promise<undefined>): Promise<undefined> =>
    run(() => {
      begun.push(name);
      return until;
    });
  const running = begin('first', first.promise);
  const later = Promise.all(['second', 'third'].map((name) => begin(name, Promise.resolve(undefined))));

  first.resolve(undefined);
  await Promise.all([running, later]);

  expect(begun).toEqual(['first', 'second', 'third']);
});

test('allOf throws the first error, after all have ended', async () => {
  const slow = Promise.withResolvers<string>();
  const ended: string[] = [];
  const all = allOf([
    slow.promise.then(() => void ended.push('slow')),
    Promise.reject(new Error('the first')),
    Promise.reject(new Error('the second')),
  ]).catch((error: unknown) => {
    ended.push('all');
    return error;
  });
  // Turns enough for a failure to be handed on.
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  expect(ended).toEqual([]);
  slow.resolve('one');

  expect(await all).toMatchObject({ message: 'the first' });
  expect(ended).toEqual(['slow', 'all']);
});
