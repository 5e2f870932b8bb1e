import type { Mutant } from './mutation.ts';

const HOLDER = 'shared/session/keep-alive.ts';
const STATEMENTS = 'shared/dynamo/session/statements.ts';

export const SESSION_MUTANTS: readonly Mutant[] = [
  {
    id: 'M7',
    what: 'a contender does not wait for the clock bound',
    edits: [
      {
        file: 'shared/session/record.ts',
        find: 'const expiredForOthersAt = session.expiresAt + maxClockSkewMs;',
        replace: 'const expiredForOthersAt = session.expiresAt;',
      },
      {
        file: 'shared/session/contender.ts',
        find: 'expiredBefore: now - maxClockSkewMs',
        replace: 'expiredBefore: now',
      },
    ],
    killedBy: ['I6'],
    changes: { clockErrorMs: 400, maxClockSkewMs: 800 },
  },
  {
    id: 'M8',
    what: 'a holder believes beyond its TTL',
    edits: [
      {
        file: 'shared/lease/timing.ts',
        find: 'timing.ttlMs - timing.holderMarginMs',
        replace: 'timing.ttlMs + timing.holderMarginMs + timing.maxClockSkewMs',
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
        find: 'this.#trust = { opened, durationMs: this.#trust.durationMs };',
        replace: 'this.#trust = { opened: momentOf(clock), durationMs: this.#trust.durationMs };',
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
        file: 'shared/lease/trust.ts',
        find: 'const elapsedMs = Math.max(at.wallMs - window.opened.wallMs, at.monotonicMs - window.opened.monotonicMs);',
        replace: 'const elapsedMs = at.monotonicMs - window.opened.monotonicMs;',
      },
    ],
    killedBy: ['I1'],
    // It takes a clock that stops with its machine.
    changes: { monotonicStops: true, freezeEveryMs: 4_000 },
  },
  {
    id: 'M16',
    what: 'a renewal does not compare the nonce of the one before',
    edits: [
      {
        file: STATEMENTS,
        find: 'AND #nonce = :lastNonce AND',
        replace: 'AND (#nonce = :lastNonce OR #nonce <> :lastNonce) AND',
      },
    ],
    killedBy: ['I4', 'I9'],
    profile: 'network',
  },
  {
    id: 'M18',
    what: 'a renewal that failed extends belief',
    edits: [
      {
        file: HOLDER,
        find: 'this.#unanswered.push(nonce);',
        replace: 'this.#unanswered.push(nonce); this.#trust = { opened, durationMs: this.#trust.durationMs };',
      },
    ],
    killedBy: ['I1'],
  },
  {
    id: 'M27',
    what: 'a contender ends a session a heartbeat before its TTL is over',
    edits: [
      {
        file: 'shared/session/record.ts',
        find: 'const expiredForOthersAt = session.expiresAt + maxClockSkewMs;',
        replace: 'const expiredForOthersAt = session.expiresAt - session.ttlMs / 3;',
      },
      {
        file: 'shared/session/contender.ts',
        find: 'expiredBefore: now - maxClockSkewMs',
        replace: 'expiredBefore: now + (observed?.ttlMs ?? 0) / 3',
      },
    ],
    killedBy: ['I6'],
  },
  {
    id: 'M28',
    what: 'belief is a flag that a timer flips',
    edits: [
      {
        file: HOLDER,
        find: `    if (this.#loss !== undefined || this.#ending !== undefined) return 0;
    return remainingTrustMs(this.#trust, momentOf(this.#runtime.clock));`,
        replace: '    return this.#loss !== undefined || this.#ending !== undefined ? 0 : 1;',
      },
      {
        file: HOLDER,
        find: 'truthfulSignal(this.#lost.signal, () => this.#noticeExpiry())',
        replace: 'this.#lost.signal',
      },
      {
        file: HOLDER,
        find: `  ensureBelief(): void {
    this.#noticeExpiry();`,
        replace: '  ensureBelief(): void {',
      },
    ],
    killedBy: ['I1'],
  },
  {
    id: 'M29',
    what: 'identity is made once per environment and repeats after a restart',
    edits: [
      { file: 'test/simulation/fleet.ts', find: 'ids: countedIds(incarnation),', replace: 'ids: countedIds(name),' },
    ],
    killedBy: ['I22', 'I0'],
    profile: 'processes',
  },
  {
    id: 'M30',
    what: 'the heartbeat survives the end of the handler',
    edits: [
      {
        file: HOLDER,
        find: `    this.#stopped.abort();
    await Promise.all([this.#loops, this.#renewal]);
    await this.#settling`,
        replace: '    await this.#settling',
      },
    ],
    killedBy: ['L7'],
  },
  {
    id: 'X3',
    what: 'an unanswered renewal is not recognised, and taken for another write',
    edits: [{ file: HOLDER, find: 'this.#unanswered.includes(current.nonce)', replace: 'false' }],
    killedBy: ['I9'],
    profile: 'network',
  },
  {
    id: 'X25',
    what: 'a renewal that is refused because the clock has jumped is taken for another’s work (found by the simulation)',
    edits: [
      {
        file: HOLDER,
        find: 'if (current.nonce === this.#record.nonce) return',
        replace: "if (current.nonce === '') return",
      },
    ],
    killedBy: ['I9'],
    profile: 'clocks',
    changes: { clocksHold: false, clockErrorMs: 200_000, clockStepEveryMs: 4_000, partitionEveryMs: 3_000 },
  },
  {
    id: 'X5',
    what: 'session rows are swept at their expiry',
    edits: [{ file: 'shared/dynamo/engine/schema.ts', find: '  session: 30,', replace: '  session: 0,' }],
    killedBy: ['I25', 'I6'],
  },
  {
    id: 'X66',
    what: 'every attempt to end a session states the time of the first',
    edits: [
      {
        file: 'shared/dynamo/engine/send.ts',
        find: 'attempt === 1 || statement.restamped === undefined ? undefined : clock.now()',
        replace: 'undefined as number | undefined',
      },
    ],
    killedBy: ['I7'],
    profile: 'network',
    changes: { lockShare: 0.8, lockDelayMs: 2_000, requestLost: 0.3 },
  },
];
