import type { Mutant } from './mutation.ts';

const STATEMENTS = 'shared/dynamo/lock/statements.ts';

export const LOCK_MUTANTS: readonly Mutant[] = [
  {
    id: 'M21',
    what: 'an invalidation imposes no lock-delay',
    edits: [
      {
        file: 'shared/session/record.ts',
        find: "if (reason === 'ended' || lockDelayMs === 0) return 0;",
        replace: 'return 0;',
      },
    ],
    killedBy: ['I7'],
    changes: { lockShare: 0.8, lockDelayMs: 2_000 },
  },
  {
    id: 'M22',
    what: 'a contender that finds a holder expired takes over at once, before the lock-delay',
    edits: [
      {
        file: 'shared/session/contender.ts',
        find: "return again.kind === 'expired' ? { kind: 'live', until: clock.now() } : again;",
        replace: "return again.kind === 'expired' ? { kind: 'live', until: clock.now() } : { kind: 'free' };",
      },
    ],
    killedBy: ['I7'],
    changes: { lockShare: 0.8, lockDelayMs: 2_000 },
  },
  {
    id: 'M23',
    what: 'the lock-delay is not written down with the key',
    edits: [
      {
        file: 'shared/lock/standing.ts',
        find: 'const notBefore = standing.until - maxClockSkewMs;',
        replace: 'const notBefore = 0;',
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
        file: 'shared/lock/contender.ts',
        find: 'this.#abandoned = { lock, openAt: standing.openAt, isFresh };',
        replace:
          'this.#abandoned = { lock, openAt: session?.node === this.#session.record.node ? 0 : standing.openAt, isFresh };',
      },
    ],
    killedBy: ['I7'],
    changes: { lockShare: 0.8, lockDelayMs: 2_000 },
  },
  {
    id: 'M36',
    what: 'the sequences of a fence are compared as text',
    edits: [
      {
        file: 'shared/dynamo/fence.ts',
        find: "':leaseholdCounter': stamp.counter, ':leaseholdSequence': stamp.sequence }",
        replace: "':leaseholdCounter': stamp.counter, ':leaseholdSequence': String(stamp.sequence) }",
      },
    ],
    killedBy: ['I2', 'I2b'],
    profile: 'network',
    changes: { lockShare: 0.8 },
  },
  {
    id: 'X6',
    what: 'an acquire is not ordered against the tenures that ended since it was asked for (found by the simulation)',
    edits: [
      {
        file: STATEMENTS,
        find: "'(attribute_not_exists(#freedAt) OR #freedAt < :openBefore OR #leaseCounter = :observedCounter)'",
        replace:
          "'(attribute_not_exists(#freedAt) OR #freedAt < :openBefore OR #freedAt >= :openBefore OR #leaseCounter = :observedCounter)'",
      },
    ],
    killedBy: ['I0'],
    profile: 'network',
    changes: { lockShare: 0.8 },
  },
  {
    id: 'X6b',
    what: 'an acquire is ordered against the end of tenures by clocks alone, without the bound on their differences',
    edits: [
      {
        file: 'shared/lock/contender.ts',
        find: 'openBefore: stamp.now - this.#maxClockSkewMs,',
        replace: 'openBefore: stamp.now + this.#maxClockSkewMs,',
      },
    ],
    killedBy: ['I0', 'I7'],
    profile: 'network',
    changes: { lockShare: 0.8, clockErrorMs: 400, maxClockSkewMs: 800 },
  },
  {
    id: 'X16',
    what: 'a holder does not listen when its heartbeat says that it was released by force',
    edits: [
      {
        file: 'shared/session/keep-alive.ts',
        find: 'listener?.();',
        replace: '',
      },
    ],
    killedBy: ['I1'],
    changes: { lockShare: 0.8 },
  },
  {
    id: 'M25',
    what: 'tidying up after a dead session does not compare the tenure',
    edits: [
      {
        file: STATEMENTS,
        find: "guard: sweepable && behaviour === 'release' ? `${IS_HELD_BY} AND ${HAS_NO_VALUE}` : IS_HELD_BY,",
        replace:
          "guard: '(#session = :session OR #session <> :session) AND (#leaseCounter = :counter OR #leaseCounter <> :counter)',",
      },
    ],
    killedBy: ['I5'],
    changes: { lockShare: 0.8 },
  },
  {
    id: 'M37',
    what: 'a contender takes a stale read’s missing session for a dead one (found by the simulation)',
    edits: [
      {
        file: 'shared/lock/contender.ts',
        find: 'const isUnseen = isForeign && (lock.session !== expected || session === undefined);',
        replace: 'const isUnseen = isForeign && lock.session !== expected;',
      },
    ],
    killedBy: ['I8'],
    profile: 'store',
    changes: { lockShare: 0.8 },
  },
  {
    id: 'M33',
    what: 'a fence takes an equal counter whatever its sequence',
    edits: [
      {
        file: 'shared/dynamo/fence.ts',
        find: '(#leaseholdCounter = :leaseholdCounter AND #leaseholdSequence < :leaseholdSequence))',
        replace:
          '(#leaseholdCounter = :leaseholdCounter AND (#leaseholdSequence < :leaseholdSequence OR #leaseholdSequence >= :leaseholdSequence)))',
      },
    ],
    killedBy: ['I2', 'I2b'],
    profile: 'network',
    changes: { lockShare: 0.8 },
  },
  {
    id: 'M34',
    what: 'the store asks for no stamp at all',
    edits: [
      {
        file: 'shared/dynamo/fence.ts',
        find: "'(attribute_not_exists(#leaseholdCounter) OR #leaseholdCounter < :leaseholdCounter OR ' +",
        replace:
          "'(attribute_not_exists(#leaseholdCounter) OR #leaseholdCounter < :leaseholdCounter OR #leaseholdCounter >= :leaseholdCounter OR ' +",
      },
    ],
    killedBy: ['I2', 'I2b'],
    changes: { lockShare: 0.8 },
  },
  {
    id: 'X49',
    what: 'a refused write behind a fence is always taken for one’s own earlier attempt',
    edits: [
      {
        file: 'shared/dynamo/fence.ts',
        find: 'return item?.[FENCE_ATTRIBUTES.counter] === counter && item?.[FENCE_ATTRIBUTES.sequence] === sequence;',
        replace: 'return item !== undefined && counter !== undefined && sequence !== undefined;',
      },
    ],
    killedBy: ['I2b'],
    changes: { lockShare: 0.8 },
  },
  {
    id: 'X50',
    what: 'a reader tidies up after the living as well',
    edits: [
      {
        file: 'shared/lock/reader.ts',
        find: "if (standing.kind === 'held') return { lock, holder: standing.by };",
        replace:
          "if (standing.kind === 'held') return { lock: await this.#tidy(lock, { disposition: { behaviour: 'release', notBefore: 0 } }), holder: undefined };",
      },
    ],
    killedBy: ['I5'],
    changes: { lockShare: 0.8 },
  },
  {
    id: 'X51',
    what: 'a release refuses its own holder where there is no value',
    edits: [
      {
        file: STATEMENTS,
        find: 'const guard = sweepable ? `${IS_HELD_BY} AND ${HAS_NO_VALUE}` : IS_HELD_BY;',
        replace: 'const guard = sweepable ? `${IS_HELD_BY} AND NOT ${HAS_NO_VALUE}` : IS_HELD_BY;',
      },
    ],
    killedBy: ['I0'],
    changes: { lockShare: 0.8 },
  },
  {
    id: 'M35',
    what: 'the fence is not advanced before the first read',
    edits: [
      {
        file: 'test/simulation/workloads/locks.ts',
        find: 'const seenItem = await sendFenced(place, guard.advance(target), guard);',
        replace:
          "const { Item: seenItem = {} } = await driver.attempt('get', { ...target, ConsistentRead: true }, new AbortController().signal);",
      },
      {
        file: 'test/simulation/workloads/locks.ts',
        find: 'const { process, profile, prng, recorder, seen } = place; const { clock }',
        replace: 'const { process, profile, prng, recorder, seen, driver } = place; const { clock }',
      },
    ],
    killedBy: ['I2b'],
    changes: { lockShare: 0.8 },
  },
  {
    id: 'M20c',
    what: 'a release of a lock does not compare session and counter',
    edits: [
      {
        file: STATEMENTS,
        find: 'const IS_HELD_BY =',
        replace:
          "const IS_HELD_BY = '(#session = :session OR #session <> :session) AND (#leaseCounter = :counter OR #leaseCounter <> :counter)';\nexport const WAS_HELD_BY =",
      },
    ],
    killedBy: ['I5', 'I9'],
    changes: { lockShare: 0.8 },
  },
];
