/** Blind bugs that readers of the product thought of. */
import type { BlindBug } from './bug.ts';

const SEND = 'shared/dynamo/engine/send.ts';
const KEEP_ALIVE = 'shared/session/keep-alive.ts';
const SETTLE = 'shared/tasks/run/settle.ts';
const WIRE = 'shared/dynamo/wire/';

export const BY_READERS: readonly BlindBug[] = [
  {
    id: 'N01',
    what: 'A transaction that met another one is refused and not sent again.',
    swaps: [{ file: SEND, from: "'TransactionConflict', ", to: '' }],
    killedBy: {
      test: 'test/unit/dynamo/settle-task.test.ts',
      title: 'the end of a task whose companion refuses is tried again while the two are only busy',
    },
  },
  {
    id: 'N02',
    what: 'After a freeze between two attempts a request goes on, hours later.',
    swaps: [{ file: SEND, from: `      ensureTimeFor(0);\n`, to: '' }],
    killedBy: {
      test: 'test/unit/dynamo/engine/send.test.ts',
      title: 'a process that was frozen between two attempts sends nothing when it wakes behind its time',
    },
  },
  {
    id: 'N05',
    what: 'The 408 of a proxy counts as refused for good, though the write may be applied.',
    swaps: [{ file: `${WIRE}answer.ts`, from: 'status === 408 || ', to: '' }],
    killedBy: {
      test: 'test/unit/dynamo/wire/answers.test.ts',
      title: "the wire driver reads an error as a proxy's page at 408: unanswered",
    },
  },
  {
    id: 'N06',
    what: "Once the machine's clock is put right, every request is refused until a restart.",
    swaps: [
      { file: `${WIRE}wire-driver.ts`, from: 'this.#offsetMs = offsetMs;', to: 'this.#offsetMs += offsetMs;' },
      { file: `${WIRE}fetch-driver.ts`, from: 'this.#offsetMs = offsetMs;', to: 'this.#offsetMs += offsetMs;' },
    ],
    killedBy: {
      test: 'test/unit/dynamo/wire/clock-steps.test.ts',
      title: 'the wire driver is accepted at the latest after one refusal, whatever its clock does',
    },
  },
  {
    id: 'N07',
    what: 'Leases are lost in outages that they should survive.',
    swaps: [
      {
        file: KEEP_ALIVE,
        from: 'renewed ? this.timing.heartbeatMs : this.timing.heartbeatMs / 4',
        to: 'this.timing.heartbeatMs',
      },
    ],
    killedBy: {
      test: 'test/unit/session/heartbeats.test.ts',
      title: 'survives every outage that ends a quarter of a heartbeat before its trust does',
    },
  },
  {
    id: 'N08',
    what: 'A lone waiter behind a crashed holder with a lock-delay never gets the free permit.',
    swaps: [
      {
        file: 'shared/session/session-verdicts.ts',
        from: "standing.kind === 'free' ?",
        to: "standing.kind === 'free' || standing.kind === 'closed' ?",
      },
    ],
    killedBy: {
      test: 'test/unit/coordination/lone-waiter.test.ts',
      title: 'gets a permit behind a lock-delay of 1000 ms',
    },
  },
  {
    id: 'N09',
    what: 'The second caller of a process waits to its own timeout after the first gave up.',
    swaps: [
      {
        file: 'shared/core/wait/waiter-queue.ts',
        from: '    wakeFirst(this.#line);',
        to: '    if (this.#line.told !== undefined) wakeFirst(this.#line);',
      },
    ],
    killedBy: {
      test: 'test/unit/core/wait/waiter-queue.test.ts',
      title: 'the first in each line is awake, whoever left before it',
    },
  },
  {
    id: 'N10',
    what: 'A wake-up that arrives during a poll is forgotten.',
    swaps: [{ file: 'shared/core/wait/shared-poll.ts', from: 'one.isNudged ? -Infinity : ', to: '' }],
    killedBy: {
      test: 'test/unit/core/wait/shared-poll.test.ts',
      title: 'a key that is watched is polled immediately after a nudge, and again if a poll was in flight',
    },
  },
  {
    id: 'N11',
    what: 'A waiter for a result never hears that its task is gone.',
    swaps: [
      {
        file: 'shared/tasks/queue/results.ts',
        from: 'const going = new Set(rows.filter((row) => !isEnded(row)).map(nameOf));',
        to: 'const ended = new Set(rows.filter(isEnded).map(nameOf));',
      },
      {
        file: 'shared/tasks/queue/results.ts',
        from: 'if (!going.has(key)) tell(key);',
        to: 'if (ended.has(key)) tell(key);',
      },
    ],
    killedBy: {
      test: 'test/unit/tasks/task/results.test.ts',
      title: 'is refused for a missing task when the store comes back',
    },
  },
  {
    id: 'N15',
    what: 'A dispatcher that failed and is retried does nothing.',
    swaps: [{ file: 'shared/tasks/dispatch/dispatcher.ts', from: ' && taken.current?.by !== by', to: '' }],
    killedBy: {
      test: 'test/unit/tasks/dispatch/dispatcher.test.ts',
      title: 'a tick that failed after it had taken its slot goes on when its invocation is tried again',
    },
  },
  {
    id: 'N16',
    what: 'A task waits for the tick, a minute, instead of a second.',
    swaps: [
      {
        file: 'shared/tasks/dispatch/wake.ts',
        from: 'due.length > 0 || rows.length < keys.length',
        to: 'due.length > 0',
      },
    ],
    killedBy: {
      test: 'test/unit/tasks/dispatch/wake.test.ts',
      title: 'a wake of a queue starts a worker before the rows can be read',
    },
  },
  {
    id: 'N17',
    what: 'Both deliveries of one start work, so chains of workers fork.',
    swaps: [
      {
        file: 'functions/continuation.ts',
        from: "return outcome.kind === 'applied';",
        to: "return outcome.kind === 'applied' || outcome.current?.by !== by;",
      },
    ],
    killedBy: {
      test: 'test/functions/continuation.test.ts',
      title: 'works once if its start is delivered twice, so the chain does not fork',
    },
  },
  {
    id: 'N18',
    what: 'A timer stays behind each invocation, and fires in a later one.',
    swaps: [{ file: 'functions/middleware/deadline.ts', from: `    after: stopTimer,\n`, to: '' }],
    killedBy: { test: 'test/functions/deadline.test.ts', title: 'ends its timer when the handler returns' },
  },
  {
    id: 'N19',
    what: 'A schedule moves on before its task is made, so a crash in between loses the slot.',
    swaps: [
      {
        file: 'shared/tasks/dispatch/recur.ts',
        from: '    const outcome = await giveSlot(',
        to: `    if (!(await advance({ nextAt }))) return;\n    const outcome = await giveSlot(`,
      },
    ],
    killedBy: { test: 'test/unit/tasks/dispatch/recur.test.ts', title: 'makes each due slot once if the tick dies' },
  },
  {
    id: 'N20',
    what: 'After a restore, counters start below tokens that a fast clock gave out.',
    swaps: [
      {
        file: 'cli/commands/epoch.ts',
        from: 'runtime.clock.now() + connection.maxClockSkewMs',
        to: 'Math.max(0, runtime.clock.now() - connection.maxClockSkewMs)',
      },
    ],
    killedBy: {
      test: 'test/cli/epoch.full.test.ts',
      title: 'leasehold epoch raise resumes after an interruption with the same counters',
    },
  },
  {
    id: 'N21',
    what: 'A long process loses a permit for as long as it lives, after a lost answer.',
    swaps: [
      {
        file: 'shared/coordination/semaphore/unresolved-semaphores.ts',
        from: `    await settle(semaphore, session, ports);\n    return true;\n`,
        to: `    await settle(semaphore, session, ports).catch(() => undefined);\n    return true;\n`,
      },
    ],
    killedBy: {
      test: 'test/unit/coordination/semaphore/lost-answer.test.ts',
      title: 'costs the capacity two heartbeats after the semaphore answers again',
    },
  },
  {
    id: 'N22',
    what: 'An unanswered acquire of a new key counts as decided after one read.',
    swaps: [
      {
        file: 'shared/coordination/lock/unresolved-keys.ts',
        from: 'if (lock === undefined) return true;',
        to: 'if (lock === undefined) return false;',
      },
    ],
    killedBy: {
      test: 'test/unit/coordination/lock/lost-answer.test.ts',
      title: 'a lost answer refuses a tryLock that arrives after it was settled',
    },
  },
  {
    id: 'N23',
    what: 'Credentials are renewed only after they were refused.',
    swaps: [{ file: `${WIRE}kept-credentials.ts`, from: ' && this.#leftMs(kept) > RENEW_BEFORE_END_MS', to: '' }],
    killedBy: {
      test: 'test/unit/dynamo/wire/fetch-driver.test.ts',
      title: 'credentials of a provider are kept for every client of the isolate until five minutes before they end',
    },
  },
  {
    id: 'N24',
    what: "Figures count another claim's end as this one's, and the alarm for lost leases stays silent.",
    swaps: [{ file: SETTLE, from: 'row.past.find(isOurs)?.how', to: 'row.past.at(-1)?.how' }],
    killedBy: {
      test: 'test/unit/tasks/run/settle.test.ts',
      title: 'a claim has ended as the entry of its own tenure says, whatever others left in the history',
    },
  },
  {
    id: 'N25',
    what: 'A child that an operator retries after its batch has ended can never end.',
    swaps: [
      {
        file: 'shared/tasks/rows/task/dependent-rows.ts',
        from: 'record === undefined || record.pending === 0',
        to: 'record === undefined',
      },
      {
        file: 'shared/tasks/rows/task/operator-statements.ts',
        from: '#batch, #deaths, #failingSince, #handBacks${keeps',
        to: '#deaths, #failingSince, #handBacks${keeps',
      },
    ],
    killedBy: { test: 'test/unit/tasks/task/retried-child.test.ts', title: 'a child of an ended batch is again done' },
  },
  {
    id: 'N26',
    what: 'A worker ends with an error when its clock is set back on a long backlog.',
    swaps: [
      {
        file: 'shared/tasks/picker/partition-entries.ts',
        from: `    if (now < this.#readUpTo) this.#after = undefined;\n`,
        to: '',
      },
    ],
    killedBy: { test: 'test/unit/tasks/picker/any-clock.test.ts', title: 'oldest first' },
  },
  {
    id: 'N27',
    what: 'One throttled write of a mere hint ends a worker with tasks at work.',
    swaps: [
      {
        file: 'shared/tasks/worker/planning-hints.ts',
        from: `      if (!(error instanceof StoreUnavailableError || error instanceof CorruptItemError)) throw error;\n      return;\n`,
        to: `      throw error;\n`,
      },
    ],
    killedBy: {
      test: 'test/unit/tasks/worker/planning-hints.test.ts',
      title: 'a store that refuses a hint ends nothing',
    },
  },
  {
    id: 'N28',
    what: 'The alarm for buried tasks may never ring.',
    swaps: [{ file: 'functions/worker-metrics.ts', from: "'buried', 'failing'", to: "'failing'" }],
    killedBy: { test: 'test/functions/urgent-metrics.test.ts', title: 'buried' },
  },
];
