/** What a worker knows of the turns of lines, and when it reads them again. */
import { expect, test } from 'vitest';
import { systemRuntime } from '../../../../shared/core/runtime/runtime.ts';
import type { GroupEntry } from '../../../../shared/tasks/task/task-store.ts';
import type { CancelledTask } from '../../../../shared/tasks/task/task.ts';
import type { Candidates, Found } from '../../../../shared/tasks/picker/candidates.ts';
import { DirectCandidates } from '../../../../shared/tasks/picker/direct-candidates.ts';
import { LineTurns } from '../../../../shared/tasks/picker/line-turns.ts';
import { FakeClock } from '../../../../shared/testing/fake-clock.ts';

function entry(ticket: number): GroupEntry {
  const hint = { queue: 'q', id: `t${ticket}`, readyAt: 0, tenant: undefined, limit: undefined };
  return { hint: { ...hint, line: { key: 'k', ticket } }, place: `${ticket}`, end: '~', tenantEnd: '~' };
}

function lineTurns() {
  const clock = new FakeClock(new Date(0));
  const row = { turn: 1, reads: 0, passed: 0 };
  const turns = new LineTurns('q', {
    runtime: { ...systemRuntime, clock },
    onDamaged: () => undefined,
    onPassed() {
      row.passed++;
    },
    tasks: {
      getTurns(_queue, keys) {
        row.reads++;
        return Promise.resolve(new Map(keys.map((key) => [key, row.turn])));
      },
      passTurn(task) {
        const isTurn = task.links?.line?.ticket === row.turn;
        if (isTurn) row.turn++;
        return Promise.resolve(
          isTurn
            ? { kind: 'applied', row: undefined }
            : { kind: 'refused', current: undefined, earlierAttempt: 'none' as const },
        );
      },
    },
  });
  const at = (ticket: number) => ({ key: 'k', ticket });
  return { clock, row, turns, at, has: (ticket: number) => turns.hasTurn(at(ticket)) };
}

test('a turn is unknown until it was read, and a ticket up to it has had its turn, however long ago that was', async () => {
  const { clock, row, turns, at, has } = lineTurns();
  expect([turns.turnOf(at(1)), has(1)]).toEqual([undefined, false]);

  await turns.read([at(1), at(2)]);
  row.turn = 2;
  await clock.advance(3_600_000);

  expect([turns.turnOf(at(1)), has(1), has(2), row.reads]).toEqual([1, true, false, 1]);
});

test('a line whose first task seems to be behind the turn is read again in growing gaps', async () => {
  const { clock, row, turns, at } = lineTurns();
  const readsIn = async (ms: number): Promise<number> => {
    const before = row.reads;
    for (let passed = 0; passed < ms; passed += 100) {
      await turns.read([at(2)]);
      await clock.advance(100);
    }
    return row.reads - before;
  };

  const [early, late] = [await readsIn(10_000), await readsIn(100_000)];

  expect(early).toBeGreaterThan(5);
  expect(late).toBeLessThan(early);
});

test('a line is read again at once when its first entry has changed', async () => {
  const { row, turns, at, has } = lineTurns();
  turns.see([entry(1), entry(2)]);
  await turns.read([at(2)]);
  row.turn = 2;
  await turns.read([at(2)]);
  expect([has(2), row.reads]).toEqual([false, 1]);

  turns.see([entry(2)]);
  await turns.read([at(2)]);

  expect([has(2), row.reads]).toEqual([true, 2]);
});

test('the next task of a line is known from the page', () => {
  const { turns, at } = lineTurns();
  turns.see([entry(1), entry(2)]);

  expect(turns.nextOf(at(1))).toEqual({ queue: 'q', id: 't2' });
  expect(turns.nextOf(at(2))).toBeUndefined();
});

test('passes the turn of a cancelled task when it has come, and not before', async () => {
  const { row, turns, at, has } = lineTurns();
  turns.see([entry(1), entry(2), entry(3)]);
  await turns.read([at(1)]);
  const cancelled = (ticket: number) => ({ links: { line: at(ticket) } }) as unknown as CancelledTask;

  expect(await turns.passEach([cancelled(2)])).toEqual([]);
  expect(await turns.passEach([cancelled(1)])).toEqual([{ queue: 'q', id: 't2' }]);

  expect([row.turn, row.passed, has(2), has(3)]).toEqual([2, 1, true, false]);
});

test.each([
  ['polls again if the next task of a line may not be tried', 0],
  ['does not poll if the next task of a line is tried at once', 1],
])('%s', async (_what, found) => {
  const { turns, at } = lineTurns();
  turns.see([entry(1), entry(2)]);
  const next = { kind: 'ready', task: { queue: 'q', id: 't2' } } as Found;
  const nextInLine: Candidates['nextInLine'] = () => Promise.resolve(found === 0 ? [] : [next]);
  const direct = new DirectCandidates({ turns, nextInLine } as unknown as Candidates, {
    runtime: systemRuntime,
    onWorthPolling: () => undefined,
  });
  let missed = 0;

  expect(direct.followInLine({ queue: 'q', id: 't1', links: { line: at(1) } }, () => void missed++)).toBe(true);
  await direct.settled();

  expect([direct.next(), missed]).toEqual([found === 0 ? undefined : next, 1 - found]);
});
