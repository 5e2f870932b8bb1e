import { createScheduleStore } from '../tasks/rows/dynamo-schedule-store.ts';
import { ScheduleClient } from '../tasks/schedule/schedule-client.ts';
import type { Leasehold } from './leasehold.ts';
import { partsOf } from './leasehold.ts';

const clients = new WeakMap<Leasehold, ScheduleClient>();

/**
 * Returns the recurring tasks of a client's table: define, list, run, pause and remove them.
 * It is a function and not a property, so that a program without schedules does not bundle the parser of cron expressions.
 * @throws ConfigurationError unless the argument is a `Leasehold`
 */
export function schedulesOf(leasehold: Leasehold): ScheduleClient {
  const known = clients.get(leasehold);
  if (known !== undefined) return known;
  const { sender, runtime, queue, storeOptions } = partsOf(leasehold);
  const made = new ScheduleClient({ schedules: createScheduleStore(sender, storeOptions), runtime }, { queue });
  clients.set(leasehold, made);
  return made;
}
