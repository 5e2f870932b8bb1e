/** Blind bugs of readers who came when the earlier ones were all found: what survived at first. */
import type { BlindBug } from './bug.ts';

export const BY_LATER_READERS: readonly BlindBug[] = [
  {
    id: 'N29',
    what: 'A session is lost after an outage of answers that it should survive.',
    swaps: [
      {
        file: 'shared/session/keep-alive.ts',
        from: `      return this.#renew(ttlMs);\n    }\n    this.markLost`,
        to: `      return true;\n    }\n    this.markLost`,
      },
    ],
    killedBy: {
      test: 'test/unit/session/heartbeats.test.ts',
      title: 'survives every outage that ends a quarter of a heartbeat before its trust does',
    },
  },
  {
    id: 'N30',
    what: 'Only the first block of the event loop is ever reported.',
    swaps: [
      {
        file: 'shared/session/event-loop-lag.ts',
        from: `    this.#longestMs = 0;\n    this.#isTold = false;`,
        to: `    this.#longestMs = 0;`,
      },
    ],
    killedBy: {
      test: 'test/unit/session/blocked-loop.test.ts',
      title: 'reports each block, if a renewal came between them',
    },
  },
  {
    id: 'N31',
    what: 'A node that is deregistered ends the sessions of only one of its checks.',
    swaps: [
      {
        file: 'shared/session/health-client.ts',
        from: '      ids.push(record.id);',
        to: '      ids.splice(0, 1, record.id);',
      },
    ],
    killedBy: { test: 'test/unit/session/health.test.ts', title: 'deregisters a check or a node once' },
  },
  {
    id: 'N32',
    what: 'One lock of several that cannot be released keeps the others held.',
    swaps: [
      {
        file: 'shared/coordination/lock/held-locks.ts',
        from: 'const outcomes = await Promise.allSettled([...this.#locks.values()].map((lock) => lock.release()));',
        to: `for (const lock of this.#locks.values()) await lock.release();\n    const outcomes: PromiseSettledResult<void>[] = [];`,
      },
    ],
    killedBy: {
      test: 'test/unit/coordination/lock/lost-answer.test.ts',
      title: 'of one release leaves no other lock of several held',
    },
  },
  {
    id: 'N33',
    what: 'The option pause of a limiter has no effect.',
    swaps: [
      {
        file: 'shared/coordination/semaphore/concurrency-limiter.ts',
        from: `    const { limit, pause } = this.#options;\n    return { limit, pause, ...options };`,
        to: `    const { limit } = this.#options;\n    return { limit, ...options };`,
      },
    ],
    killedBy: {
      test: 'test/unit/coordination/wait-options.test.ts',
      title: 'a slot of a limiter is asked for as often as `pause` says',
    },
  },
  {
    id: 'N34',
    what: 'The list of the members of a group ends at the first page that is not full.',
    swaps: [
      {
        file: 'shared/coordination/waitgroup/group.ts',
        from: 'if (isLast || after === undefined) return;',
        to: 'if (isLast || members.length < PAGE_LIMIT) return;',
      },
    ],
    killedBy: { test: 'test/unit/client/pages.test.ts', title: 'list all members of a group' },
  },
  {
    id: 'N35',
    what: 'A claim that may be applied is forgotten after a throttled request, and its task stands still.',
    swaps: [
      {
        file: 'shared/tasks/worker/decided-claim.ts',
        from: "isUnresolved ||= error.applied === 'unknown';",
        to: "isUnresolved = error.applied === 'unknown';",
      },
    ],
    killedBy: {
      test: 'test/unit/tasks/worker/undecided-claim.test.ts',
      title: 'and before that answers that it was throttled',
    },
  },
  {
    id: 'N36',
    what: 'A service believes the token of a permit whose session has died.',
    swaps: [
      {
        file: 'shared/coordination/semaphore/semaphore-client.ts',
        from: "holder.token === token && holder.standing === 'live'",
        to: 'holder.token === token && holder.closedUntil === undefined',
      },
    ],
    killedBy: {
      test: 'test/conformance/semaphore.test.ts',
      title: 'verifies a token for as long as its session lives',
    },
  },
  {
    id: 'N37',
    what: 'Started workers count as pending for longer with each task that is announced, and no others are started.',
    swaps: [
      {
        file: 'shared/tasks/dispatch/pending-starts.ts',
        from: 'untilMs: starts > 0 ? now + wait : untilMs,',
        to: 'untilMs: now + wait,',
      },
    ],
    killedBy: {
      test: 'test/unit/tasks/dispatch/pending-starts.test.ts',
      title: 'counts a start no longer because more tasks are announced',
    },
  },
  {
    id: 'N38',
    what: 'A pack may exceed its byte limit by the size of its first input.',
    swaps: [{ file: 'shared/tasks/bulk/bulk-request.ts', from: '      bytes = weight;', to: '      bytes = 0;' }],
    killedBy: { test: 'test/unit/tasks/bulk/cut.test.ts', title: 'each pack within its size and its bytes' },
  },
  {
    id: 'N39',
    what: 'enqueueAndWait ignores a signal that aborts later.',
    swaps: [
      {
        file: 'shared/tasks/queue/task-client.ts',
        from: 'defined({ wait, signal })',
        to: 'defined({ wait, signal: signal?.aborted === true ? signal : undefined })',
      },
    ],
    killedBy: {
      test: 'test/unit/tasks/task/results.test.ts',
      title: 'ends with the reason of the signal, while its task goes on',
    },
  },
  {
    id: 'N40',
    what: 'With two rights around a handler, the outer one ends with the inner one.',
    swaps: [{ file: 'functions/middleware/held-right.ts', from: '      found.#users++;\n', to: '' }],
    killedBy: {
      test: 'test/functions/held-right.test.ts',
      title: 'keep the outer right until the inner one is given back',
    },
  },
  {
    id: 'N41',
    what: 'A release without an answer fails an invocation whose work is done.',
    swaps: [
      {
        file: 'functions/middleware/held-right.ts',
        from: `    } catch {
      // The work is done and must not fail because of this. The session's end releases the rest.
    }`,
        to: `    } finally {
      void 0;
    }`,
      },
    ],
    killedBy: {
      test: 'test/functions/held-right.test.ts',
      title: 'do not fail an invocation whose work is done if their release is not answered',
    },
  },
  {
    id: 'N42',
    what: "The client's queue does not apply to its schedules.",
    swaps: [
      {
        file: 'shared/client/leasehold.ts',
        from: 'new ScheduleClient(ports, { queue })',
        to: 'new ScheduleClient(ports)',
      },
    ],
    killedBy: { test: 'test/unit/client/default-queue.test.ts', title: 'a schedule' },
  },
];
