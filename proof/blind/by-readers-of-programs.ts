/** Blind bugs in `cli`, `console`, `functions` and `infra`. No test found them at first. */
import type { BlindBug } from './bug.ts';

export const BY_READERS_OF_PROGRAMS: readonly BlindBug[] = [
  {
    id: 'N136',
    what: 'A list of names of exactly the limit is refused.',
    swaps: [
      {
        file: 'functions/env.ts',
        from: 'characters > TIMED_NAMES_LIMIT_CHARACTERS',
        to: 'characters >= TIMED_NAMES_LIMIT_CHARACTERS',
      },
    ],
    killedBy: { test: 'test/functions/env.test.ts', title: 'accepts names to time up to 2,000 characters of JSON' },
  },
  {
    id: 'N137',
    what: 'An invocation ends while its permit is still being released.',
    swaps: [
      {
        file: 'functions/work.ts',
        from: `await permit.permit\n          .release()`,
        to: `void permit.permit\n          .release()`,
      },
    ],
    killedBy: {
      test: 'test/functions/continuation.test.ts',
      title: 'has released its permit before it ends its session',
    },
  },
  {
    id: 'N138',
    what: 'A start that fails with HTTP 500 is not tried again.',
    swaps: [
      {
        file: 'functions/worker-invoker.ts',
        from: 'outcome.status === 429 || outcome.status >= 500',
        to: 'outcome.status === 429 || outcome.status > 500',
      },
    ],
    killedBy: { test: 'test/functions/worker-invoker.test.ts', title: 'tries again when Lambda is unwell (500)' },
  },
  {
    id: 'N139',
    what: 'A dispatcher defines its schedules again with each tick.',
    swaps: [
      {
        file: 'functions/dispatch.ts',
        from: `      isDefined = true;\n      return undefined;`,
        to: '      return undefined;',
      },
    ],
    killedBy: { test: 'test/functions/continuation.test.ts', title: `defines its stack's schedules` },
  },
  {
    id: 'N140',
    what: 'A wait below zero is written as a metric.',
    swaps: [
      {
        file: 'functions/task-times.ts',
        from: 'list.push(Math.max(0, Math.round(ms)))',
        to: 'list.push(Math.round(ms))',
      },
    ],
    killedBy: { test: 'test/functions/task-times.test.ts', title: 'records no time below zero' },
  },
  {
    id: 'N156',
    what: 'A key that is closed is not listed.',
    swaps: [
      {
        file: 'cli/commands/locks.ts',
        from: 'info.holder === undefined && info.closedUntil <= now && info.lockIndex > 0',
        to: 'info.holder === undefined && info.lockIndex > 0',
      },
    ],
    killedBy: { test: 'test/cli/operate.test.ts', title: 'with a lock-delay of 40s' },
  },
  {
    id: 'N157',
    what: 'Permits of dead sessions are counted below zero.',
    swaps: [
      {
        file: 'cli/commands/semaphores.ts',
        from: 'String(holders.length - live)',
        to: 'String(live - holders.length)',
      },
    ],
    killedBy: { test: 'test/cli/operate.test.ts', title: 'with a lock-delay of 0s' },
  },
  {
    id: 'N158',
    what: 'Thirty hours are shown as a day.',
    swaps: [{ file: 'cli/output.ts', from: 'return seconds < 172_800 ?', to: 'return seconds < 86_400 ?' }],
    killedBy: { test: 'test/unit/cli/output.test.ts', title: 'are shown as 48h' },
  },
  {
    id: 'N159',
    what: 'A lock that is not available ends the command with another exit code.',
    swaps: [
      {
        file: 'cli/exit.ts',
        from: 'LockUnavailableError) return { exitCode: EXIT.notAcquired',
        to: 'LockUnavailableError) return { exitCode: EXIT.refused',
      },
    ],
    killedBy: { test: 'test/unit/cli/output.test.ts', title: 'with exit code 75' },
  },
  {
    id: 'N160',
    what: 'A list of exactly the limit says that there are more.',
    swaps: [{ file: 'cli/listing.ts', from: 'if (taken.more)', to: 'if (taken.rows.length === limit)' }],
    killedBy: { test: 'test/unit/cli/output.test.ts', title: 'of 2 rows with a limit of two' },
  },
  {
    id: 'N161',
    what: 'A missing permission is reported as unknown.',
    swaps: [
      { file: 'cli/doctor/permissions.ts', from: `name === 'AccessDeniedException'`, to: `name === 'AccessDenied'` },
    ],
    killedBy: { test: 'test/cli/doctor.test.ts', title: 'fails by AccessDeniedException' },
  },
  {
    id: 'N162',
    what: 'A table whose setting is being changed counts as broken.',
    swaps: [
      {
        file: 'cli/doctor/table.ts',
        from: `TableStatus === 'ACTIVE' || TableStatus === 'UPDATING'`,
        to: `TableStatus === 'ACTIVE'`,
      },
    ],
    killedBy: { test: 'test/cli/doctor.test.ts', title: 'also while a setting is changed' },
  },
  {
    id: 'N163',
    what: 'The cause of an input that is not JSON is lost.',
    swaps: [
      {
        file: 'cli/arguments.ts',
        from: 'a text is given as \'"text"\'`, { cause });',
        to: 'a text is given as \'"text"\'`);',
      },
    ],
    killedBy: { test: 'test/unit/cli/output.test.ts', title: 'keeps the error of the parser' },
  },
  {
    id: 'N164',
    what: 'Help shows a default time without its unit.',
    swaps: [
      { file: 'cli/arguments.ts', from: 'option.default(defaultMs, span(defaultMs))', to: 'option.default(defaultMs)' },
    ],
    killedBy: { test: 'test/unit/cli/output.test.ts', title: 'help shows the default of a time' },
  },
  {
    id: 'N165',
    what: 'A confirmation is asked on a stream that nobody reads.',
    swaps: [{ file: 'cli/confirm.ts', from: 'if (!stdin.isTTY || !output.err.isTTY)', to: 'if (!stdin.isTTY)' }],
    killedBy: { test: 'test/unit/cli/output.test.ts', title: 'nothing is asked where nobody' },
  },
  {
    id: 'N166',
    what: '--shards is ignored.',
    swaps: [
      {
        file: 'cli/connection.ts',
        from: 'const ofItsShards = createStores(sender, { table, shards });',
        to: 'const ofItsShards = stores;',
      },
    ],
    killedBy: { test: 'test/cli/enqueue.test.ts', title: 'puts tasks into the shards that it is told of' },
  },
  {
    id: 'N167',
    what: 'Logs of production go with their stack.',
    swaps: [
      {
        file: 'infra/handler-function.ts',
        from: 'props.production ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY',
        to: 'props.production ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN',
      },
    ],
    killedBy: { test: 'test/infra/task-workers.test.ts', title: 'logs that go with the stack or stay' },
  },
  {
    id: 'N168',
    what: 'Functions trace before they may.',
    swaps: [{ file: 'infra/handler-function.ts', from: `    this.function.node.addDependency(policy);\n`, to: '' }],
    killedBy: { test: 'test/infra/task-workers.test.ts', title: 'trace only once they have the rights' },
  },
  {
    id: 'N169',
    what: 'A table that is to be removed with its stack cannot be.',
    swaps: [
      { file: 'infra/table.ts', from: 'production && removalPolicy !== RemovalPolicy.DESTROY', to: 'production' },
    ],
    killedBy: { test: 'test/infra/task-workers.test.ts', title: 'unless it is to be removed with its stack' },
  },
  {
    id: 'N170',
    what: 'A page is told each reading twice.',
    swaps: [
      { file: 'console/routes.ts', from: 'filter(({ at }) => at > sentAt)', to: 'filter(({ at }) => at >= sentAt)' },
    ],
    killedBy: { test: 'console/test/unit/acts.test.ts', title: 'tells a page each reading once' },
  },
  {
    id: 'N171',
    what: 'A task that the console adds for later begins at once.',
    swaps: [{ file: 'console/acts.ts', from: `        delayMs: optionalCount('delayMs', given.delayMs),\n`, to: '' }],
    killedBy: { test: 'console/test/unit/acts.test.ts', title: 'adds a task that runs later' },
  },
  {
    id: 'N172',
    what: 'The connection is closed under the last poll.',
    swaps: [
      {
        file: 'console/feed.ts',
        from: `    this.#stop();\n    await ended;`,
        to: `    this.#stop();\n    void ended;`,
      },
    ],
    killedBy: { test: 'console/test/unit/reads.test.ts', title: 'closing a feed waits for its last poll' },
  },
  {
    id: 'N173',
    what: 'Units of scans are not shown.',
    swaps: [
      {
        file: 'console/connection.ts',
        from: 'return this.#total.read().readUnits + this.#scanned;',
        to: 'return this.#total.read().readUnits;',
      },
    ],
    killedBy: { test: 'console/test/unit/reads.test.ts', title: 'the units shown are those of reads and of scans' },
  },
  {
    id: 'N181',
    what: 'The guard takes milliseconds for seconds.',
    swaps: [{ file: 'cli/run/guard.ts', from: 'Math.max(1, Math.ceil(ms / 1000))', to: 'Math.max(1, Math.ceil(ms))' }],
    killedBy: { test: 'test/unit/cli/rights.test.ts', title: 'as one in 29 s' },
  },
  {
    id: 'N182',
    what: 'The console remembers every browser that it ever let in.',
    swaps: [
      {
        file: 'console/gate.ts',
        from: 'if (this.#browsers.size > BROWSERS_LIMIT && first !== undefined) this.#browsers.delete(first);',
        to: 'void first;',
      },
    ],
    killedBy: { test: 'console/test/unit/gate.test.ts', title: 'remembers fifty browsers' },
  },
  {
    id: 'N183',
    what: 'Ended tasks are found by any part of their ids.',
    swaps: [
      {
        file: 'console/views/scan.ts',
        from: 'task.id.startsWith(id) &&',
        to: 'task.id.includes(id) &&',
      },
    ],
    killedBy: { test: 'console/test/unit/acts.test.ts', title: 'finds ended tasks by the beginning' },
  },
  {
    id: 'N189',
    what: 'Conflicts in a file of tasks leave the exit code at 0.',
    swaps: [
      {
        file: 'cli/commands/enqueue.ts',
        from: 'return conflicts.length > 0 ? EXIT.refused : EXIT.done;',
        to: 'return EXIT.done;',
      },
    ],
    killedBy: { test: 'test/unit/cli/printed.test.ts', title: 'what commands print about enqueue' },
  },
  {
    id: 'N190',
    what: 'An index that is changed or deleted is reported as fine.',
    swaps: [
      {
        file: 'cli/doctor/table.ts',
        from: "index.IndexStatus !== undefined && index.IndexStatus !== 'ACTIVE'",
        to: "index.IndexStatus === 'CREATING'",
      },
    ],
    killedBy: { test: 'test/unit/cli/doctor.test.ts', title: 'the table' },
  },
  {
    id: 'N191',
    what: 'The flow of a long queue counts tasks behind a page that was cut.',
    swaps: [
      {
        file: 'console/views/flow.ts',
        from: 'other.isMore ? (other.hints.at(-1)?.readyAt ?? -Infinity) : Infinity',
        to: 'Infinity',
      },
    ],
    killedBy: { test: 'console/test/unit/memory.test.ts', title: 'the flow counts' },
  },
  {
    id: 'N192',
    what: 'Sessions that ended in order are listed as lost.',
    swaps: [
      {
        file: 'console/views/session-book.ts',
        from: "if (session.reason === 'ended') return;",
        to: '',
      },
    ],
    killedBy: { test: 'console/test/unit/memory.test.ts', title: 'of sessions that have ended' },
  },
];
