/** The numbers of the guide to limits agree with the code. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../support/documents.ts';

const UNITS: Readonly<Record<string, number>> = {
  KB: 1_024,
  MB: 1_024 ** 2,
  ms: 1,
  s: 1_000,
  minutes: 60_000,
  day: 86_400_000,
  days: 86_400_000,
};
/** The constant of each limit, and its file. */
const CONSTANTS: Readonly<Record<string, readonly [constant: string, file: string]>> = {
  'a name: queue, task, id, lock key, session, semaphore, tenant': [
    'NAME_LIMIT_BYTES',
    'shared/core/validate/options.ts',
  ],
  "a task's input in its row; a schedule's input": ['INPUT_LIMIT_BYTES', 'shared/tasks/task/task.ts'],
  "a task's `label`": ['LABEL_LIMIT_BYTES', 'shared/tasks/task/task-request.ts'],
  "a task's `traceparent`": ['TRACEPARENT_LIMIT_CHARACTERS', 'shared/tasks/task/task-request.ts'],
  'a cron expression': ['CRON_LIMIT_CHARACTERS', 'shared/tasks/schedule/cron-fields.ts'],
  "a schedule's zone": ['ZONE_LIMIT_CHARACTERS', 'shared/tasks/schedule/cron-fields.ts'],
  "the options of a schedule's tasks, as JSON": [
    'SCHEDULE_OPTIONS_LIMIT_CHARACTERS',
    'shared/tasks/schedule/schedule.ts',
  ],
  "a task's input in a second row": ['PAYLOAD_ROW_LIMIT_BYTES', 'shared/tasks/task/payload.ts'],
  "a task's input in your own store": ['PAYLOAD_LIMIT_BYTES', 'shared/tasks/task/payload.ts'],
  'nested lists and objects in an input, result or progress': ['JSON_DEPTH_LIMIT', 'shared/core/json.ts'],
  'the result of a task that is not durable': ['RESULT_LIMIT_BYTES', 'shared/tasks/task/task.ts'],
  'saved progress, and the results of all items of `task.each`': ['PROGRESS_LIMIT_BYTES', 'shared/tasks/task/task.ts'],
  'an error message that a task keeps': ['ERROR_MESSAGE_LIMIT_CHARACTERS', 'shared/tasks/task/task.ts'],
  "attempts in a task's history, in addition to the last": ['PAST_ATTEMPTS_KEPT', 'shared/tasks/task/task.ts'],
  'what a durable task, or a step or context of it, returns; an answer to a callback': [
    'ENTRY_LIMIT_BYTES',
    'shared/tasks/durable/asked-entries.ts',
  ],
  'the journal of a durable task': ['JOURNAL_LIMIT_BYTES', 'shared/tasks/durable/journal.ts'],
  "a lock's value": ['VALUE_LIMIT_BYTES', 'shared/coordination/lock/lock-record.ts'],
  'attempts of a task': ['MAX_ATTEMPTS_LIMIT', 'shared/tasks/task/bounds.ts'],
  'actions of the transaction with which a task ends or waits: its own, your writes, spawned tasks': [
    'TRANSACTION_ACTIONS_LIMIT',
    'shared/tasks/task/spawning.ts',
  ],
  'children of `waitFor`': ['CHILDREN_LIMIT', 'shared/tasks/task/batch.ts'],
  'children of a batch': ['BATCH_LIMIT', 'shared/tasks/queue/batch-request.ts'],
  'items of `task.each`': ['ITEMS_LIMIT', 'shared/tasks/run/each.ts'],
  'operations of a durable task': ['OPERATIONS_LIMIT', 'shared/tasks/durable/journal.ts'],
  'writes by `withStep` in one step': ['EFFECTS_LIMIT', 'shared/tasks/durable/asked-entries.ts'],
  'tasks of one key at a time': ['KEY_LIMIT_MAX', 'shared/tasks/task/key-limit.ts'],
  'paused tenants of a queue': ['MAX_PAUSED_TENANTS', 'shared/tasks/task/queue-store.ts'],
  'shards of a queue': ['MAX_SHARDS', 'shared/tasks/task/task.ts'],
  'tasks side by side in one worker': ['MAX_CONCURRENCY', 'shared/tasks/task/task.ts'],
  'workers of a queue': ['MAX_WORKERS_LIMIT', 'functions/env.ts'],
  'stacks whose queues are woken by the stream of one table (`wakeOnEnqueue`)': [
    'STREAM_READERS_LIMIT',
    'infra/table.ts',
  ],
  'settings of the queues that one waker serves': ['WAKE_QUEUES_LIMIT_CHARACTERS', 'infra/waker.ts'],
  'keys of one `lockAll`': ['KEYS_LIMIT', 'shared/coordination/lock/several-locks.ts'],
  'holders of a semaphore': ['HOLDERS_LIMIT', 'shared/coordination/semaphore/semaphore.ts'],
  "waiters in a fair semaphore's queue": ['WAITING_LIMIT', 'shared/coordination/semaphore/semaphore.ts'],
  "release marks in a semaphore's row": ['MARKS_LIMIT', 'shared/coordination/semaphore/semaphore.ts'],
  'due schedules of a queue that one tick serves': ['SCHEDULES_PER_TICK', 'shared/tasks/schedule/schedule.ts'],
  'missed runs of one schedule that one tick makes up for': [
    'OCCURRENCES_PER_TICK',
    'shared/tasks/schedule/schedule.ts',
  ],
  'the shortest TTL of a session': ['MIN_TTL_MS', 'shared/core/lease/timing.ts'],
  'the longest TTL of a session': ['MAX_TTL_MS', 'shared/core/lease/timing.ts'],
  'the longest lock-delay': ['MAX_LOCK_DELAY_MS', 'shared/core/lease/timing.ts'],
  'the shortest window of a rate per key': ['MIN_RATE_WINDOW_MS', 'shared/tasks/task/task-request.ts'],
  'the maximum age of a missed run that still becomes a task': ['HORIZON_MS', 'shared/tasks/schedule/schedule.ts'],
  'the longest lifetime of a Lambda worker': ['LAMBDA_MAX_TIMEOUT_MS', 'infra/validate.ts'],
  'the least time for work before the deadline margin': ['MIN_WORKING_TIME_MS', 'infra/validate.ts'],
};

/** `16 KB as JSON` is 16,384; a word that is not a unit counts ones. */
function numberIn(text: string): number {
  const [, digits = '', unit = ''] = /^([\d,]+)\s*(\w*)/.exec(text) ?? [];
  return Number(digits.replaceAll(',', '')) * (UNITS[unit] ?? 1);
}

/** Returns the value of a constant, exported or not: a product of numbers, and of constants in the same file. */
function valueOf(constant: string, file: string): number {
  const text = readFileSync(path.join(ROOT, file), 'utf8');
  const [, expression] = new RegExp(`const ${constant} = ([^;]+);`).exec(text) ?? [];
  if (expression === undefined) throw new Error(`${file} has no constant ${constant}`);
  return expression
    .split('*')
    .map((factor) => factor.trim())
    .map((factor) => (/^[\d_]+$/.test(factor) ? Number(factor.replaceAll('_', '')) : valueOf(factor, file)))
    .reduce((product, factor) => product * factor, 1);
}

describe('docs/limits.md', () => {
  const [ofConstants = ''] = readFileSync(path.join(ROOT, 'docs/limits.md'), 'utf8').split('## Throughput');
  const limits = Array.from(
    ofConstants.matchAll(/^\| (?!item |---)([^|]+) \| ([^|]+) \|$/gm),
    ([, what = '', limit = '']) => ({
      what,
      said: numberIn(limit),
    }),
  );

  test.each(limits)('says $said for $what', ({ what, said }) => {
    const [constant = '', file = ''] = CONSTANTS[what] ?? [];
    expect(said).toBe(valueOf(constant, file));
  });

  test('lists each limit that has a constant, and no other', () => {
    expect(limits.map(({ what }) => what)).toEqual(Object.keys(CONSTANTS));
  });
});
