/** Checks for tasks that have waited a long time for their key, because workers and the alarms on due tasks do not see them. */
import { countParked } from '../../shared/tasks/queue/listing.ts';
import type { Clock } from '../../shared/core/runtime/clock.ts';
import type { QueueConnection } from '../connection.ts';
import { counted, span } from '../output.ts';
import type { Finding } from './finding.ts';
import { ok, warning } from './finding.ts';

/** About two read units each. */
const PAGES = 10;
/** A backlog of one key may be normal for a while. After an hour, the key is stuck or its limit is too low. */
const LONG_MS = 3_600_000;

export async function judgeParked(
  queue: Pick<QueueConnection, 'queue' | 'store'>,
  clock: Pick<Clock, 'now'>,
): Promise<Finding> {
  const check = `parked in ${queue.queue}`;
  const parked = await countParked(queue.store, queue.queue, PAGES);
  if (parked.oldestAt === undefined) return ok(check, 'no task waits for a place of its key for long');
  const waitsMs = Math.max(0, clock.now() - parked.oldestAt);
  const found = `${counted(parked.count, parked.isMore)} tasks wait for places of their keys, the oldest for ${span(waitsMs)}`;
  if (waitsMs < LONG_MS) return ok(check, found);
  const remedy =
    `leasehold tasks list --queue ${queue.queue} --state ready, and leasehold tasks show of ` +
    `one: raise its key's limit or rate, or cancel what holds the key`;
  return warning(check, found, remedy);
}
