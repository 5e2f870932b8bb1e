/** Blind bugs that a tool made, and that once lived in the whole first tier. */
import type { BlindBug } from './bug.ts';

const LOCK = 'shared/coordination/lock/lock-contender.ts';
const SEND = 'shared/dynamo/engine/send.ts';
const KEEP_ALIVE = 'shared/session/keep-alive.ts';
const SETTLE = 'shared/tasks/run/settle.ts';

export const BY_MUTATION: readonly BlindBug[] = [
  {
    id: 'S01',
    what: 'A machine whose clock is proven wrong takes a lock.',
    swaps: [{ file: LOCK, from: `      ensureClockWithin(gauge, this.#maxClockSkewMs);\n`, to: '' }],
    killedBy: { test: 'test/unit/coordination/lock/proven-clock.test.ts', title: 'lock is refused' },
  },
  {
    id: 'S02',
    what: 'A machine whose clock is proven wrong takes several locks.',
    swaps: [
      {
        file: 'shared/coordination/lock/several.ts',
        from: `      ensureClockWithin(gauge, this.#maxClockSkewMs);\n`,
        to: '',
      },
    ],
    killedBy: { test: 'test/unit/coordination/lock/proven-clock.test.ts', title: 'lockAll is refused' },
  },
  {
    id: 'S05',
    what: 'A session is still believed after its end has begun.',
    swaps: [
      {
        file: KEEP_ALIVE,
        from: 'if (this.#loss !== undefined || this.#ending !== undefined) return 0;',
        to: 'if (this.#loss !== undefined) return 0;',
      },
    ],
    killedBy: { test: 'test/unit/session/heartbeats.test.ts', title: 'has no trust left, and gives out no right' },
  },
  {
    id: 'S06',
    what: 'A call returns a lock of a session that is over.',
    swaps: [{ file: LOCK, from: `        this.#session.ensureBelief();\n`, to: '' }],
    killedBy: {
      test: 'test/unit/session/heartbeats.test.ts',
      title: 'gives out no lock by lock whose answer arrives after its end began',
    },
  },
  {
    id: 'S07',
    what: 'The watch of a lost session wakes every millisecond until somebody ends it.',
    swaps: [
      {
        file: KEEP_ALIVE,
        from: `    this.#stopped.abort();\n    this.#tell((events) => {`,
        to: '    this.#tell((events) => {',
      },
    ],
    killedBy: {
      test: 'test/unit/session/heartbeats.test.ts',
      title: 'a session that is over and lost asks for nothing and sleeps no more',
    },
  },
  {
    id: 'S08',
    what: '`onLost` is called twice.',
    swaps: [
      {
        file: KEEP_ALIVE,
        from: `    if (this.#loss !== undefined) return;\n    this.#loss = error;`,
        to: '    this.#loss = error;',
      },
    ],
    killedBy: { test: 'test/unit/session/heartbeats.test.ts', title: 'a session is lost once, whoever notices' },
  },
  {
    id: 'S09',
    what: 'A session without TTL never learns of a forced release.',
    swaps: [
      {
        file: KEEP_ALIVE,
        from: `        this.#learnFrom(current);\n        await this.#noticeFailedCheck();\n        if (current.revoked.length > 0) await this.#renewOnce(null);\n`,
        to: `        await this.#noticeFailedCheck();\n`,
      },
    ],
    killedBy: {
      test: 'test/unit/session/revocations.test.ts',
      title: 'a forced release leaves the row of a session without a TTL as well',
    },
  },
  {
    id: 'S10',
    what: 'Five stops of a worker that are no deadlines end a long task as `NeverFits`.',
    swaps: [{ file: SETTLE, from: '!isDeadline || bulk', to: 'bulk' }],
    killedBy: {
      test: 'test/unit/tasks/run/settle.test.ts',
      title: 'a task that is handed back lives on for a stop that is no deadline',
    },
  },
  {
    id: 'S11',
    what: "The completion of another tenure passes for this one's.",
    swaps: [
      {
        file: SETTLE,
        from: 'session === claim.session && leaseCounter === claim.leaseCounter',
        to: 'leaseCounter === claim.leaseCounter',
      },
    ],
    killedBy: {
      test: 'test/unit/tasks/run/settle.test.ts',
      title: 'a claim has ended as the entry of its own tenure says, whatever others left in the history',
    },
  },
  {
    id: 'S12',
    what: "An earlier tenure of the same session passes for this one's.",
    swaps: [
      {
        file: SETTLE,
        from: 'session === claim.session && leaseCounter === claim.leaseCounter',
        to: 'session === claim.session',
      },
    ],
    killedBy: {
      test: 'test/unit/tasks/run/settle.test.ts',
      title: 'a claim has ended as the entry of its own tenure says, whatever others left in the history',
    },
  },
  {
    id: 'S13',
    what: 'An error message of 400 KB cannot be stored.',
    swaps: [{ file: SETTLE, from: 'text.length > limit ?', to: 'text.length > Infinity ?' }],
    killedBy: {
      test: 'test/unit/tasks/run/settle.test.ts',
      title: 'an error of any length is cut before it is stored',
    },
  },
  {
    id: 'S14',
    what: 'A whole fleet retries at once after an outage.',
    swaps: [{ file: SETTLE, from: 'Math.min(max, Math.max(min, failingMs))', to: 'Math.min(max, failingMs)' }],
    killedBy: {
      test: 'test/unit/tasks/run/settle.test.ts',
      title: 'an outage of the store pauses at least half a second and at most a minute, however long it lasts',
    },
  },
  {
    id: 'S15',
    what: 'Listeners of revocations are never removed.',
    swaps: [
      {
        file: KEEP_ALIVE,
        from: `    return () => {\n      this.#revocationListeners.delete(revocation);\n    };`,
        to: '    return () => undefined;',
      },
    ],
    killedBy: { test: 'test/unit/coordination/leftovers.test.ts', title: 'a lock' },
  },
  {
    id: 'S16',
    what: 'Lines of keys are never removed.',
    swaps: [
      {
        file: 'shared/core/wait/waiter-queue.ts',
        from: `      if (kinds.size === 0) this.#lines.delete(key);\n`,
        to: '',
      },
    ],
    killedBy: { test: 'test/unit/coordination/leftovers.test.ts', title: 'a lock' },
  },
  {
    id: 'S17',
    what: 'The wait for the next attempt outlasts the budget of the caller.',
    swaps: [{ file: SEND, from: ' || clock.monotonic() + waitMs >= deadline', to: '' }],
    killedBy: { test: 'test/unit/dynamo/engine/send.test.ts', title: 'a caller gets the error within its budget' },
  },
  {
    id: 'S18',
    what: 'An attempt outlasts the budget of the caller.',
    swaps: [
      {
        file: SEND,
        from: 'Math.min(this.#policy.attemptTimeoutMs, deadline - clock.monotonic())',
        to: 'this.#policy.attemptTimeoutMs',
      },
    ],
    killedBy: { test: 'test/unit/dynamo/engine/send.test.ts', title: 'a caller gets the error within its budget' },
  },
  {
    id: 'S19',
    what: "A listener of the caller's signal stays behind each attempt.",
    swaps: [{ file: SEND, from: `      signal?.removeEventListener('abort', stop);\n`, to: '' }],
    killedBy: { test: 'test/unit/dynamo/engine/send.test.ts', title: 'a caller gets the error within its budget' },
  },
  {
    id: 'S20',
    what: 'Under contention a call throws instead of waiting on.',
    swaps: [
      {
        file: LOCK,
        from: "return round < ATTEMPT_ROUNDS_LIMIT ? contended() : { kind: 'contended', key };",
        to: 'return contended();',
      },
    ],
    killedBy: {
      test: 'test/unit/coordination/lock/contended.test.ts',
      title: 'tryLock says contended, not delayed, if another caller is faster in each round',
    },
  },
  {
    id: 'S22',
    what: 'Each poll of a waiter costs double.',
    swaps: [
      {
        file: LOCK,
        from: 'const isUnseen = isForeign && (lock.session !== expected || session === undefined);',
        to: 'const isUnseen = isForeign;',
      },
    ],
    killedBy: {
      test: 'test/unit/coordination/lock/waiting.test.ts',
      title: 'waiting for a lock by a crowd of 200 costs at most 100 requests a second from 200 processes',
    },
  },
  {
    id: 'S23',
    what: 'A task that asks to be retried in the past blocks its worker.',
    swaps: [{ file: 'shared/tasks/task/control.ts', from: "durationMs('RetryAfter', delay)", to: 'Number(delay)' }],
    killedBy: {
      test: 'test/unit/tasks/task/bad-input.test.ts',
      title: "RetryAfter('5m') names the wait, or the attempt fails with what is wrong and the usual wait follows",
    },
  },
  {
    id: 'S24',
    what: 'A timer stays behind each attempt of a request.',
    swaps: [{ file: SEND, from: `      cancelTimeout();\n`, to: '' }],
    killedBy: { test: 'test/unit/dynamo/engine/send.test.ts', title: 'a caller gets the error within its budget' },
  },
  {
    id: 'S21',
    what: 'A waiter whose acquire was not answered believes an old read instead of trying again.',
    swaps: [
      {
        file: LOCK,
        from: `    if (this.#unresolvedKeys?.has(this.key) === true) return undefined;\n`,
        to: '',
      },
    ],
    killedBy: {
      test: 'test/unit/coordination/lock/lost-answer.test.ts',
      title: 'lets the waiter attempt again, although reads still show the holder before',
    },
  },
];
