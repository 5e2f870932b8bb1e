/**
 * All that a worker prints of attempts, on a terminal and elsewhere: events and records in the order in which they come.
 */
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { attemptLines } from '../../../../cli/attempts/attempt-lines.ts';
import { Output } from '../../../../cli/output.ts';
import type { Thrown } from '../../../../shared/tasks/run/thrown.ts';
import { defineTask, registerTasks } from '../../../../shared/tasks/task/definition.ts';
import { runInTaskScope } from '../../../../shared/tasks/task/task-scope.ts';
import type { RunningTask } from '../../../../shared/tasks/task/task.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

type Lines = ReturnType<typeof attemptLines>;
type Deed = (lines: Lines, clock: ManualClock) => unknown;

const own = path.resolve('src/tasks.ts');
const stackOf = (name: string, message: string, ...frames: readonly string[]): string =>
  [`${name}: ${message}`, ...frames.map((frame) => `    at ${frame}`)].join('\n');
const [library, inner] = ['ms (/app/node_modules/ms/index.js:1:2)', 'listOnTimeout (node:internal/timers:605:17)'];

const thrown: Thrown = {
  name: 'RangeError',
  message: 'too far\nby a mile',
  stack: stackOf('RangeError', 'too far\nby a mile', `run (${own}:7:42)`, library, inner, `main (${own}:1:1)`),
  cause: {
    name: 'E\u001b[31m',
    message: 'no frame',
    stack: stackOf('E', 'no frame', library, library),
    cause: { name: 'Bare', message: 'without a stack' },
  },
};

const LIKE_FRAMES = 'it said\n    at fake (/no/frame.ts:1:1)';

const made = (changes: Partial<RunningTask>): RunningTask =>
  ({ id: 'a', name: 'resize', queue: 'default', attempts: 1, ...changes }) as RunningTask;
const claimed =
  (task: RunningTask): Deed =>
  (lines) =>
    lines.events.onClaimed?.(task, { takenOver: false });
const settled =
  (task: RunningTask, how: Parameters<NonNullable<Lines['events']['onSettled']>>[1]): Deed =>
  (lines) =>
    lines.events.onSettled?.(task, how);
const died =
  (task: RunningTask): Deed =>
  (lines) =>
    lines.events.onDied?.(task, { name: 'WorkerDied', message: 'its worker died', at: 0 });
const passes =
  (ms: number): Deed =>
  (_, clock) =>
    clock.advance(ms);
const logs =
  (level: 'debug' | 'error' | 'info' | 'warn', message: string, ...fields: readonly object[]): Deed =>
  ({ log }) =>
    log[level](message, ...(fields as []));
const fails = (task: string, facts: object = {}) =>
  logs('warn', 'task attempt failed', { task, name: 'resize', attempt: 3, error: thrown, ...facts });
const inTask =
  (id: string, deed: Deed): Deed =>
  (lines, clock) =>
    runInTaskScope({ id, name: 'resize' }, () => deed(lines, clock));

const a = made({});
const long = made({ id: '01J0ABCDEFGHJKMN', attempts: 2, queue: 'mail box', name: 'unknown' });

const SCENES: Readonly<Record<string, readonly Deed[]>> = {
  'each end': (['done', 'released', 'snoozed', 'cancelled', 'lost', 'unsettled', 'retried', 'dead'] as const).flatMap(
    (how) => [claimed(a), passes(12), settled(a, how)],
  ),
  'long ones': [claimed(a), passes(999), settled(a, 'done'), claimed(a), passes(1_000), settled(a, 'done')],
  'an attempt that fails': [claimed(a), passes(5), fails('a'), settled(a, 'retried')],
  'the last one': [
    claimed(a),
    fails('a'),
    logs('error', 'task is dead', { task: 'a', error: thrown }),
    settled(a, 'dead'),
  ],
  'two at once': [
    claimed(a),
    passes(10),
    claimed(long),
    passes(10),
    fails('a'),
    settled(long, 'retried'),
    settled(a, 'retried'),
  ],
  'nothing is kept of one that has ended': [
    claimed(a),
    fails('a'),
    settled(a, 'done'),
    fails('a', { then: 'dead' }),
    settled(a, 'dead'),
    logs('error', 'task is dead', { task: 'a', error: thrown }),
  ],
  'a message that looks like frames': [
    claimed(a),
    fails('a', { error: { name: 'E', message: LIKE_FRAMES, stack: stackOf('E', LIKE_FRAMES, `run (${own}:7:42)`) } }),
    settled(a, 'retried'),
  ],
  'one that is run by hand': [fails('by-hand'), fails('again', { then: 'dead', name: undefined })],
  'one whose workers died': [died(a), died(long)],
  'of a queue, with odd ids': [
    settled(made({ queue: 'mail' }), 'dead'),
    settled(made({ id: "it's", queue: 'a b' }), 'dead'),
    settled(made({ id: 'a\u001b[2J' }), 'done'),
    settled(made({ name: 'once' }), 'retried'),
    settled(made({ policy: { maxAttempts: 7 } }), 'retried'),
  ],
  'records of each level': [
    ...(['debug', 'info', 'warn', 'error'] as const).map((level) => logs(level, `a ${level}`)),
    logs('info', 'with fields', { a: 1, task: 'a' }, { b: 'two' }),
    logs('warn', 'task attempt failed', { task: 7 }),
    logs('info', 'steering \u001b[2J'),
  ],
  'records of task code': [
    inTask('a', logs('info', 'hello', { time: 1, queue: 'q', task: 'a', name: 'n', attempt: 2, mine: 3 })),
    inTask('a', logs('info', 'of another', { task: 'b', name: 'n', mine: 3 })),
    inTask('a', logs('info', 'without fields')),
    inTask('twelve-chars', logs('warn', 'a short id')),
    inTask('thirteen-char', logs('warn', 'a long id')),
  ],
};

const registry = registerTasks({
  resize: defineTask({ name: 'resize', retry: { maxAttempts: 5 }, run: () => undefined }),
  once: defineTask({ name: 'once', retry: { maxAttempts: 1 }, run: () => undefined }),
});

async function printed(deeds: readonly Deed[], isTTY: boolean): Promise<string> {
  const stream = Object.assign(new PassThrough({ encoding: 'utf8' }), {
    isTTY,
    getColorDepth: () => 1,
    hasColors: () => false,
  });
  const err = stream as unknown as NodeJS.WriteStream;
  const clock = new ManualClock('2026-01-01T00:00:00Z');
  const lines = attemptLines(new Output({ isJson: false, out: err, err }), clock);
  lines.know(registry);
  for (const deed of deeds) await deed(lines, clock);
  return (stream.read() as string | null) ?? '';
}

export async function attempts(): Promise<string> {
  const blocks: string[] = [];
  for (const [what, deeds] of Object.entries(SCENES))
    for (const isTTY of [true, false])
      blocks.push(`## ${what}${isTTY ? '' : ', elsewhere'}\n${await printed(deeds, isTTY)}`);

  const text = blocks.join('\n').replaceAll(path.resolve('.'), 'HERE');
  return text;
}
