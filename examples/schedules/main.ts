/**
 * Recurring tasks: by cron, in a zone's time, and missed runs.
 *
 *   node examples/schedules/main.ts
 *
 * Three schedules are due every second, and for some seconds no worker runs.
 * The next worker makes up for all missed runs, for the last,
 * or for none, as each schedule defines. On AWS the dispatcher does that with each tick, here `leasehold work` does.
 * Then four nights pass in a moment on the test kit's clock, including the night in which Berlin's clocks go forward:
 * each report covers what came since the one before, and no run begins before the last has ended.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { schedulesOf } from 'leasehold';
import { defineTask } from 'leasehold/tasks';
import { createTestKit } from 'leasehold/testing';
import { check } from '../claims.ts';
import { exampleOptions } from '../options.ts';
import { openQueue } from '../queue.ts';
import { report } from './tasks.ts';

const options = await exampleOptions({});
const OUTAGE_MS = 6_000;
/** Longer than a schedule's occurrence may be late here, by as much as a busy machine may need. */
const LATE_MS = 2_000;
const TOLERANCE = '500ms';
const EACH_SECOND = '* * * * * *';
const SECOND_MS = 1_000;
const PATIENCE_MS = 300_000;
const NIGHTS = 4;

await using queue = await openQueue('schedules', options.endpoint);
const { tasks } = queue.leasehold;
const schedules = schedulesOf(queue.leasehold);
const policies = ['all', 'last', 'skip'] as const;
const first = new Map<string, number>();
for (const missed of policies) {
  const { nextAt } = await schedules.define(missed, report, null, { cron: EACH_SECOND, missed, tolerance: TOLERANCE });
  first.set(missed, nextAt);
  // A deployment defines its schedules each time: as long as they are the same, that changes nothing.
  const again = await schedules.define(missed, report, null, { cron: EACH_SECOND, missed, tolerance: TOLERANCE });
  check(again.nextAt === nextAt, `defining ${missed} again changes nothing`);
}
console.log(`no worker runs for ${OUTAGE_MS / SECOND_MS} seconds`);
await sleep(OUTAGE_MS);

const [worker] = queue.start(new URL('tasks.ts', import.meta.url));
const deadline = performance.now() + PATIENCE_MS;
while (performance.now() < deadline) {
  const made = await Promise.all(policies.map(madeOf));
  if (made.every((occurrences) => occurrences.length >= 2)) break;
  await sleep(200);
}
for (const name of policies) await schedules.remove(name);

for (const name of policies) {
  const made = await madeOf(name);
  await queue.ended(made.map(({ id }) => id));
  const cameAt = Math.min(...made.map(({ createdAt }) => createdAt));
  const isLate = (occurrence: number): boolean => occurrence < cameAt - LATE_MS;
  const late = occurrencesUpTo(name, cameAt).filter(isLate).length;
  const madeLate = made.filter(({ occurrence }) => isLate(occurrence)).length;
  console.log(`${name}: ${late} occurrences were long over when a worker came, ${madeLate} of them were made up for`);
  if (name === 'all') check(madeLate === late, 'each of them, as it is to be');
  else check(madeLate === 0, name === 'last' ? 'none of them, but the last one' : 'none of them, as it is to be');
  if (name === 'last')
    check(
      made.some(({ occurrence }) => occurrence <= cameAt),
      'that is there',
    );
}
await worker?.stop();
const written = worker?.lines.filter((line) => line.startsWith('report ')) ?? [];
check(written.length > 0 && new Set(written).size === written.length, 'and no report was written twice');

const covered: { readonly at: Date; readonly since: Date | undefined }[] = [];
const nightly = defineTask({
  name: 'nightly',
  run(_: unknown, { schedule }) {
    if (schedule !== undefined) covered.push(schedule);
  },
});
const kit = createTestKit({ tasks: { nightly }, startsAt: new Date('2026-03-27T12:00:00Z') });
await kit.schedules.define('nightly', nightly, null, { cron: '30 2 * * *', zone: 'Europe/Berlin' });
for (let hour = 0; hour < NIGHTS * 24; hour++) {
  await kit.advance('1h');
  await kit.tick();
  await kit.drain();
}
check(covered.length === NIGHTS - 1, 'half past two in Berlin came each night but on 29 March, when it did not exist');
check(
  covered.every(({ since }, nth) => since?.getTime() === covered[nth - 1]?.at.getTime()),
  'each report covers what came since the one before, that night included',
);

await kit.schedules.define('hourly', nightly, null, { cron: '0 * * * *', overlap: 'skip' });
await kit.advance('1h');
const begun = await kit.tick();
await kit.advance('1h');
const second = await kit.tick();
const { leftOut = [] } = (await kit.schedules.get('hourly')) ?? {};
check(
  begun === 1 && second === 0 && leftOut.length === 1,
  'a run is left out while the one before has not ended, and the schedule says so',
);

function occurrencesUpTo(name: string, moment: number): readonly number[] {
  const from = first.get(name) ?? moment;
  return Array.from(
    { length: Math.max(0, Math.floor((moment - from) / SECOND_MS) + 1) },
    (_, n) => from + n * SECOND_MS,
  );
}

/** The occurrences of a schedule that have become tasks. */
async function madeOf(name: string) {
  const occurrences = await Promise.all(
    occurrencesUpTo(name, Date.now()).map(async (occurrence) => {
      const task = await tasks.get(`${name}@${new Date(occurrence).toISOString()}`);
      return task === undefined ? [] : [{ occurrence, id: task.id, createdAt: task.createdAt }];
    }),
  );
  return occurrences.flat();
}
