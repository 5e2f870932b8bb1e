import type { Mutant } from '../change.ts';

const RECORD = 'shared/session/session-record.ts';
const CONTENDER = 'shared/session/session-contender.ts';
const HOLDER = 'shared/session/keep-alive.ts';
const STATEMENTS = 'shared/session/row/session-statements.ts';

export const SESSION_MUTANTS: readonly Mutant[] = [
  {
    id: 'M7',
    what: 'a contender does not wait for the clock bound',
    file: RECORD,
    from: 'session.expiresAt + maxClockSkewMs',
    to: '(session.expiresAt)',
    also: [{ file: CONTENDER, from: 'now - maxClockSkewMs', to: 'now' }],
    killedBy: ['I6'],
    changes: { clockErrorMs: 400, maxClockSkewMs: 800 },
  },
  {
    id: 'M90',
    what: 'a session is renewed four times as often as a heartbeat is due',
    file: HOLDER,
    from: 'renewed ? this.timing.heartbeatMs : this.timing.heartbeatMs / 4',
    to: '(this.timing.heartbeatMs / 4)',
    also: [{ file: HOLDER, from: 'if (waitMs > this.timing.heartbeatMs / 8) continue;', to: ';' }],
    killedBy: ['BEAT'],
  },
  {
    id: 'M9',
    what: 'trust is counted from the answer to a renewal',
    file: HOLDER,
    from: 'this.#trust = { opened, durationMs: this.#trust.durationMs };',
    to: 'this.#trust = { opened: momentOf(this.#runtime.clock), durationMs: this.#trust.durationMs };',
    killedBy: ['I1'],
    changes: { boundaryStall: 0.02, lockShare: 0.5 },
  },
  {
    id: 'M16',
    what: 'a renewal does not compare the nonce of the one before',
    file: STATEMENTS,
    from: '#nonce = :lastNonce',
    to: '(#nonce = :lastNonce OR #nonce <> :lastNonce)',
    killedBy: ['I4', 'I9'],
    profile: 'network',
  },
  {
    id: 'M29',
    what: 'identity is made once per environment and repeats after a restart',
    file: 'proof/simulation/fleet.ts',
    from: 'ids: countedIds(incarnation),',
    to: "ids: countedIds((incarnation.split('.')[0])),",
    killedBy: ['I22', 'I0'],
    profile: 'processes',
  },
  {
    id: 'M30',
    what: 'the heartbeat survives the end of the handler',
    file: HOLDER,
    from: `async #end(holdsNothing: boolean): Promise<void> {\n    this.#stopped.abort();`,
    to: `async #end(holdsNothing: boolean): Promise<void> {\n    ;`,
    also: [{ file: HOLDER, from: 'await Promise.all([this.#loops, this.#renewal]);', to: ';' }],
    killedBy: ['L7'],
  },
  {
    id: 'X128',
    what: 'a new session claims to live for twenty times its TTL',
    file: STATEMENTS,
    from: 'expiresAt: ttlMs === null ? null : now + ttlMs,',
    to: 'expiresAt: ttlMs === null ? null : now + 20 * ttlMs,',
    killedBy: ['I23'],
  },
];
