/** Blind bugs in `shared/`, by a later reader. No test found them at first. */
import type { BlindBug } from './bug.ts';

export const BY_LATER_READERS_OF_SHARED: readonly BlindBug[] = [
  {
    id: 'N141',
    what: 'A margin that fills the TTL is accepted.',
    swaps: [
      {
        file: 'shared/core/lease/timing.ts',
        from: 'heartbeatMs + holderMarginMs >= ttlMs',
        to: 'heartbeatMs + holderMarginMs > ttlMs',
      },
    ],
    killedBy: { test: 'test/unit/core/lease/timing.test.ts', title: 'names both settings' },
  },
  {
    id: 'N142',
    what: 'Who polls often waits for one who polls rarely.',
    swaps: [
      { file: 'shared/core/wait/wait.ts', from: "`${this.#backoff.capMs} ${line.kind ?? ''}`", to: `line.kind ?? ''` },
    ],
    killedBy: { test: 'test/unit/core/wait/wait.test.ts', title: 'does not stand behind one that polls more rarely' },
  },
  {
    id: 'N143',
    what: 'Ended shards of a stream are read again.',
    swaps: [{ file: 'shared/dynamo/table-stream.ts', from: '.filter((id) => !ended.has(id))', to: '' }],
    killedBy: { test: 'test/unit/dynamo/table-stream.test.ts', title: 'is followed from each to its successor' },
  },
  {
    id: 'N144',
    what: 'A task is announced once for each of its records.',
    swaps: [
      {
        file: 'shared/dynamo/inserted.ts',
        from: '[...new Set(some.map(({ id }) => id))]',
        to: 'some.map(({ id }) => id)',
      },
    ],
    killedBy: { test: 'test/unit/dynamo/table-stream.test.ts', title: 'a task of several records is announced once' },
  },
  {
    id: 'N145',
    what: 'getTask ignores the queue of its connection.',
    swaps: [
      {
        file: 'shared/client/edge/enqueuer.ts',
        from: `const { queue = ownQueue } = validOptions('the options of getTask'`,
        to: `const { queue = DEFAULT_QUEUE } = validOptions('the options of getTask'`,
      },
    ],
    killedBy: { test: 'test/unit/client/edge/enqueuer.test.ts', title: `from the connection's queue or another` },
  },
  {
    id: 'N146',
    what: 'One region in China has a wrong endpoint.',
    swaps: [
      {
        file: 'shared/client/edge/edge-connection.ts',
        from: `region.startsWith('cn-') ? '.cn' : ''`,
        to: `region === 'cn-north-1' ? '.cn' : ''`,
      },
    ],
    killedBy: { test: 'test/unit/client/edge/options.test.ts', title: 'sends to the DynamoDB of cn-northwest-1' },
  },
  {
    id: 'N147',
    what: 'Enqueues to one engine wake the workers of another.',
    swaps: [
      {
        file: 'shared/client/process-enqueues.ts',
        from: 'JSON.stringify([endpoint ?? region, table])',
        to: 'JSON.stringify([region, table])',
      },
    ],
    killedBy: { test: 'test/unit/tasks/queue/enqueue-bus.test.ts', title: 'wake no worker of another endpoint' },
  },
  {
    id: 'N148',
    what: 'Who watches a key is not told that its row is gone.',
    swaps: [
      {
        file: 'shared/coordination/lock/watch.ts',
        from: 'if (index !== 0 && index < memory.lastIndex)',
        to: 'if (index < memory.lastIndex)',
      },
    ],
    killedBy: { test: 'test/unit/coordination/lock/watch.test.ts', title: 'answers after the row was swept' },
  },
  {
    id: 'N149',
    what: 'A hundred keys are refused.',
    swaps: [
      {
        file: 'shared/coordination/lock/several-locks.ts',
        from: 'wanted.length > KEYS_LIMIT',
        to: 'wanted.length >= KEYS_LIMIT',
      },
    ],
    killedBy: { test: 'test/unit/coordination/lock/one-session.test.ts', title: 'is one of a hundred keys at most' },
  },
  {
    id: 'N150',
    what: 'A take is refused although its tokens come in time.',
    swaps: [
      {
        file: 'shared/coordination/ratelimit/rate-limiter.ts',
        from: 'take.waitMs > remainingMs',
        to: 'take.waitMs >= remainingMs - 1_000',
      },
    ],
    killedBy: { test: 'test/unit/coordination/ratelimit/line.test.ts', title: 'come in the last moment of their wait' },
  },
  {
    id: 'N151',
    what: 'An untouched bucket shows parts of tokens.',
    swaps: [
      { file: 'shared/coordination/ratelimit/bucket.ts', from: 'return Math.floor(burst);', to: 'return burst;' },
    ],
    killedBy: { test: 'test/unit/coordination/ratelimit/bucket.test.ts', title: 'counts whole tokens' },
  },
  {
    id: 'N152',
    what: 'An item behind the end of its pack is found.',
    swaps: [
      {
        file: 'shared/tasks/bulk/put-bulk.ts',
        from: 'place.index >= pack.input.length',
        to: 'place.index > pack.input.length',
      },
    ],
    killedBy: { test: 'test/conformance/bulk/bulk.test.ts', title: 'runs them in order, each under its own name' },
  },
  {
    id: 'N153',
    what: 'A bulk of another task with the same inputs counts as added.',
    swaps: [
      {
        file: 'shared/tasks/bulk/put-bulk.ts',
        from: 'isPack(current) && current.name === pack.name && isSame',
        to: 'isPack(current) && isSame',
      },
    ],
    killedBy: { test: 'test/conformance/bulk/bulk.test.ts', title: 'is not taken for that of another task' },
  },
  {
    id: 'N154',
    what: 'A delay that an operator gives is ignored.',
    swaps: [
      { file: 'shared/operate/operations.ts', from: '...defined({ id, delay: delayMs }),', to: '...defined({ id }),' },
    ],
    killedBy: { test: 'test/unit/operate/operations.test.ts', title: 'adds a task that is due after its delay' },
  },
  {
    id: 'N155',
    what: 'The price of a burst lacks its invocations.',
    swaps: [
      { file: 'shared/operate/cost/burst.ts', from: `      workers * priceOf(prices, 'invocations') +\n`, to: '' },
    ],
    killedBy: { test: 'test/unit/operate/cost/estimate.test.ts', title: 'bills for a burst what invocations cost' },
  },
  {
    id: 'N174',
    what: 'The successor of one of several shards is never read.',
    swaps: [
      {
        file: 'shared/dynamo/table-stream.ts',
        from: 'haveEnded = next.length < shards.length;',
        to: 'haveEnded = next.length === 0;',
      },
    ],
    killedBy: { test: 'test/unit/dynamo/table-stream.test.ts', title: 'is followed from each to its successor' },
  },
  {
    id: 'N175',
    what: 'An isolate keeps each key for ever.',
    swaps: [
      { file: 'shared/dynamo/wire/web-signature.ts', from: `  if (KEYS.size >= MAX_KEYS) KEYS.clear();\n`, to: '' },
    ],
    killedBy: { test: 'test/unit/dynamo/wire/web-signature.test.ts', title: 'keeps the keys that it uses' },
  },
  {
    id: 'N176',
    what: 'The refusal of an own key names too early an end.',
    swaps: [
      {
        file: 'shared/coordination/lock/lock.ts',
        from: 'record.expiresAt === null ? null : record.expiresAt + timing.maxClockSkewMs',
        to: 'record.expiresAt === null ? null : record.expiresAt',
      },
    ],
    killedBy: {
      test: 'test/unit/coordination/lock/one-session.test.ts',
      title: 'is refused to its holder and to others until the same moment',
    },
  },
  {
    id: 'N177',
    what: 'Rows of a canceled transaction count as damaged at the edge.',
    swaps: [
      {
        file: 'shared/client/edge/inflating-driver.ts',
        from: 'inflateIn([fault.item, fault.reasons])',
        to: 'inflateIn([fault.item])',
      },
    ],
    killedBy: { test: 'test/unit/client/edge/deflated.test.ts', title: 'rows in refusals are inflated as well' },
  },
  {
    id: 'N178',
    what: 'Tasks whose workers crashed are not counted.',
    swaps: [
      { file: 'shared/client/run-until-stopped.ts', from: 'totals.dead += dead + buried;', to: 'totals.dead += dead;' },
    ],
    killedBy: {
      test: 'test/unit/client/create-worker.test.ts',
      title: 'counts as dead a task whose last attempt it lost',
    },
  },
  {
    id: 'N179',
    what: 'Settings of a client are ignored for a local endpoint.',
    swaps: [
      {
        file: 'shared/dynamo/connect.ts',
        from: `      ...local,\n      ...clientConfig,\n`,
        to: `      ...clientConfig,\n      ...local,\n`,
      },
    ],
    killedBy: {
      test: 'test/unit/dynamo/connect.test.ts',
      title: 'says to an emulator what the settings of its client say',
    },
  },
  {
    id: 'N180',
    what: 'Each wait for a result leaves a timer.',
    swaps: [
      {
        file: 'shared/tasks/queue/results.ts',
        from: `    } finally {\n      cancel();\n    }\n  }\n\n  /** Reports tasks`,
        to: `    } finally {\n      void cancel;\n    }\n  }\n\n  /** Reports tasks`,
      },
    ],
    killedBy: { test: 'test/unit/tasks/task/results.test.ts', title: 'leaves no timer behind when its signal aborts' },
  },
];
