/** Seeds whose histories once showed a fault of the protocol, or an alarm without one. */
import { describe, expect, test } from 'vitest';
import { runMany } from './run-many.ts';
import { runSeed } from './run-seed.ts';

/**
 * Past findings are checked forever. A change of the profiles turns a seed into another history, so none replaces the unit test of its fix.
 */
const REGRESSIONS: readonly (readonly [what: string, seed: bigint])[] = [
  ['a stale read without a session row was taken for a dead session', 20_081n],
  ['an acquire arrived after the release of its own tenure', 20_022n],
  ['an acquire was applied again after another tenure', 30_227n],
  ['the answer to a snooze was lost, and another worker had the task meanwhile', 30_080n],
  ['one small worker had all the work', 30_081n],
  ['a holder learnt by its heartbeat only that it was released by force', 24n],
  ['a clock stepped between two attempts of a request', 35n],
  ['an unanswered renewal moved the expiry back while the clock was behind', 30_498n],
  ['one of several reads failed, and the others went on behind the end of the invocation', 106n],
  ['the index showed a task where it was and where it is', 319n],
  ['a member that had ended was swept, and came back as pending', 5n],
  ['other work under an id found what the work before it had left', 14n],
  ['a sender was frozen between two attempts and sent when it woke', 700_937n],
  ['a session was lost in the moment in which its permit was handed over', 103_987n],
  ['the answer to an enqueue was lost, its work done, and then begun once more', 100_928n],
  ['a permit was evicted before its holder had heard of it', 5_865n],
];

/** Findings of the mix, faults and false alarms. Its worlds set constants of the product, so they run in a separate thread. */
const FINDINGS_OF_MIX: typeof REGRESSIONS = [
  ['a scan for abandoned tasks counted as a poll, and short workers exited beside due tasks', 463n],
  ['a worker that had lost claims passed a tenant with one task many times', 40_361n],
  ['an operator ended the session of a task that was being claimed', 665n],
  ['a task of a key ended, and got other work without a key', 41_251n],
  ['a process was stalled between its timer and its request, and the timeout of that seemed short', 70_174n],
  ['a lone worker was frozen when the world healed, and seemed to have a free slot', 63_064n],
  ['an index lagged by 45 s, and claims of old entries were refused and followed by polls', 62_928n],
  ['a worker took later tasks of a foreign shard, whose page it tries in random order', 63_555n],
  ['two workers chose the same slice of a tasks, and lost more claims than one choice allows', 60_240n],
  [
    'short workers saw only the first task of a full key in a foreign shard, and its dead runner was a later one',
    210_056n,
  ],
  ['polls of empty partitions made a lone worker read all tasks of a slow key for each of them', 211_937n],
  ['idle workers had ids at even distances, and none of them knew the name of a task', 420_488n],
];

/** Past mistakes of the simulation itself: alarms without a violation. */
const FALSE_ALARMS: readonly (readonly [what: string, seed: bigint])[] = [
  ['a contender that settled for the dead had not seen that there was a value by then', 36_312n],
  ['a clock that is wrong by more than a day may sweep a bucket early', 40_281n],
  ['two enqueues side by side may be acknowledged in either order', 71_477n],
  ['a producer of the first half went on in the second', 81_628n],
  ['a tick was delivered once more when its row had long been swept', 14_431n],
  ['workers were not told where a tick had seen tasks', 17_346n],
  ['a worker that ended a task was answered after others had given it another payload', 14_331n],
  ['an enqueue was answered after the row that it had met was swept', 17_572n],
  ['the removal of a payload went on when its run had given it up', 2_029_171n],
  ['a half after a leap has an index that lags again, and its claims are refused until it has caught up', 2_033_683n],
  ['workers lived for less time than a look at all lanes took', 2_051_220n],
  ['workers that tasks killed kept the one permit of their queue, each for a TTL', 2_053_751n],
  ['rows were read as they were a minute ago, and each refused claim was followed by a poll', 2_070_346n],
  ['a second delivery of a commit found stock before the refusal of the first was heard', 2_080_515n],
];

/** Those of the world `fanout`. */
const FINDINGS_OF_FANOUT: typeof REGRESSIONS = [
  ['wakers counted tasks of a full key that wakers of other shards had noted', 25n],
  ['a waker counted a task twice whose stream record took longer than a second', 64_049n],
];
const FALSE_ALARMS_OF_FANOUT: typeof FALSE_ALARMS = [
  ['the permit of a worker that had crashed was taken for a worker with a free slot', 14n],
];

describe('the protocol', () => {
  test.each(REGRESSIONS)('holds where it once did not: %s', async (_what, seed) => {
    const { violations } = await runSeed(seed, 'swarm');

    expect(violations).toEqual([]);
  });

  test.each(FINDINGS_OF_MIX)('holds in a world of the mix: %s', async (_what, seed) => {
    const tally = await runMany({ histories: 1, minutes: Infinity, from: seed, profile: 'mix', workers: 1 });

    expect(tally.total.histories).toBe(1);
    expect(tally.failures).toEqual([]);
  });

  test.each(FINDINGS_OF_FANOUT)('holds while workers fan out: %s', async (_what, seed) => {
    const { violations } = await runSeed(seed, 'fanout');

    expect(violations).toEqual([]);
  });

  test.each(FALSE_ALARMS)('is not accused where it holds: %s', async (_what, seed) => {
    const { violations } = await runSeed(seed, 'swarm');

    expect(violations).toEqual([]);
  });

  test.each(FALSE_ALARMS_OF_FANOUT)('is not accused while workers fan out: %s', async (_what, seed) => {
    const { violations } = await runSeed(seed, 'fanout');

    expect(violations).toEqual([]);
  });
});
