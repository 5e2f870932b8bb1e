import { describe, expect, test } from 'vitest';
import type { PlanningHints, QueueRecord } from '../../../../shared/tasks/task/queue-store.ts';
import { PlanningHintsWriter } from '../../../../shared/tasks/worker/planning-hints.ts';
import { CorruptItemError, StoreUnavailableError } from '../../../../shared/core/errors.ts';
import { systemIds } from '../../../../shared/core/runtime/ids.ts';
import { FakeClock } from '../../../../shared/testing/fake-clock.ts';

function open(known: Partial<QueueRecord> = {}, defined: readonly string[] = ['task'], refusal?: Error) {
  const clock = new FakeClock(new Date('2026-01-01T00:00:00Z'));
  const written: PlanningHints[] = [];
  const noteHints = (_queue: string, hints: PlanningHints) => {
    written.push(hints);
    if (refusal !== undefined) return Promise.reject(refusal);
    return Promise.resolve({ kind: 'applied' } as never);
  };
  const workerSettings = { concurrency: 10, startWithinMs: 10_000 };
  const hints = new PlanningHintsWriter('q', workerSettings, {
    queues: { noteHints } as never,
    runtime: { clock, random: { next: () => 0.5 }, ids: systemIds },
    known: () => ({ workerSettings, announcedNames: defined, ...known }) as QueueRecord,
    defined: new Set(defined),
  });
  const run = async (ms: number, name = 'task'): Promise<void> => {
    const leave = hints.begin({ name });
    await clock.advance(ms);
    leave();
  };
  return { clock, hints, written, run };
}

describe('PlanningHintsWriter', () => {
  test.each([
    new StoreUnavailableError('throttled', { applied: 'no' }),
    new CorruptItemError('queue#q', 'took', 'is text'),
  ])('a store that refuses a hint ends nothing: %s', async (refusal) => {
    const { hints, run, written } = open({}, ['task'], refusal);
    await run(100);

    await expect(hints.finish()).resolves.toBeUndefined();
    expect(written).toHaveLength(1);
  });

  test('counts each task once: a later mean is that of later tasks', async () => {
    const { hints, written, run } = open();
    await run(1_000);
    await hints.finish();
    for (let count = 0; count < 10; count++) await run(4_000);
    await hints.finish();

    expect(written.map(({ tookMs }) => tookMs)).toEqual([1_000, 2_500]);
  });

  test('counts a long task as soon as it exceeds the longest time that plans use', async () => {
    const { clock, hints, written } = open();
    hints.begin({ name: 'task' });
    await clock.advance(11_000);

    expect(written).toMatchObject([{ tookMs: 10_000 }]);
  });

  test('writes a mean after 10 s, and reads once a minute whether it has changed', async () => {
    const { clock, written, run } = open();
    const begunAt = clock.now();
    const at: number[] = [];
    for (const ms of [1_000, 4_000, 9_000])
      for (const minuteEnds = clock.now() + 60_000; clock.now() < minuteEnds;) {
        await run(ms);
        await clock.advance(300);
        if (written.length > at.length) at.push(Math.floor((clock.now() - begunAt) / 10_000));
      }

    // After 70 s most of the tasks since the first write were as short as before.
    expect(at).toEqual([1, 13]);
  });

  test('writes nothing if little has changed', async () => {
    const { hints, written, run } = open({ tookMs: 100 });
    await run(110);
    await hints.finish();

    expect(written).toEqual([]);
  });

  test('adapts to longer times sooner than to shorter ones', async () => {
    const longer = open({ tookMs: 1_000 });
    for (let count = 0; count < 10; count++) await longer.run(9_000);
    await longer.hints.finish();
    const shorter = open({ tookMs: 9_000 });
    for (let count = 0; count < 40; count++) await shorter.run(1_000);
    await shorter.hints.finish();

    expect(longer.written.at(-1)?.tookMs).toBeGreaterThan(4_000);
    expect(shorter.written.at(-1)?.tookMs).toBeGreaterThan(5_000);
  });

  test('counts what still ran at a write with the tasks that began when it did', async () => {
    const { clock, hints, written, run } = open();
    for (let count = 0; count < 98; count++) await run(10);
    const leave = [0, 1].map(() => hints.begin({ name: 'task' }));
    await hints.finish();
    await clock.advance(120_000);
    for (const end of leave) end();
    await hints.finish();

    expect(written.map(({ tookMs }) => tookMs)).toEqual([10, 210]);
  });

  test('reports unknown names, and removes names that it knows', async () => {
    const { hints, written } = open({ unknownNames: ['task', 'lost'] });
    hints.meetUnknown({ name: 'other' });
    await hints.finish();

    expect(written).toMatchObject([{ unknownNames: ['lost', 'other'] }]);
  });

  test('announces its names once, after the names of other workers', async () => {
    const { hints, written } = open({ announcedNames: ['resize', 'task'] }, ['greet', 'task']);
    await hints.finish();
    await hints.finish();

    expect(written).toMatchObject([{ announcedNames: ['greet', 'task', 'resize'] }]);
  });

  test('writes nothing if the row has its names', async () => {
    const { hints, written } = open({ announcedNames: ['resize', 'greet', 'task'] }, ['task', 'greet']);
    await hints.finish();

    expect(written).toEqual([]);
  });

  test.each([
    ['100 names', 150, '', 100],
    ['2 KB', 150, 'x'.repeat(99), 20],
  ])(
    'announces at most %s, says that there are more, and does not write again for them',
    async (_, count, rest, announced) => {
      const defined = Array.from({ length: count }, (_, at) => `${100 + at}${rest}`);
      const first = open({ announcedNames: ['announced before'] }, defined);
      await first.hints.finish();
      const names = first.written[0]?.announcedNames;
      const second = open({ announcedNames: names }, defined);
      await second.hints.finish();

      expect(names).toEqual([...defined.slice(0, announced), '']);
      expect(second.written).toEqual([]);
    },
  );
});
