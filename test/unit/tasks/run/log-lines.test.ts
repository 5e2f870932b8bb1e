/** Log lines of task code, and those about it, say whose they are. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { jsonLines } from '../../../../shared/client/json-lines.ts';
import type { TaskLog } from '../../../../shared/tasks/task/context.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { createTestKit } from '../../../../shared/testing/kit.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

/** Somewhere far from the task, which hands over its logger or a part of it. */
function helper(log: TaskLog): void {
  const copy = { ...log };
  copy.info('inside', { n: 1 });
  log.warn('again');
}

test('adds queue, task, name and attempt to lines of task code, passed-on loggers and failed attempts', async () => {
  const lines: [string, Record<string, unknown>][] = [];
  const take = (message: string, extra: Record<string, unknown> = {}): void => {
    lines.push([message, extra]);
  };
  const greet = defineTask({
    name: 'greet',
    run: (_: unknown, task) => {
      helper(task.log);
      throw new Error('not now');
    },
  });
  const log = { debug: () => undefined, info: take, warn: take, error: take };
  const kit = createTestKit({ tasks: { greet }, log });
  await kit.tasks.enqueue(greet, {}, { id: 't' });

  await kit.drain();

  const whose = { queue: (await kit.tasks.get('t'))?.queue, task: 't', name: 'greet', attempt: 1 };
  expect(lines).toMatchObject([
    ['inside', { ...whose, n: 1 }],
    ['again', whose],
    ['task attempt failed', { ...whose, then: 'retry' }],
  ]);
});

test("adds the time to a program's JSON lines", () => {
  const written: string[] = [];
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  onTestFinished(() => void vi.restoreAllMocks());

  jsonLines(new ManualClock('2026-11-24T20:00:00.000Z')).info('inside', { task: 't' }, { n: 1 });

  expect(written).toEqual(['{"time":"2026-11-24T20:00:00.000Z","level":"info","message":"inside","task":"t","n":1}\n']);
});

test.each<[string, unknown, unknown]>([
  [
    'an error with its cause',
    new Error('no', { cause: new TypeError('why') }),
    { message: 'no', cause: { message: 'why' } },
  ],
  ['a bigint', { n: 2n ** 64n }, { n: '18446744073709551616' }],
  ['a circular object', circular(), expect.stringContaining('self')],
])('a JSON line shows %s, and does not fail the code that logs it', (_, found, said) => {
  const written: string[] = [];
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  onTestFinished(() => void vi.restoreAllMocks());

  jsonLines(new ManualClock('2026-11-24T20:00:00.000Z')).warn('odd', { task: 't', found });

  expect(written.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { message: 'odd', task: 't', found: said },
  ]);
});

function circular(): object {
  const value: Record<string, unknown> = { n: 1n };
  value.self = value;
  return value;
}
