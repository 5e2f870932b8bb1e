/** The shipped code's histories, held to the specification; needs Java, and is skipped without. */
import { beforeAll, describe, expect, test } from 'vitest';
import { findTlc } from '../spec/tlc.ts';
import { runSeed } from '../simulation/run-seed.ts';
import { rejectedOf } from './check.ts';
import type { Exported } from './export.ts';
import { exportTraces } from './export.ts';

const tlc = findTlc(undefined);
/** Positions of the store's verdict in an event, and of the counter in a task or lock row. */
const [VERDICT, TASK_COUNTER, LOCK_COUNTER] = [2, 15, 14];

describe.skipIf(typeof tlc === 'string' && process.env.CI !== 'true')('histories of the shipped code', () => {
  let exported: Exported;

  beforeAll(async () => {
    exported = exportTraces(await runSeed(3n, 'swarm', { keepHistory: true }));
  });

  test('are lives of rows that the specification allows', async () => {
    expect(new Set(exported.traces.map(({ kind }) => kind))).toEqual(new Set(['task', 'lock', 'session']));

    expect(await rejectedOf(found(), [exported])).toEqual([]);
  });

  test.each([28n])('are accepted if a session resolves its unresolved keys: row seed %s', async (seed) => {
    const inTrouble = exportTraces(await runSeed(seed, 'row', { keepHistory: true }));
    expect(inTrouble.verbs.get('lock.disown')).toBeGreaterThan(0);

    expect(await rejectedOf(found(), [inTrouble])).toEqual([]);
  });

  test('are accepted if a schedule cancels the waiting task of an earlier slot', async () => {
    const overlapping = exportTraces(await runSeed(1n, 'swarm', { keepHistory: true }));

    expect(await rejectedOf(found(), [overlapping])).toEqual([]);
  });

  test('are rejected when a claim does not move the counter', async () => {
    const broken = withEvent('task.claim', (fields) => fields.with(TASK_COUNTER, before(fields[TASK_COUNTER])));

    const rejected = await rejectedOf(found(), [broken]);

    expect(rejected).toHaveLength(1);
    expect(rejected[0]).toContain('task.claim');
  });

  test('are rejected when an acquire does not move the counter', async () => {
    const broken = withEvent('lock.acquire', (fields) => fields.with(LOCK_COUNTER, '0'));

    const rejected = await rejectedOf(found(), [broken]);

    expect(rejected).toHaveLength(1);
    expect(rejected[0]).toContain('lock.acquire');
  });

  test('are rejected when a write was refused that should have been applied', async () => {
    const broken = withEvent('session.renew', (fields) => fields.with(VERDICT, '0'));

    const rejected = await rejectedOf(found(), [broken]);

    expect(rejected).toHaveLength(1);
    expect(rejected[0]).toContain('session.renew');
  });

  /** The first event of a verb that was applied, otherwise. */
  function withEvent(verb: string, change: (fields: readonly string[]) => readonly string[]): Exported {
    const place = exported.events.findIndex((event) => event.includes(`"${verb}",1,`));
    const fields = (exported.events[place] ?? '').slice(2, -2).split(',');
    return { ...exported, events: exported.events.with(place, `<<${change(fields).join(',')}>>`) };
  }

  function found() {
    if (typeof tlc === 'string') throw new Error(tlc);
    return tlc;
  }
});

function before(counter = ''): string {
  return String(Number(counter) - 1);
}
