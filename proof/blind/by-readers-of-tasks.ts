/** Blind bugs of a reader of tasks, functions, stack and command: what survived at first. */
import type { BlindBug } from './bug.ts';

export const BY_READERS_OF_TASKS: readonly BlindBug[] = [
  {
    id: 'N71',
    what: 'The tenth queue of a table makes an alarm that CloudWatch refuses.',
    swaps: [
      {
        file: 'infra/waker-alarms.ts',
        from: 'this.#queues.length < MAX_QUEUES_HEARD',
        to: 'this.#queues.length <= MAX_QUEUES_HEARD',
      },
    ],
    killedBy: { test: 'test/infra/alarms.full.test.ts', title: 'no alarm reads more metrics than CloudWatch allows' },
  },
  {
    id: 'N72',
    what: 'The topic of a second queue hears nothing of the waker.',
    swaps: [
      {
        file: 'infra/waker-alarms.ts',
        from: 'if (topic === undefined || this.#topics.has(topic)) return;',
        to: 'if (topic === undefined || this.#topics.size > 0) return;',
      },
    ],
    killedBy: {
      test: 'test/infra/alarms.full.test.ts',
      title: 'the alarms of the waker reach the topic of each queue',
    },
  },
  {
    id: 'N73',
    what: 'With a key of the customer, writes are refused.',
    swaps: [
      {
        file: 'infra/table.ts',
        from: "actions: ['kms:Decrypt', 'kms:DescribeKey', 'kms:Encrypt', 'kms:GenerateDataKey'],",
        to: "actions: ['kms:Decrypt', 'kms:DescribeKey', 'kms:Encrypt'],",
      },
    ],
    killedBy: { test: 'test/infra/task-workers.test.ts', title: 'gives every grantee the use of that key' },
  },
  {
    id: 'N74',
    what: 'The property removalPolicy is ignored.',
    swaps: [
      {
        file: 'infra/task-workers.ts',
        from: '...(props.removalPolicy === undefined ? {} : { removalPolicy: props.removalPolicy }),',
        to: '',
      },
    ],
    killedBy: { test: 'test/infra/every-prop.test.ts', title: 'removalPolicy' },
  },
  {
    id: 'N75',
    what: 'A variable that is added later may name another table.',
    swaps: [
      {
        file: 'infra/task-workers.ts',
        from: `    validateEnvironment({ [name]: value });
`,
        to: '',
      },
    ],
    killedBy: { test: 'test/infra/task-workers.test.ts', title: 'never one of ours' },
  },
  {
    id: 'N76',
    what: 'The dashboard does not show the alarms of the waker.',
    swaps: [
      {
        file: 'infra/task-workers.ts',
        from: 'alarms: [...(this.alarms?.all ?? []), ...(this.waker?.alarms ?? [])],',
        to: 'alarms: [...(this.alarms?.all ?? [])],',
      },
    ],
    killedBy: { test: 'test/infra/alarms.full.test.ts', title: 'the dashboard of a queue shows each of its alarms' },
  },
  {
    id: 'N77',
    what: 'Each invocation leaves a listener of the process.',
    swaps: [
      {
        file: 'functions/worker-metrics.ts',
        from: `    process.off('exit', this.#write);
`,
        to: '',
      },
    ],
    killedBy: { test: 'test/functions/urgent-metrics.test.ts', title: 'leave no listener of the process' },
  },
  {
    id: 'N78',
    what: 'With a short lock-delay a program still runs while another holds the lock.',
    swaps: [
      {
        file: 'cli/commands/run.ts',
        from: 'return grace ?? Math.min(DEFAULT_GRACE_MS, lockDelay);',
        to: 'return grace ?? DEFAULT_GRACE_MS;',
      },
    ],
    killedBy: { test: 'test/unit/cli/rights.test.ts', title: 'no longer than the lock-delay' },
  },
  {
    id: 'N79',
    what: 'Each of several leases is waited for as long as all may take.',
    swaps: [
      {
        file: 'cli/run/rights.ts',
        from: 'waitMs: Math.max(0, deadline - clock.monotonic()), signal',
        to: 'waitMs, signal',
      },
    ],
    killedBy: { test: 'test/unit/cli/rights.test.ts', title: 'each lease is waited for' },
  },
  {
    id: 'N80',
    what: 'A mapping that is being updated is reported as broken.',
    swaps: [
      {
        file: 'cli/doctor/readers.ts',
        from: "['Enabled', 'Enabling', 'Creating', 'Updating']",
        to: "['Enabled', 'Enabling', 'Creating']",
      },
    ],
    killedBy: { test: 'test/cli/doctor-readers.test.ts', title: 'whose mapping is Updating' },
  },
  {
    id: 'N81',
    what: 'A failure is printed with the error of an earlier attempt.',
    swaps: [
      {
        file: 'cli/attempts/attempt-lines.ts',
        from: `    this.#startedAt.delete(task.id);
    this.#thrown.delete(task.id);
`,
        to: `    this.#startedAt.delete(task.id);
`,
      },
    ],
    killedBy: { test: 'test/unit/cli/attempt-lines.test.ts', title: 'with its own error only' },
  },
  {
    id: 'N82',
    what: 'The option --max-clock-skew is ignored by cancelling a task.',
    swaps: [
      {
        file: 'cli/connection.ts',
        from: '{ queue, maxClockSkewMs: maxClockSkew }',
        to: '{ queue }',
      },
    ],
    killedBy: { test: 'test/cli/operate.test.ts', title: 'by the bound on clocks that is given' },
  },
  {
    id: 'N83',
    what: 'A listing that is cut short looks complete.',
    swaps: [
      {
        file: 'cli/queue/scanned-tasks.ts',
        from: `      onCut(Math.ceil(units));
`,
        to: '',
      },
    ],
    killedBy: { test: 'test/unit/cli/scanned-tasks.test.ts', title: 'reads fewer, and says so' },
  },
  {
    id: 'N84',
    what: 'An act that was done is reported as failed.',
    swaps: [
      {
        file: 'shared/operate/audit/audit-store.ts',
        from: 'await this.#sender.write(endAct(this.#table, act, outcome, nonce), nonce).catch(() => undefined);',
        to: 'await this.#sender.write(endAct(this.#table, act, outcome, nonce), nonce);',
      },
    ],
    killedBy: { test: 'test/unit/operate/operations.test.ts', title: 'although its outcome could not be written down' },
  },
  {
    id: 'N85',
    what: "A restored table gives the tokens of workers' permits twice.",
    swaps: [
      {
        file: 'shared/operate/epoch/epoch-statements.ts',
        from: `  permits: [SEMAPHORE],
`,
        to: '',
      },
    ],
    killedBy: { test: 'test/unit/operate/counting-rows.test.ts', title: 'is raised by its counter' },
  },
  {
    id: 'N86',
    what: 'The mean time of tasks grows with every note of it.',
    swaps: [
      {
        file: 'shared/tasks/worker/planning-hints.ts',
        from: `    this.#count = 0;
    this.#sumMs = 0;
`,
        to: `    this.#count = 0;
`,
      },
    ],
    killedBy: { test: 'test/unit/tasks/worker/planning-hints.test.ts', title: 'a later mean is that of later tasks' },
  },
  {
    id: 'N87',
    what: 'The wait for a solo turn doubles for as long as a worker lives.',
    swaps: [
      {
        file: 'shared/tasks/worker/solo-gate.ts',
        from: `    if (this.#inside === 0) {
      this.#waitMs = FIRST_WAIT_MS;
`,
        to: `    if (this.#inside === 0) {
`,
      },
    ],
    killedBy: { test: 'test/unit/tasks/worker/solo-gate.test.ts', title: 'and eventually the solo task' },
  },
  {
    id: 'N89',
    what: 'A schedule that was removed while paused says so when it is defined as new.',
    swaps: [
      {
        file: 'shared/tasks/rows/schedule-statements.ts',
        from: "['#lastAt', '#leftOut', '#pausedAt']",
        to: "['#lastAt', '#leftOut']",
      },
    ],
    killedBy: { test: 'test/conformance/task/schedules.test.ts', title: 'is active if it was paused before' },
  },
  {
    id: 'N90',
    what: 'A bucket that does not answer holds a finished task for a minute.',
    swaps: [
      {
        file: 'shared/tasks/s3/payloads.ts',
        from: 'await client.send(object, signal === undefined ? bounds : { ...bounds, abortSignal: signal });',
        to: 'await client.send(object, signal === undefined ? {} : { abortSignal: signal });',
      },
    ],
    killedBy: { test: 'test/unit/tasks/s3/payloads.test.ts', title: 'removes with little patience' },
  },
  {
    id: 'N91',
    what: 'The engine in memory refuses clients that write null for what is absent.',
    swaps: [
      {
        file: 'local/engine/memory-requests.ts',
        from: `  for (const name of Object.keys(decoded)) if (decoded[name] === null) Reflect.deleteProperty(decoded, name);
`,
        to: '',
      },
    ],
    killedBy: { test: 'test/unit/local/memory-requests.test.ts', title: 'query' },
  },
  {
    id: 'N92',
    what: 'The twin of a short period comes after the next slot.',
    swaps: [
      {
        file: 'local/schedule.ts',
        from: 'return [0, isConcurrent ? 0 : Math.ceil(random.next() * Math.min(everyMs / 2, TWIN_WITHIN_MS))];',
        to: 'return [0, isConcurrent ? 0 : Math.ceil(random.next() * TWIN_WITHIN_MS)];',
      },
    ],
    killedBy: { test: 'test/unit/local/schedule.test.ts', title: 'long before the next slot' },
  },
  {
    id: 'N130',
    what: '`tasks retry --all --limit` retries all.',
    swaps: [
      {
        file: 'cli/commands/task-acts.ts',
        from: 'const input = { queue, name: wanted, fault, limit };',
        to: 'const input = { queue, name: wanted, fault };',
      },
      {
        file: 'cli/commands/task-acts.ts',
        from: 'const { name: wanted, error: fault, limit, queue } = options;',
        to: 'const { name: wanted, error: fault, queue } = options;',
      },
    ],
    killedBy: { test: 'test/cli/tasks.test.ts', title: 'those that each option leaves' },
  },
  {
    id: 'N131',
    what: '`doctor` calls a clock good enough that no process may take over with.',
    swaps: [
      {
        file: 'cli/doctor/examine.ts',
        from: 'provenMs > maxClockSkewMs / 2 ? broken',
        to: 'provenMs > maxClockSkewMs ? broken',
      },
    ],
    killedBy: { test: 'test/cli/doctor.test.ts', title: 'judges a clock that is 501 ms off' },
  },
  {
    id: 'N132',
    what: '`keys recount` reads only the usual number of shards.',
    swaps: [
      {
        file: 'cli/commands/keys.ts',
        from: "execute('key.recount', { queue, key, shards }, operatorOf(options))",
        to: "execute('key.recount', { queue, key }, operatorOf(options))",
      },
    ],
    killedBy: { test: 'test/cli/keys.test.ts', title: 'in every shard that it is told of' },
  },
  {
    id: 'N184',
    what: 'If the next task of a line may not be tried when one has ended, the worker polls only when it would have done so anyway.',
    swaps: [{ file: 'shared/tasks/picker/direct-candidates.ts', from: 'if (found.length === 0) onMissed();', to: '' }],
    killedBy: {
      test: 'test/unit/tasks/picker/line-turns.test.ts',
      title: 'polls again if the next task of a line may not be tried',
    },
  },
  {
    id: 'N185',
    what: "Each tenant's part of a line starts a worker.",
    swaps: [
      {
        file: 'shared/tasks/dispatch/measure.ts',
        from: 'if (limit === undefined) return firsts.has(line);',
        to: 'if (limit === undefined) return true;',
      },
      { file: 'shared/tasks/dispatch/planning.ts', from: 'await readTurns(sample, ports)', to: 'new Map()' },
    ],
    killedBy: {
      test: 'test/unit/tasks/dispatch/measure.test.ts',
      title: 'a line counts as one task, whatever its tenants',
    },
  },
  {
    id: 'N186',
    what: 'No worker is started for a line whose next task was cancelled before its turn.',
    swaps: [
      {
        file: 'shared/tasks/dispatch/demand.ts',
        from: "  if (row.state === 'cancelled' && row.isInLine) return 'free';\n",
        to: '',
      },
    ],
    killedBy: {
      test: 'test/unit/tasks/dispatch/measure.test.ts',
      title: 'a line counts if a worker must pass the turn of a cancelled task',
    },
  },
  {
    id: 'N187',
    what: 'Ordered tasks behind others of their line raise the alarm of the oldest ready task.',
    swaps: [
      {
        file: 'shared/tasks/dispatch/oldest-ready.ts',
        from: 'waiting.filter((task) => !isBehind(task, turns))',
        to: 'waiting',
      },
    ],
    killedBy: {
      test: 'test/unit/tasks/dispatch/oldest-ready.test.ts',
      title: 'leaves out tasks behind others in their line',
    },
  },
  {
    id: 'N188',
    what: 'A cancelled task of next week stops its line until then.',
    swaps: [
      {
        file: 'shared/tasks/rows/task/operator-statements.ts',
        from: 'const readyAt = Math.min(observed.readyAt, now);',
        to: 'const { readyAt } = observed;',
      },
    ],
    killedBy: {
      test: 'test/conformance/task/lines.test.ts',
      title: 'keeps the place of a task that was cancelled before its turn, until its turn has been passed',
    },
  },
];
