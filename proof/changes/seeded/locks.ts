import type { Mutant } from '../change.ts';

const RECORD = 'shared/session/session-record.ts';
const CONTENDER = 'shared/coordination/lock/lock-contender.ts';
const READER = 'shared/coordination/lock/lock-reader.ts';
const FENCE = 'shared/dynamo/dynamo-fence.ts';

export const LOCK_MUTANTS: readonly Mutant[] = [
  {
    id: 'M21',
    what: 'an invalidation imposes no lock-delay',
    file: RECORD,
    from: "if (reason === 'ended') return 0;",
    to: "if (reason !== 'never') return 0;",
    killedBy: ['I7'],
    changes: { lockShare: 0.8, lockDelayMs: 2_000 },
  },
  {
    id: 'X123',
    what: 'what is taken away by force opens after the lock-delay, though its holder hears nothing and trusts it',
    file: RECORD,
    from: 'Math.max(lockDelayMs === 0 ? 0 : now + lockDelayMs, until)',
    to: 'Math.max(lockDelayMs === 0 ? 0 : now + lockDelayMs, Math.min(until, 0))',
    killedBy: ['I1', 'I11'],
    changes: { lockShare: 0.8 },
  },
  {
    id: 'M36',
    what: 'the sequences of a fence are compared as text',
    file: FENCE,
    from: "ExpressionAttributeValues: { ...values, ':leaseholdCounter': stamp.counter, ':leaseholdSequence': stamp.sequence },",
    to: "ExpressionAttributeValues: { ...values, ':leaseholdCounter': stamp.counter, ':leaseholdSequence': (String(stamp.sequence)) },",
    killedBy: ['I2', 'I2b'],
    profile: 'network',
    changes: { lockShare: 0.8 },
  },
  {
    id: 'M37',
    what: 'a contender takes a stale read’s missing session for a dead one (found by the simulation)',
    file: CONTENDER,
    from: 'lock.session !== expected || session === undefined',
    to: '(lock.session !== expected)',
    killedBy: ['I8'],
    profile: 'store',
    changes: { lockShare: 0.8 },
  },
  {
    id: 'X49',
    what: 'a refused write behind a fence is always taken for one’s own earlier attempt',
    file: FENCE,
    from: 'item?.[FENCE_ATTRIBUTES.counter] === counter',
    to: '(item?.[FENCE_ATTRIBUTES.counter] !== undefined && counter !== undefined)',
    also: [
      {
        file: FENCE,
        from: 'item?.[FENCE_ATTRIBUTES.sequence] === sequence',
        to: '(item?.[FENCE_ATTRIBUTES.sequence] !== undefined && sequence !== undefined)',
      },
    ],
    killedBy: ['I2b'],
    changes: { lockShare: 0.8 },
  },
  {
    id: 'X50',
    what: 'a reader tidies up after the living as well',
    file: READER,
    from: "if (standing.kind === 'held') return { lock, holder: standing.by };",
    to: "if (standing.kind === 'held') return { lock: await this.#tidy(lock, { disposition: { behaviour: 'release', notBefore: 0 } }), holder: (undefined) };",
    killedBy: ['I5'],
    changes: { lockShare: 0.8 },
  },
];
