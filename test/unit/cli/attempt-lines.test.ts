/** What a worker on a terminal prints for attempts: each with its own error, and nothing is kept of those that have ended. */
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { attemptLines } from '../../../cli/attempts/attempt-lines.ts';
import type { Output } from '../../../cli/output.ts';
import type { Settlement } from '../../../shared/tasks/run/settle.ts';
import type { RunningTask } from '../../../shared/tasks/task/task.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const task = { id: 'a', name: 'resize', queue: 'default', attempts: 1 } as RunningTask;

function terminal() {
  const lines: string[] = [];
  const err = Object.assign(new PassThrough(), { isTTY: true, getColorDepth: () => 1 });
  const output = { err, note: (text: string) => void lines.push(text) } as unknown as Output;
  const clock = new ManualClock('2026-01-01T00:00:00Z');
  const { log, events } = attemptLines(output, clock);
  /** One attempt, which throws if there is a message. */
  const attempt = async (settlement: Settlement, message?: string): Promise<string> => {
    events.onClaimed?.(task, { takenOver: false });
    await clock.advance(250);
    if (message !== undefined) log.warn('task attempt failed', { task: 'a', error: { name: 'Error', message } });
    lines.length = 0;
    events.onSettled?.(task, settlement);
    return lines.join('\n');
  };
  return { attempt };
}

test.each([
  ['done', '✓', 'attempt 1, 250 ms'],
  ['released', '·', '→ handed back'],
  ['snoozed', '·', '→ snoozed'],
  ['cancelled', '·', '→ cancelled'],
  ['lost', '·', '→ lost to another worker'],
  ['unsettled', '·', '→ undecided'],
  ['retried', '✗', '→ tried again'],
  ['dead', '✗', '→ dead'],
] as const)('%s is one line with its mark', async (settlement, mark, end) => {
  const said = await terminal().attempt(settlement);

  expect(said).toContain(mark);
  expect(said).toContain(end);
  expect(said.includes('leasehold tasks retry a')).toBe(mark === '✗');
});

test('an attempt is printed with its own error only', async () => {
  const { attempt } = terminal();

  expect(await attempt('retried', 'the first')).toContain('Error: the first');
  expect(await attempt('retried')).not.toContain('the first');
  expect(await attempt('dead', 'the last')).toContain('Error: the last');
});
