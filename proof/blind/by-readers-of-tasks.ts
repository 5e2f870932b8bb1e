/** Blind bugs of a reader of tasks, functions, stack and command: what survived at first. */
import type { BlindBug } from './bug.ts';

export const BY_READERS_OF_TASKS: readonly BlindBug[] = [
  {
    id: 'N72',
    what: 'The topic of a second queue hears nothing of the waker.',
    file: 'infra/waker-alarms.ts',
    from: 'if (topic === undefined || this.#topics.has(topic)) return;',
    to: 'if (topic === undefined || this.#topics.size > 0) return;',
    test: 'test/infra/alarms.full.test.ts',
    title: 'the alarms of the waker reach the topic of each queue',
  },
  {
    id: 'N75',
    what: 'A variable that is added later may name another table.',
    file: 'infra/task-workers.ts',
    from: `    validateEnvironment({ [name]: value });
`,
    to: '',
    test: 'test/infra/task-workers.test.ts',
    title: 'never one of ours',
  },
  {
    id: 'N79',
    what: 'Each of several leases is waited for as long as all may take.',
    file: 'cli/run/rights.ts',
    from: 'waitMs: Math.max(0, deadline - clock.monotonic()), signal',
    to: 'waitMs, signal',
    test: 'test/unit/cli/rights.test.ts',
    title: 'each lease is waited for',
  },
  {
    id: 'N84',
    what: 'An act that was done is reported as failed.',
    file: 'shared/operate/audit/audit-store.ts',
    from: 'await this.#sender.write(endAct(this.#table, act, outcome, nonce), nonce).catch(() => undefined);',
    to: 'await this.#sender.write(endAct(this.#table, act, outcome, nonce), nonce);',
    test: 'test/unit/operate/operations.test.ts',
    title: 'although its outcome could not be written down',
  },
  {
    id: 'N90',
    what: 'A bucket that does not answer holds a finished task for a minute.',
    file: 'shared/tasks/s3/payloads.ts',
    from: 'await client.send(object, signal === undefined ? bounds : { ...bounds, abortSignal: signal });',
    to: 'await client.send(object, signal === undefined ? {} : { abortSignal: signal });',
    test: 'test/unit/tasks/s3/payloads.test.ts',
    title: 'removes with little patience',
  },
  {
    id: 'N130',
    what: '`tasks retry --all --limit` retries all.',
    file: 'cli/commands/task-acts.ts',
    from: 'const input = { queue, name: wanted, fault, limit };',
    to: 'const input = { queue, name: wanted, fault };',
    also: [
      {
        file: 'cli/commands/task-acts.ts',
        from: 'const { name: wanted, error: fault, limit, queue } = options;',
        to: 'const { name: wanted, error: fault, queue } = options;',
      },
    ],
    test: 'test/cli/tasks.test.ts',
    title: 'those that each option leaves',
  },
  {
    id: 'N185',
    what: "Each tenant's part of a line starts a worker.",
    file: 'shared/tasks/dispatch/measure.ts',
    from: 'if (limit === undefined) return firsts.has(line);',
    to: 'if (limit === undefined) return true;',
    also: [{ file: 'shared/tasks/dispatch/planning.ts', from: 'await readTurns(sample, ports)', to: 'new Map()' }],
    test: 'test/unit/tasks/dispatch/measure.test.ts',
    title: 'a line counts as one task, whatever its tenants',
  },
];
