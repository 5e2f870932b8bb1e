import { expect, test } from 'vitest';
import { AuditStore } from '../../../shared/operate/audit/audit-store.ts';
import { Sender } from '../../../shared/dynamo/engine/send.ts';
import { systemIds } from '../../../shared/core/runtime/ids.ts';
import { simulatedWorld } from '../../support/coordination.ts';

function open() {
  const world = simulatedWorld();
  const runtime = { clock: world.clock, ids: systemIds, random: { next: () => 0.5 } };
  const accidents: ('before' | 'after')[] = [];
  const driver: typeof world.driver = {
    attempt: (kind, input, signal) => {
      if (kind === 'query' || accidents.length === 0) return world.driver.attempt(kind, input, signal);
      return Promise.reject(new Error(`cut ${accidents.shift()}`));
    },
  };
  const sender = new Sender({ driver, runtime });
  const audit = new AuditStore({ sender, runtime }, 'leasehold');
  const record = (target: string, execute: () => Promise<unknown> = () => Promise.resolve('it')) =>
    audit.record(
      { verb: 'lock.release', target, by: 'ada', reason: 'a test' },
      execute,
      (result) => `did ${String(result)}`,
    );
  return { world, audit, record, accidents };
}

const listed = async ({ audit }: ReturnType<typeof open>) => Array.fromAsync(audit.list());

test('lists acts of fourteen months, the latest first, over any number of pages', async () => {
  const opened = open();
  const { world, record } = opened;
  const steps = [0, 0, 1, 31 * 86_400_000, 86_400_000, ...Array.from({ length: 12 }, () => 30.5 * 86_400_000)];
  for (const [nth, ms] of steps.entries()) {
    world.clock.step(ms);
    await record(`act ${nth}`);
  }
  for (let nth = 0; nth < 120; nth++) {
    world.clock.step(1);
    await record(`late ${nth}`);
  }

  const acts = await listed(opened);

  const late = Array.from({ length: 120 }, (_, nth) => `late ${119 - nth}`);
  // The first ones are older than the list, as their rows are.
  expect(acts.map(({ target }) => target).filter((target) => target.startsWith('late'))).toEqual(late);
  expect(acts.map(({ at }) => at)).toEqual([...acts.map(({ at }) => at)].sort((one, other) => other - one));
  const oldest = new Date(world.clock.now());
  oldest.setUTCDate(1);
  oldest.setUTCMonth(oldest.getUTCMonth() - 13);
  const months = new Set(acts.map(({ at }) => new Date(at).toISOString().slice(0, 7)));
  expect([...months].at(-1)).toBe(oldest.toISOString().slice(0, 7));
});

test.each(['01-01', '02-28', '03-01', '03-29', '03-30', '03-31', '05-31', '12-31'])(
  'lists each month once, also on 2026-%s',
  async (today) => {
    const opened = open();
    const { world, record } = opened;
    const now = Date.parse(`2026-${today}T23:00:00Z`);
    const months = Array.from({ length: 14 }, (_, ago) => Date.UTC(2026, Number(today.slice(0, 2)) - 1 - ago, 1));
    for (const month of months.toReversed()) {
      world.clock.step(month - world.clock.now());
      await record(new Date(month).toISOString().slice(0, 7));
    }
    world.clock.step(now - world.clock.now());

    const acts = await listed(opened);

    expect(acts.map(({ target }) => target)).toEqual(months.map((month) => new Date(month).toISOString().slice(0, 7)));
  },
);

test('keeps what was done, by whom, why and how it ended, without an end', async () => {
  const opened = open();
  const { world, record } = opened;
  await record('fine');
  world.clock.step(1);
  await expect(record('wrong', () => Promise.reject(new RangeError('no')))).rejects.toThrow('no');
  world.clock.step(1);
  // The compiler allows any value to be thrown.
  // oxlint-disable-next-line typescript/prefer-promise-reject-errors
  await expect(record('odd', () => Promise.reject('text'))).rejects.toBe('text');

  const acts = await listed(opened);

  const both = { verb: 'lock.release', by: 'ada', reason: 'a test' };
  expect(acts).toMatchObject([
    { ...both, target: 'odd', outcome: 'failed: error' },
    { ...both, target: 'wrong', outcome: 'failed: RangeError' },
    { ...both, target: 'fine', outcome: 'did it' },
  ]);
  for (const row of world.rows()) expect(row).not.toHaveProperty('ttl');
});

test('does nothing that it could not write down, and returns what was done although its end was not written', async () => {
  const opened = open();
  const { record, accidents } = opened;
  let done = 0;
  const act = () => Promise.resolve(++done);
  accidents.push('before');
  await expect(record('unwritten', act)).rejects.toThrow('cut before');
  expect([done, await listed(opened)]).toEqual([0, []]);
  const cutLater = () => {
    accidents.push('after');
    return act();
  };

  expect(await record('half', cutLater)).toBe(1);

  expect(await listed(opened)).toMatchObject([{ target: 'half', outcome: 'begun' }]);
});

test.each([
  [{ by: '' }, 'by is empty'],
  [{ reason: '' }, 'reason is empty'],
])('an operation with %o is not done', async (missing, message) => {
  const { audit, world } = open();
  let done = 0;
  const operation = { verb: 'lock.release', target: 'a', by: 'ada', reason: 'a test', ...missing };

  await expect(audit.record(operation, () => Promise.resolve(done++), String)).rejects.toThrow(message);

  expect([done, world.rows()]).toEqual([0, []]);
});
