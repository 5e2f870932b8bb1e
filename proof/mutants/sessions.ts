import { becomes, beside, disarmed, leftOnly } from './change.ts';
import type { Mutant } from './mutation.ts';
import { argument, assigned, call, choice, condition, operation, property, returned, statement } from './place.ts';

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
    id: 'M8',
    what: 'a holder believes beyond its TTL',
    edits: [
      {
        file: 'shared/core/lease/timing.ts',
        in: 'trustDurationMs',
        at: operation('-', 'holderMarginMs'),
        change: ({ left, right }) => `${left} + ${right} + ${beside(left, 'maxClockSkewMs')}`,
      },
    ],
    killedBy: ['I1'],
    changes: { partitionEveryMs: 4_000, lockShare: 0.5 },
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
    id: 'M10',
    what: 'trust is judged by the monotonic clock alone',
    edits: [
      {
        file: 'shared/core/lease/trust.ts',
        in: 'remainingTrustMs',
        at: call('max'),
        change: ({ args }) => args.find((elapsed) => elapsed.includes('monotonicMs')) ?? '',
      },
    ],
    killedBy: ['I1'],
    // It takes a clock that stops with its machine.
    changes: { monotonicStops: true, freezeEveryMs: 4_000 },
  },
  {
    id: 'M16',
    what: 'a renewal does not compare the nonce of the one before',
    edits: disarmed(STATEMENTS, 'renewSession.follows', '#nonce = :lastNonce'),
    killedBy: ['I4', 'I9'],
    profile: 'network',
  },
  {
    id: 'M18',
    what: 'a renewal that failed extends belief',
    edits: [
      {
        file: HOLDER,
        in: 'SessionHolder.#renew',
        at: statement('#unanswered', 'push'),
        change: ({ text }) => `${text} this.#trust = { opened, durationMs: this.#trust.durationMs };`,
      },
    ],
    killedBy: ['I1'],
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
  {
    id: 'X3',
    what: 'an unanswered renewal is not recognised, and taken for another write',
    edits: [
      {
        file: HOLDER,
        in: 'SessionHolder.#afterRefusal',
        at: call('includes', '#unanswered'),
        change: becomes('false'),
      },
    ],
    killedBy: ['I9'],
    profile: 'network',
  },
  {
    id: 'X25',
    what: 'a renewal that is refused because the clock has jumped is taken for another’s work (found by the simulation)',
    edits: [{ file: HOLDER, in: 'SessionHolder.#lossBy', at: condition('nonce'), change: becomes('false') }],
    killedBy: ['I9'],
    profile: 'clocks',
    changes: { clocksHold: false, clockErrorMs: 200_000, clockStepEveryMs: 4_000, partitionEveryMs: 3_000 },
  },
  {
    id: 'X5',
    what: 'session rows are swept at their expiry',
    edits: [{ file: 'shared/dynamo/engine/schema.ts', in: 'RETENTION_DAYS.session', change: becomes('0') }],
    killedBy: ['I25', 'I6'],
  },
  {
    id: 'X66',
    what: 'every attempt to end a session states the time of the first',
    edits: [
      {
        file: 'shared/dynamo/engine/send.ts',
        in: 'Sender.#attemptUntilAnswered',
        at: choice('restamped', 'now'),
        change: becomes('undefined as number | undefined'),
      },
    ],
    killedBy: ['I7'],
    profile: 'network',
    changes: { lockShare: 0.8, lockDelayMs: 2_000, requestLost: 0.3 },
  },
];
