/** `leasehold epoch raise` lifts every row that counts: one that it leaves out may give a token, or a place in a line, twice. */
import { expect, test } from 'vitest';
import { noSkewGauge } from '../../../shared/core/lease/skew.ts';
import { systemIds } from '../../../shared/core/runtime/ids.ts';
import { Leasehold } from '../../../shared/client/leasehold.ts';
import { Sender } from '../../../shared/dynamo/engine/send.ts';
import { RAISES } from '../../../shared/operate/epoch/epoch-statements.ts';
import { workersSemaphore } from '../../../shared/tasks/dispatch/dispatcher.ts';
import { FakeClock } from '../../../shared/testing/fake-clock.ts';
import { memoryDynamo } from '../../../shared/testing/memory-table.ts';
import { simulatedDriver } from '../../../shared/testing/simulated-dynamo/driver.ts';

const COUNTERS = [...new Set(Object.values(RAISES).flatMap((raises) => raises.map(({ counter }) => counter)))];

test('every kind of row that counts is raised by its counter', async () => {
  const clock = new FakeClock(new Date('2026-01-01T00:00:00Z'));
  const runtime = { clock, random: { next: () => 0.5 }, ids: systemIds };
  const dynamo = memoryDynamo('leases', () => clock.now());
  const sender = new Sender({ driver: simulatedDriver(dynamo), runtime });
  const leasehold = new Leasehold({ sender, gauge: noSkewGauge, runtime }, { table: 'leases' });
  const session = await leasehold.session();
  await session.lock('key');
  for (const name of ['uploads', workersSemaphore('media')]) await session.permit(name, { limit: 1 });
  await leasehold.tasks.enqueue('resize', null, { key: 'customer', ordered: true });
  await (await leasehold.waitGroup('all')).add(1);
  const counting = dynamo.scan('leases').filter((row) => COUNTERS.some((counter) => counter in row));
  const raised = counting.filter(({ sk, ...row }) => RAISES[String(sk)]?.some(({ counter }) => counter in row));

  expect([...new Set(counting.map(({ sk }) => sk))].sort()).toEqual(Object.keys(RAISES).sort());
  expect(raised).toEqual(counting);
});
