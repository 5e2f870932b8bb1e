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
  {
    id: 'N100',
    what: 'A watch leaves a listener on the long-lived signal of its caller.',
    swaps: [
      {
        file: 'shared/core/wait/shared-poll.ts',
        from: "        signal.removeEventListener('abort', abort);\n",
        to: '',
      },
    ],
    killedBy: {
      test: 'test/unit/core/wait/shared-poll.test.ts',
      title: 'leaves nothing on the signal of its waiter, however the wait ends',
    },
  },
  {
    id: 'N101',
    what: 'A request that waited for its turn leaves a listener on its signal.',
    swaps: [
      {
        file: 'shared/core/runtime/in-flight.ts',
        from: "      patience?.signal.removeEventListener('abort', giveUp);\n",
        to: '',
      },
    ],
    killedBy: { test: 'test/unit/core/runtime/in-flight.test.ts', title: 'passes a free slot to the longest waiter' },
  },
  {
    id: 'N102',
    what: 'A part of a larger buffer is stored as the whole buffer.',
    swaps: [
      {
        file: 'shared/core/runtime/bytes.ts',
        from: 'HostBuffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)',
        to: 'HostBuffer.from(bytes.buffer)',
      },
    ],
    killedBy: {
      test: 'test/unit/core/runtime/web.test.ts',
      title: 'it writes a part of a larger buffer as that part alone',
    },
  },
  {
    id: 'N103',
    what: 'A time with a fraction of a millisecond makes a row that nobody can read.',
    swaps: [{ file: 'shared/core/validate/moment.ts', from: '  return Math.round(at);', to: '  return at;' }],
    killedBy: {
      test: 'test/unit/core/validate/moment.test.ts',
      title: 'any moment is taken as the nearest whole millisecond',
    },
  },
  {
    id: 'N104',
    what: 'A server that closes waits for its requests in flight.',
    swaps: [{ file: 'shared/core/listen.ts', from: '  server.closeAllConnections();\n', to: '' }],
    killedBy: { test: 'test/unit/core/listen.test.ts', title: 'a server that is closed ends its requests in flight' },
  },
  {
    id: 'N105',
    what: 'A gathered read ignores the limits of its caller.',
    swaps: [
      {
        file: 'shared/dynamo/gathering-sender.ts',
        from: 'if (!isPlainGet(statement) || limits !== undefined)',
        to: 'if (!isPlainGet(statement))',
      },
    ],
    killedBy: {
      test: 'test/unit/dynamo/gathering-sender.test.ts',
      title: 'that carry limits are sent within them, alone',
    },
  },
  {
    id: 'N106',
    what: 'Two commits that differ in a set have the same token.',
    swaps: [
      { file: 'shared/dynamo/engine/transaction.ts', from: 'value instanceof Set ? [...value] : typeof', to: 'typeof' },
    ],
    killedBy: {
      test: 'test/unit/dynamo/engine/transaction.test.ts',
      title: 'differs with every value that an action can hold',
    },
  },
  {
    id: 'N107',
    what: 'close leaves the connections of the SDK client open.',
    swaps: [
      {
        file: 'shared/dynamo/connect.ts',
        from: 'made.made()?.then((mine) => mine.destroy(), ignored);',
        to: 'made.made()?.then(ignored, ignored);',
      },
    ],
    killedBy: { test: 'test/unit/dynamo/connect.test.ts', title: 'closes its own client of the SDK' },
  },
  {
    id: 'N108',
    what: 'A wait for the end of a session leaves its timer when its signal aborts.',
    swaps: [
      {
        file: 'shared/session/session-client.ts',
        from: '* runtime.random.next(), signal);',
        to: '* runtime.random.next());',
      },
    ],
    killedBy: {
      test: 'test/unit/coordination/wait-options.test.ts',
      title: 'a wait for the end of a session ends with its signal',
    },
  },
  {
    id: 'N109',
    what: 'A watch leaves its timer until its time is over.',
    swaps: [
      { file: 'shared/coordination/lock/lock-client.ts', from: '      finished.abort();', to: '      void finished;' },
    ],
    killedBy: { test: 'test/unit/coordination/leftovers.test.ts', title: 'a watch that ends long before its time' },
  },
  {
    id: 'N110',
    what: 'A key that is open again says that it is closed until a moment in the past.',
    swaps: [
      {
        file: 'shared/coordination/lock/lock-reader.ts',
        from: 'return openAt > this.#ports.runtime.clock.now() ? openAt : 0;',
        to: 'return openAt;',
      },
    ],
    killedBy: {
      test: 'test/unit/coordination/lock/readers.test.ts',
      title: 'agree on a key that was released by force long ago',
    },
  },
  {
    id: 'N111',
    what: 'lockAll that fails keeps the keys that it took.',
    swaps: [
      {
        file: 'shared/coordination/lock/several-locks.ts',
        from: '    } catch (error) {\n      await leave();\n      throw error;',
        to: '    } catch (error) {\n      throw error;',
      },
    ],
    killedBy: {
      test: 'test/unit/coordination/lock/lost-answer.test.ts',
      title: 'to a caller who wants several, of a key that its session holds, leaves the others free',
    },
  },
  {
    id: 'N112',
    what: 'With many permits open, a session forgets those that it requests.',
    swaps: [
      {
        file: 'shared/coordination/semaphore/permit-book.ts',
        from: 'semaphore === name && its < token && !tokens.has(its)',
        to: 'semaphore === name && !tokens.has(its)',
      },
    ],
    killedBy: {
      test: 'test/unit/coordination/semaphore/permit-book.test.ts',
      title: 'forgets no permit that is requested or in the row',
    },
  },
  {
    id: 'N113',
    what: 'A test process stays alive for three seconds after its last drain.',
    swaps: [{ file: 'shared/testing/kit-worker.ts', from: '      stopWatching();', to: '      void stopWatching;' }],
    killedBy: { test: 'test/unit/testing/leftovers.test.ts', title: 'drain leaves none' },
  },
  {
    id: 'N114',
    what: 'everyCrash accepts a task whose killed request differs between runs.',
    swaps: [
      {
        file: 'shared/testing/every-crash.ts',
        from: 'Array.from({ length: request }, (_, at) => at)',
        to: 'Array.from({ length: request - 1 }, (_, at) => at)',
      },
    ],
    killedBy: {
      test: 'test/unit/testing/every-crash.test.ts',
      title: 'refuses a task whose step 0 differs between its runs',
    },
  },
  {
    id: 'N115',
    what: 'A fenced update in small letters gets two SET clauses, which the service refuses.',
    swaps: [
      {
        file: 'shared/dynamo/dynamo-fence.ts',
        from: 'const set = /(^|\\s)SET\\s/i;',
        to: 'const set = /(^|\\s)SET\\s/;',
      },
    ],
    killedBy: { test: 'test/conformance/fence.test.ts', title: 'takes an update of the form "set balance = :n"' },
  },
  {
    id: 'N116',
    what: 'The second lost answer that a session meets is never settled.',
    swaps: [{ file: 'shared/session/undecided-writes.ts', from: '    this.#loop = undefined;\n', to: '' }],
    killedBy: {
      test: 'test/unit/session/undecided-writes.test.ts',
      title: 'retries each write until it is settled, and begins again after it had none',
    },
  },
];
