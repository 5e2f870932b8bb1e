import { becomes, beside, disarmed, leftOnly } from './change.ts';
import type { Mutant } from './mutation.ts';
import { argument, assigned, call, operation, property, returned, statement, choice } from './place.ts';

const RECORD = 'shared/session/session-record.ts';
const CONTENDER = 'shared/session/session-contender.ts';
const HOLDER = 'shared/session/keep-alive.ts';
const STATEMENTS = 'shared/session/row/session-statements.ts';

export const SESSION_MUTANTS: readonly Mutant[] = [
  {
    id: 'M7',
    what: 'a contender does not wait for the clock bound',
    edits: [
      { file: RECORD, in: 'judgeSession', at: operation('+', 'expiresAt'), change: leftOnly },
      { file: CONTENDER, in: 'settleSession.expiredBefore', at: operation('-'), change: leftOnly },
    ],
    killedBy: ['I6'],
    changes: { clockErrorMs: 400, maxClockSkewMs: 800 },
  },
  {
    id: 'M90',
    what: 'a session is renewed four times as often as a heartbeat is due',
    edits: [
      {
        file: HOLDER,
        in: 'SessionHolder.#heartbeat',
        at: choice('renewed'),
        change: ({ whenFalse }) => whenFalse,
      },
    ],
    killedBy: ['BEAT'],
  },
  {
    id: 'M9',
    what: 'trust is counted from the answer to a renewal',
    edits: [
      {
        file: HOLDER,
        in: 'SessionHolder.#renew',
        at: [assigned('#trust'), property('opened')],
        change: becomes('momentOf(this.#runtime.clock)'),
      },
    ],
    killedBy: ['I1'],
    changes: { boundaryStall: 0.02, lockShare: 0.5 },
  },
  {
    id: 'M16',
    what: 'a renewal does not compare the nonce of the one before',
    edits: disarmed(STATEMENTS, 'renewSession.follows', '#nonce = :lastNonce'),
    killedBy: ['I4', 'I9'],
    profile: 'network',
  },
  {
    id: 'M27',
    what: 'a contender ends a session a heartbeat before its TTL is over',
    edits: [
      {
        file: RECORD,
        in: 'judgeSession',
        at: operation('+', 'expiresAt'),
        change: ({ left }) => `${left} - ${beside(left, 'ttlMs')} / 3`,
      },
      {
        file: CONTENDER,
        in: 'settleSession.expiredBefore',
        at: operation('-'),
        change: ({ left }) => `${left} + (observed?.ttlMs ?? 0) / 3`,
      },
    ],
    killedBy: ['I6'],
  },
  {
    id: 'M28',
    what: 'belief is a flag that a timer flips',
    edits: [
      { file: HOLDER, in: 'SessionHolder.remainingTrustMs', at: returned('remainingTrustMs'), change: becomes('1') },
      {
        file: HOLDER,
        in: 'SessionHolder.constructor',
        at: call('truthfulSignal'),
        change: ({ args: [signal = ''] }) => signal,
      },
      { file: HOLDER, in: 'SessionHolder.ensureBelief', at: statement('#noticeExpiry'), change: 'drop' },
    ],
    killedBy: ['I1'],
  },
  {
    id: 'M29',
    what: 'identity is made once per environment and repeats after a restart',
    edits: [
      {
        file: 'proof/simulation/fleet.ts',
        in: 'Fleet.start',
        at: argument('countedIds', 0),
        change: ({ text }) => `${text}.split('.')[0]`,
      },
    ],
    killedBy: ['I22', 'I0'],
    profile: 'processes',
  },
  {
    id: 'M30',
    what: 'the heartbeat survives the end of the handler',
    edits: [
      { file: HOLDER, in: 'SessionHolder.#end', at: statement('#stopped', 'abort'), change: 'drop' },
      { file: HOLDER, in: 'SessionHolder.#end', at: statement('#loops'), change: 'drop' },
    ],
    killedBy: ['L7'],
  },
];
