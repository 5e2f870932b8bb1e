/** The gauge of a simulated process: each response carries the service's date, in whole seconds. */
import { DateHeaderGauge } from '../../shared/dynamo/engine/skew-gauge.ts';
import type { DynamoDriver } from '../../shared/dynamo/engine/driver.ts';
import type { SimulatedProcess } from '../../test/support/machines/process.ts';
import { EPOCH_MS } from './invariants/sessions.ts';

interface Measured {
  readonly gauge: DateHeaderGauge;
  readonly driver: DynamoDriver;
}

const measured = new WeakMap<SimulatedProcess, Measured>();

/** One for each process, as in a program. */
export function measuredBy(process: SimulatedProcess, driver: DynamoDriver): Measured {
  const known = measured.get(process);
  if (known !== undefined) return known;
  const { clock } = process.runtime;
  const gauge = new DateHeaderGauge(clock);
  const attempt: DynamoDriver['attempt'] = async (kind, input, signal) => {
    const [sentAt, began] = [clock.now(), clock.monotonic()];
    const output = await driver.attempt(kind, input, signal);
    const serverDate = Math.floor((EPOCH_MS + process.now) / 1_000) * 1_000;
    gauge.observe({ serverDate, sentAt, receivedAt: clock.now(), tookMs: clock.monotonic() - began });
    return output;
  };
  const made = { gauge, driver: { attempt } };
  measured.set(process, made);
  return made;
}
