/**
 * Checks callbacks that wait for the children of a batch: if a producer was killed during `enqueueBatch`, the callback waits
 * until somebody asks for the batch again.
 */
import type { Clock } from '../../shared/core/runtime/clock.ts';
import { NEVER, describeMiscount, isMiscounted, waitsFor } from '../../shared/tasks/task/batch.ts';
import { FIRST_PLACE } from '../../shared/tasks/task/group-walk.ts';
import type { ReadyEntry } from '../../shared/tasks/task/task-store.ts';
import type { ReadyTask } from '../../shared/tasks/task/task.ts';
import { PRIORITIES, describeTask } from '../../shared/tasks/task/task.ts';
import type { QueueConnection } from '../connection.ts';
import { momentAndAge, plural } from '../output.ts';
import { shardsInUse } from '../queue/shards.ts';
import type { Finding } from './finding.ts';
import { ok, warning } from './finding.ts';

/** For longer than this, a batch that is at work rarely counts no end. */
const QUIET_MS = 3_600_000;
/** Waiting tasks of one shard that are read, and callbacks that are named. */
const PAGE_LIMIT = 100;
const NAMED = 5;
/** Pages of tenants' entries in all, of two read units each. */
const GROUP_PAGES = 200;

export async function judgeBatches(there: QueueConnection, clock: Pick<Clock, 'now'>): Promise<Finding> {
  const { queue, store } = there;
  const check = `batches in ${queue}`;
  const now = clock.now();
  const quiet: string[] = [];
  const miscounted: string[] = [];
  let checked = 0;
  for await (const hints of waitingForChildren(there))
    for (const task of await store.getMany(hints)) {
      if (task.state !== 'ready' || !isCallback(task)) continue;
      checked++;
      const batch = await store.getBatch(task.children);
      if (batch !== undefined && isMiscounted(batch))
        miscounted.push(`${describeTask(task)}: ${describeMiscount(batch)}`);
      const countedAt = batch?.countedAt ?? task.createdAt;
      if (batch !== undefined && batch.pending > 0 && now - countedAt > QUIET_MS)
        quiet.push(
          `${describeTask(task)} ${waitsFor(batch)}, and no end was counted since ${momentAndAge(countedAt, now)}`,
        );
    }
  if (miscounted.length > 0)
    return warning(
      check,
      miscounted.slice(0, NAMED).join('; '),
      'its callback does not begin at the right time: retry or cancel it, and look for the program that writes into the table',
    );
  if (quiet.length === 0)
    return ok(check, `${plural(checked, 'callback')} checked; all wait for children that can end`);
  const more = quiet.length > NAMED ? `; and ${quiet.length - NAMED} more` : '';
  return warning(
    check,
    `${quiet.slice(0, NAMED).join('; ')}${more}`,
    'if its children are not delayed, its producer was killed before it had added all of them: call enqueueBatch again with the same id and ' +
      'children, which adds what is missing, or cancel the callback',
  );
}

/**
 * One query a shard. The entries of tenants stand by tenant, and only then by time: all are read, up to a limit, but only the rows of those
 * that wait.
 */
async function* waitingForChildren(there: QueueConnection): AsyncGenerator<readonly ReadyEntry[]> {
  const { queue, store } = there;
  const shards = await shardsInUse(there);
  let pages = 0;
  for (const priority of PRIORITIES)
    for (let shard = 0; shard < shards; shard++) {
      const query = { from: NEVER, now: NEVER, limit: PAGE_LIMIT };
      const { hints } = await store.page({ queue, priority, shard }, query);
      if (hints.length > 0) yield hints;
      for (let after: string | undefined = FIRST_PLACE; after !== undefined && pages < GROUP_PAGES; pages++) {
        const { entries, next }: Awaited<ReturnType<typeof store.pageOfGroups>> = await store.pageOfGroups(
          { queue, priority, shard },
          { after, limit: PAGE_LIMIT },
        );
        const waiting = entries.flatMap(({ hint }) => (hint.readyAt === NEVER ? [hint] : []));
        if (waiting.length > 0) yield waiting;
        after = next;
      }
    }
}

/** A parent has an attempt that asked to wait, and creates its children in the same transaction. */
function isCallback(task: ReadyTask): task is ReadyTask & { readonly children: NonNullable<ReadyTask['children']> } {
  return task.children !== undefined && task.past.length === 0;
}
