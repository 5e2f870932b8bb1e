/** Network faults of a pack's writes: each write is lost, unanswered, refused for a while, or late. No item is lost or done twice. */
import { describe, expect, test } from 'vitest';
import type { Accident } from '../../../support/faulty-driver.ts';
import { FaultyDriver } from '../../../support/faulty-driver.ts';
import { LateDriver } from '../../../support/late-driver.ts';
import { MEMORY_TTL_MS, openMemoryQueue } from '../../../support/memory-queue.ts';
import { FULFILLED, Life } from './life.ts';

async function liveThrough(accidents: readonly (Accident | 'none')[]) {
  let driver: FaultyDriver | undefined;
  const q = openMemoryQueue((inner) => (driver = new FaultyDriver(inner)));
  const life = new Life(q);
  await life.enqueue();
  driver?.accidents.push(...accidents);
  const reports = [];
  for (let more = 0; more < 6 && !(await life.isDrained()); more++) {
    reports.push(await q.work({ life: life.task }));
    await q.clock.advance(MEMORY_TTL_MS + 1_000);
  }
  const writes = (driver?.attempts ?? []).filter(
    (kind) => kind === 'put' || kind === 'update' || kind === 'transactWrite',
  );
  // The first one enqueued the pack.
  return { life, reports, left: driver?.accidents.length, writes: writes.length - 1 };
}

async function liveWithLate(late: { readonly write: number; readonly by: number }) {
  let driver: LateDriver | undefined;
  const q = openMemoryQueue((inner) => (driver = new LateDriver(inner, late)));
  const life = new Life(q);
  await life.enqueue();
  if (driver !== undefined) driver.isWatching = true;
  for (let more = 0; more < 6 && !(await life.isDrained()); more++) {
    await q.work({ life: life.task });
    await q.clock.advance(MEMORY_TTL_MS + 1_000);
  }
  const before = await life.outcome();
  await driver?.deliver();
  return { life, before, writes: driver?.writes ?? 0 };
}

const { writes: WRITES } = await liveThrough([]);

describe('the writes of a pack', () => {
  test.each(['dropRequest', 'dropResponse', 'throttle', 'conflict'] as const)(
    'each bear one %s without anything being run again',
    async (accident) => {
      for (let before = 0; before < WRITES; before++) {
        const { life, reports, left } = await liveThrough([
          ...Array.from({ length: before }, () => 'none' as const),
          accident,
        ]);
        const outcome = await life.outcome();

        expect({ before, left, outcome }).toEqual({ before, left: 0, outcome: FULFILLED });
        expect(reports[0]?.settled).toMatchObject({ lost: 0, unsettled: 0 });
        // Ten items, one of which is tried twice, and one of which is asked twice.
        expect({ before, begun: life.begun.length }).toEqual({ before, begun: 12 });
      }
    },
  );

  test('each tolerate two consecutive losses, applied or not', async () => {
    for (let before = 0; before < WRITES; before++) {
      const calm = Array.from({ length: before }, () => 'none' as const);
      const { life } = await liveThrough([...calm, 'dropResponse', 'dropRequest', 'dropResponse']);

      expect({ before, outcome: await life.outcome() }).toEqual({ before, outcome: FULFILLED });
      expect(life.begun).toHaveLength(12);
    }
  });

  test('each may arrive after later writes', async () => {
    const { writes } = await liveWithLate({ write: Infinity, by: 0 });
    expect(writes).toBeGreaterThan(12);
    for (let write = 1; write <= writes; write++) {
      for (const by of [1, 2, 3, 5, Infinity]) {
        const { life, before } = await liveWithLate({ write, by });
        const after = await life.outcome();

        expect({ write, by, before, after }).toEqual({ write, by, before: FULFILLED, after: FULFILLED });
      }
    }
  });
});
