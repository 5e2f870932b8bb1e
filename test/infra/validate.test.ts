import { CfnParameter, Duration, RemovalPolicy } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Table } from 'aws-cdk-lib/aws-dynamodb';
import { AccountPrincipal, Role } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { ScheduleExpression } from 'aws-cdk-lib/aws-scheduler';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ENV, parseDispatchEnv, parseWakeEnv, parseWorkEnv } from '../../functions/env.ts';
import { dispatcherEnvironment } from '../../infra/dispatcher.ts';
import { bundlingWith } from '../../infra/handler-function.ts';
import { CoordinationTable } from '../../infra/table.ts';
import type { TaskWorkersProps } from '../../infra/task-workers-props.ts';
import { TaskWorkers } from '../../infra/task-workers.ts';
import type { WorkerSettings } from '../../infra/validate.ts';
import { periodMs, validateWorkers } from '../../infra/validate.ts';
import { wakeSettings } from '../../infra/waker.ts';
import { workerEnvironment } from '../../infra/worker.ts';
import { ConfigurationError } from '../../shared/core/errors.ts';
import { ENTRY, newStack } from './synthesize.ts';

/** One broken setting, or pair, and its error message. */
const REFUSED: readonly [Partial<TaskWorkersProps>, string][] = [
  [{ entry: 'no/such/tasks.ts' }, 'entry = "no/such/tasks.ts" is not a file: pass the module that exports your tasks'],
  [
    { queue: 'q'.repeat(65) },
    `queue = "${'q'.repeat(65)}" has 65 characters: must be 1 to 64 letters, digits, dots, dashes or underscores, a letter or digit first`,
  ],
  [
    { queue: 'all#*' },
    'queue = "all#*" has 5 characters: must be 1 to 64 letters, digits, dots, dashes or underscores, a letter or digit first',
  ],
  [{ queue: 'schedule' }, 'queue = "schedule" is reserved for recurring tasks: use another name'],
  [
    { queue: '' },
    'queue = "" has 0 characters: must be 1 to 64 letters, digits, dots, dashes or underscores, a letter or digit first',
  ],
  [
    { schedule: { expressionString: 'every(1 minute)' } },
    'schedule = "every(1 minute)" is unknown: must be a rate such as rate(1 minute), or a cron expression of six fields',
  ],
  [
    { schedule: { expressionString: 'rate(0 minutes)' } },
    'schedule = "rate(0 minutes)" is unknown: must be a rate such as rate(1 minute), or a cron expression of six fields',
  ],
  [
    { schedule: { expressionString: 'cron(* * * * *)' } },
    'schedule = "cron(* * * * *)" is unknown: must be a rate such as rate(1 minute), or a cron expression of six fields',
  ],
  [
    { schedule: ScheduleExpression.at(new Date('2030-01-01T00:00:00Z')) },
    'schedule = "at(2030-01-01T00:00:00)" is unknown: must be a rate such as rate(1 minute), or a cron expression of six fields',
  ],
  [
    { bundling: { minify: false } as never },
    'the prop bundling: unknown option "minify": known are externalModules, nodeModules, loader, define, commandHooks',
  ],
  [{ maxWorkers: 0 }, 'maxWorkers = 0: must be a whole number from 1 to 1000'],
  [{ maxWorkers: 2.5 }, 'maxWorkers = 2.5: must be a whole number from 1 to 1000'],
  [{ concurrency: 0 }, 'concurrency = 0: must be a whole number from 1 to 1000'],
  [{ concurrency: NaN }, 'concurrency = NaN: must be a whole number from 1 to 1000'],
  [{ startWithin: Duration.minutes(16) }, 'startWithin in ms = 960000: must be a whole number from 0 to 900000'],
  [{ shards: 257 }, 'shards = 257: must be a whole number from 1 to 256'],
  [{ workerMemory: 64 }, 'workerMemory = 64: must be a whole number from 128 to 10240'],
  [{ lockDelay: Duration.seconds(61) }, 'lockDelay = 61000 ms is above 60000: must be 0 to 60 seconds'],
  [
    { workerTimeout: Duration.seconds(12), sessionTtl: Duration.seconds(10) },
    'workerTimeout = 12 s leaves less than 5 s for work before deadlineMargin = 10 s: raise workerTimeout or lower deadlineMargin',
  ],
  [{ sessionTtl: Duration.days(3) }, 'sessionTtl = 259200 s: must be 0.3 s to a day'],
  [{ sessionTtl: Duration.millis(299) }, 'sessionTtl = 0.299 s: must be 0.3 s to a day'],
  [{ workerTimeout: Duration.millis(60_500) }, 'workerTimeout = 60.5 s: Lambda takes whole seconds'],
  [{ workerTimeout: Duration.minutes(16) }, 'workerTimeout = 960 s: Lambda allows 900 s at most'],
  [
    { workerTimeout: Duration.seconds(29) },
    'sessionTtl = 30 s is longer than workerTimeout = 29 s: tasks of a crashed worker would wait longer than any worker lives; lower sessionTtl',
  ],
  [
    { linger: Duration.seconds(51), workerTimeout: Duration.minutes(1) },
    'linger = 51 s is longer than workerTimeout = 60 s less deadlineMargin = 10 s: no worker stays so long; lower linger',
  ],
  [
    { maxClockSkew: Duration.seconds(31) },
    'maxClockSkew = 31 s is longer than sessionTtl = 30 s: takeovers would wait mostly for clocks; correct the clocks or raise sessionTtl',
  ],
  [
    { runbooks: 'docs/operating.md' },
    'runbooks = "docs/operating.md": pass the address of your copy of docs/operating.md, such as https://wiki.example/operating',
  ],
  [
    { alarms: false, runbooks: 'https://wiki.example/operating' },
    'alarms = false and runbooks are both given: no alarm uses it; leave one of them out',
  ],
  [
    { alarms: false, alarmTopic: {} as ITopic },
    'alarms = false and alarmTopic are both given: no alarm uses it; leave one of them out',
  ],
  [{ attemptSpans: 'links' as 'link' }, 'attemptSpans = "links": must be one of parent, link'],
  [
    { environment: { LEASEHOLD_TABLE: 'other' } },
    'environment sets LEASEHOLD_TABLE: names that begin with LEASEHOLD_ are set from the other properties',
  ],
];

describe('TaskWorkers refuses', () => {
  test.each(REFUSED.map(([props, message]) => ({ props, message })))('$message', ({ props, message }) => {
    const stack = newStack();

    expect(() => new TaskWorkers(stack, 'Media', { entry: ENTRY, ...props })).toThrow(new ConfigurationError(message));
  });

  test('the deletion of a production table', () => {
    const props = { production: true, removalPolicy: RemovalPolicy.DESTROY };

    expect(() => new CoordinationTable(newStack(), 'Leases', props)).toThrow(
      'production = true and removalPolicy = destroy are both given',
    );
  });

  test('a second set of workers for the same queue of one table', () => {
    const stack = newStack();
    const table = new CoordinationTable(stack, 'Shared');
    new TaskWorkers(stack, 'First', { entry: ENTRY, table, queue: 'media' });

    expect(() => new TaskWorkers(stack, 'Second', { entry: ENTRY, table, queue: 'media' })).toThrow(
      'queue = "media" is served by other workers of this table: use a different name for each',
    );
  });
});

describe('settings that pass', () => {
  test.each<Partial<TaskWorkersProps>>([
    { workerTimeout: Duration.seconds(30), sessionTtl: Duration.seconds(30) },
    { workerTimeout: Duration.seconds(15), sessionTtl: Duration.seconds(15), deadlineMargin: Duration.seconds(10) },
    { workerTimeout: Duration.seconds(900), linger: Duration.seconds(890) },
    { maxClockSkew: Duration.seconds(30) },
    { lockDelay: Duration.seconds(60) },
    { queue: 'q'.repeat(64) },
  ])('at their bounds: %o', (props) => {
    expect(() => new TaskWorkers(newStack(), 'Media', { entry: ENTRY, ...props })).not.toThrow();
  });

  const whole = (max: number): fc.Arbitrary<number> => fc.integer({ min: -1, max });
  const settings: fc.Arbitrary<WorkerSettings> = fc.record({
    entry: fc.constant(ENTRY),
    queue: fc.oneof(fc.constant('media'), fc.string()),
    schedule: fc.constantFrom('rate(1 minute)', 'rate(2 hours)', 'cron(0 3 * * ? *)', 'never'),
    maxWorkers: whole(1_100),
    startWithinMs: whole(900_000),
    concurrency: whole(1_100),
    shards: whole(300),
    sessionTtlMs: whole(120_000),
    heartbeatMs: whole(60_000),
    lockDelayMs: whole(70_000),
    maxClockSkewMs: whole(40_000),
    workerTimeoutMs: fc.integer({ min: 0, max: 1_000 }).map((seconds) => seconds * 1_000),
    deadlineMarginMs: whole(60_000),
    workerMemoryMb: fc.constant(512),
    continuation: fc.boolean(),
    attemptSpans: fc.constantFrom('parent', 'link'),
    logEnds: fc.boolean(),
    codeVersion: fc.constantFrom(undefined, 'a1b2c3'),
    timedNames: fc.array(fc.string(), { maxLength: 3 }),
    tracing: fc.constant(undefined),
    environment: fc.constant({}),
    schedules: fc.constant([]),
    listFinished: fc.constant(undefined),
    lingerMs: fc.nat({ max: 5_000 }),
  });

  test('can be parsed by the handlers, and hold no unsafe pair', () => {
    let passed = 0;
    const check = fc.property(settings, (given) => {
      try {
        validateWorkers(given);
      } catch (error) {
        expect(error).toBeInstanceOf(ConfigurationError);
        return;
      }
      passed++;
      const work = parseWorkEnv(workerEnvironment(given, 'table'));
      const dispatch = parseDispatchEnv(dispatcherEnvironment(given, 'table', 'worker'));
      const waker = parseWakeEnv({
        [ENV.table]: 'table',
        [ENV.wakeQueues]: JSON.stringify([wakeSettings(given, 'worker')]),
      });
      expect(waker.queues).toEqual([dispatch]);
      expect(work.timing).toMatchObject({ ttlMs: given.sessionTtlMs, heartbeatMs: given.heartbeatMs });
      expect(work.timing.heartbeatMs * 3).toBeLessThanOrEqual(given.sessionTtlMs);
      expect(given.sessionTtlMs).toBeLessThanOrEqual(given.workerTimeoutMs);
      expect(work.deadlineMarginMs).toBeLessThan(given.workerTimeoutMs);
      expect(dispatch.maxWorkers).toBe(work.maxWorkers);
      expect(dispatch.shards).toBe(work.shards);
      expect(dispatch.concurrency).toBe(work.concurrency);
    });

    fc.assert(check, { numRuns: 10_000, seed: 20_260_801 });
    expect(passed).toBeGreaterThan(100);
  });
});

describe('periodMs', () => {
  test.each([
    ['rate(1 minute)', 60_000],
    ['rate(12 hours)', 43_200_000],
    ['rate(2 days)', 172_800_000],
    ['cron(0 3 * * ? *)', undefined],
    ['cron(* * * * ? *)', 60_000],
    ['cron(0/5 * ? * * *)', 300_000],
    ['cron(*/7 * * * ? *)', undefined],
    ['cron(*/5 3 * * ? *)', undefined],
    ['cron(0/0 * * * ? *)', undefined],
  ])('reads %s', (expression, expected) => {
    expect(periodMs(expression)).toBe(expected);
  });
});

test.each([
  ['maxWorkers', (later: number) => ({ maxWorkers: later })],
  ['concurrency', (later: number) => ({ concurrency: later })],
  ['shards', (later: number) => ({ shards: later })],
  ['workerMemory', (later: number) => ({ workerMemory: later })],
])('%s of a parameter of the stack is refused in words', (what, props) => {
  const stack = newStack();
  const later = new CfnParameter(stack, 'Later', { type: 'Number' }).valueAsNumber;

  expect(() => new TaskWorkers(stack, 'Media', { entry: ENTRY, ...props(later) })).toThrow(
    `${what} is known only at deployment, and is compared at synthesis: give a number`,
  );
});

test('a queue of a parameter of the stack is refused in words', () => {
  const stack = newStack();
  const queue = new CfnParameter(stack, 'Later').valueAsString;

  expect(() => new TaskWorkers(stack, 'Media', { entry: ENTRY, queue })).toThrow('queue is known only at deployment');
});

test('an option of an adopted table that is misspelt is refused', () => {
  const stack = newStack();
  const table = Table.fromTableName(stack, 'Existing', 'leases');

  expect(() =>
    CoordinationTable.fromTable(stack, 'Leases', table, { encryptionkey: undefined, key: 1 } as never),
  ).toThrow('the options of fromTable: unknown option "key"');
});

test('the functions of an adopted table may use its key', () => {
  const stack = newStack();
  const encryptionKey = Key.fromKeyArn(stack, 'Key', 'arn:aws:kms:eu-west-1:123456789012:key/one');
  const table = Table.fromTableName(stack, 'Existing', 'leases');

  const role = new Role(stack, 'Role', { assumedBy: new AccountPrincipal('123456789012') });

  CoordinationTable.fromTable(stack, 'Leases', table, { encryptionKey }).grantCoordinate(role);

  expect(JSON.stringify(Template.fromStack(stack).findResources('AWS::IAM::Policy'))).toContain(encryptionKey.keyArn);
});

test('what a stack gives for bundling is added to what our functions need', () => {
  const afterBundling = () => ['cp a b'];
  const { externalModules, commandHooks, banner } = bundlingWith({
    externalModules: ['sharp'],
    commandHooks: { afterBundling } as never,
  });

  expect(externalModules).toEqual(['@aws-sdk/client-dynamodb', '@aws-sdk/client-lambda', 'sharp']);
  expect(commandHooks?.beforeBundling('in', 'out')).toEqual([]);
  expect(commandHooks?.afterBundling('in', 'out')).toEqual([expect.stringContaining('index.mjs.map'), 'cp a b']);
  expect(banner).toContain('createRequire');
});
