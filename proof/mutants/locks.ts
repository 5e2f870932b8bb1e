import type { Change } from './change.ts';
import { becomes, disarmed, leftOnly } from './change.ts';
import type { Mutant } from './mutation.ts';
import { branch, call, condition, operation, property } from './place.ts';

const STATEMENTS = 'shared/coordination/lock/row/lock-statements.ts';
const EXPRESSIONS = 'shared/coordination/lock/row/lock-expressions.ts';
const CONTENDER = 'shared/coordination/lock/lock-contender.ts';
const READER = 'shared/coordination/lock/lock-reader.ts';
const FENCE = 'shared/dynamo/dynamo-fence.ts';

/** Checks only the presence of the compared values. */
const isThere: Change = ({ left, right }) => `${left} !== undefined && ${right} !== undefined`;

export const LOCK_MUTANTS: readonly Mutant[] = [
  {
    id: 'M21',
    what: 'an invalidation imposes no lock-delay',
    edits: [
      {
        file: 'shared/session/session-record.ts',
        in: 'lockDelayEndsAt',
        at: condition('ended'),
        change: becomes('true'),
      },
    ],
    killedBy: ['I7'],
    changes: { lockShare: 0.8, lockDelayMs: 2_000 },
  },
  {
    id: 'M24',
    what: 'a new session of the process that lost the key does not wait for the lock-delay',
    edits: [
      {
        file: CONTENDER,
        in: 'LockContender.#assess',
        at: property('openAt', 'openAt'),
        change: ({ text }) => `session?.node === this.#session.record.node ? 0 : ${text}`,
      },
    ],
    killedBy: ['I7'],
    changes: { lockShare: 0.8, lockDelayMs: 2_000 },
  },
  {
    id: 'M36',
    what: 'the sequences of a fence are compared as text',
    edits: [{ file: FENCE, in: 'guarded.:leaseholdSequence', change: ({ text }) => `String(${text})` }],
    killedBy: ['I2', 'I2b'],
    profile: 'network',
    changes: { lockShare: 0.8 },
  },
  {
    id: 'X6',
    what: 'an acquire is not ordered against the tenures that ended since it was asked for (found by the simulation)',
    edits: disarmed(EXPRESSIONS, 'IS_UNTOUCHED', '#freedAt < :openBefore'),
    killedBy: ['I0'],
    profile: 'network',
    changes: { lockShare: 0.8 },
  },
  {
    id: 'M25',
    what: 'tidying up after a dead session does not compare the tenure',
    edits: [
      {
        file: STATEMENTS,
        in: 'settleLock.guard',
        change: becomes(
          "'(#session = :session OR #session <> :session) AND (#leaseCounter = :counter OR #leaseCounter <> :counter)'",
        ),
      },
    ],
    killedBy: ['I5'],
    changes: { lockShare: 0.8 },
  },
  {
    id: 'M37',
    what: 'a contender takes a stale read’s missing session for a dead one (found by the simulation)',
    edits: [
      { file: CONTENDER, in: 'LockContender.look', at: operation('||', 'session', 'undefined'), change: leftOnly },
    ],
    killedBy: ['I8'],
    profile: 'store',
    changes: { lockShare: 0.8 },
  },
  {
    id: 'M33',
    what: 'a fence takes an equal counter whatever its sequence',
    edits: disarmed(FENCE, 'IS_NEWER', '#leaseholdSequence < :leaseholdSequence'),
    killedBy: ['I2', 'I2b'],
    profile: 'network',
    changes: { lockShare: 0.8 },
  },
  {
    id: 'M34',
    what: 'the store asks for no stamp at all',
    edits: disarmed(FENCE, 'IS_NEWER', '#leaseholdCounter < :leaseholdCounter'),
    killedBy: ['I2', 'I2b'],
    changes: { lockShare: 0.8 },
  },
  {
    id: 'X49',
    what: 'a refused write behind a fence is always taken for one’s own earlier attempt',
    edits: [
      { file: FENCE, in: 'dynamoFence.wasApplied', at: operation('===', 'counter'), change: isThere },
      { file: FENCE, in: 'dynamoFence.wasApplied', at: operation('===', 'sequence'), change: isThere },
    ],
    killedBy: ['I2b'],
    changes: { lockShare: 0.8 },
  },
  {
    id: 'X50',
    what: 'a reader tidies up after the living as well',
    edits: [
      {
        file: READER,
        in: 'LockReader.judge',
        at: [branch('held', 'by'), property('lock')],
        change: ({ text }) => `await this.#tidy(${text}, { disposition: { behaviour: 'release', notBefore: 0 } })`,
      },
      {
        file: READER,
        in: 'LockReader.judge',
        at: [branch('held', 'by'), property('holder')],
        change: becomes('undefined'),
      },
    ],
    killedBy: ['I5'],
    changes: { lockShare: 0.8 },
  },
  {
    id: 'M35',
    what: 'the fence is not advanced before the first read',
    edits: [
      {
        file: 'proof/simulation/workloads/locks.ts',
        in: 'workUnder',
        at: call('sendFenced', 'advance'),
        change: ({ args: [place = '', input = ''] }) =>
          `(({ TableName, Key }) => ${place}.driver.attempt('get', { TableName, Key, ConsistentRead: true }, new AbortController().signal).then(({ Item = {} }) => Item))(${input})`,
      },
    ],
    killedBy: ['I2b'],
    changes: { lockShare: 0.8 },
  },
  {
    id: 'M20c',
    what: 'a release of a lock does not compare session and counter',
    edits: disarmed(EXPRESSIONS, 'IS_HELD_BY', '#session = :session', '#leaseCounter = :counter'),
    killedBy: ['I5', 'I9'],
    changes: { lockShare: 0.8 },
  },
];
