/** Blind bugs of readers who came when the earlier ones were all found: what survived at first. */
import type { BlindBug } from './bug.ts';

export const BY_LATER_READERS: readonly BlindBug[] = [
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
