/**
 * The task names that a worker writes into its queue's row, so that commands can suggest a name for a mistyped one.
 * A worker on Lambda writes them with its other hints (`planning-hints.ts`), and a worker outside Lambda when it starts. Plans do not use
 * them.
 * A name stays in the row until newer names need the space. A worker with too many names announces only the first ones; the list then ends
 * with a mark that it is cut.
 */
import { InvariantError, messageOf } from '../../core/errors.ts';
import { stampOf } from '../../core/lease/write.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { TaskLog } from '../task/context.ts';
import type { QueueRecord, QueueStore } from '../task/queue-store.ts';

const NAMES_LIMIT = 100;
/** Workers read the row every few seconds, and 4 KB cost one read. This leaves space for the rest of the row. */
const BYTES_LIMIT = 2_048;
const BUDGET_MS = 1_000;
/** At the end of a list that is not complete. No task has an empty name. */
const CUT = '';

/** The announced names, for commands. */
export function announcedIn({
  announcedNames,
}: Pick<QueueRecord, 'announcedNames'>):
  | { readonly names: readonly string[]; readonly isComplete: boolean }
  | undefined {
  if (announcedNames === undefined) return undefined;
  return { names: announcedNames.filter((name) => name !== CUT), isComplete: !announcedNames.includes(CUT) };
}

/** Returns the defined names, followed by as many announced names as fit; undefined if the row already has all defined names. */
export function namesToAnnounce(
  defined: Iterable<string>,
  announced: readonly string[],
): readonly string[] | undefined {
  const own = withinLimits(defined);
  if (own.every((name) => announced.includes(name))) return undefined;
  return withinLimits(new Set([...own, ...announced]));
}

/** Writes the names of a worker that is not on Lambda into its queue's row: one write, unless the row has them. */
export async function announceNames(
  queue: string,
  defined: Iterable<string>,
  record: QueueRecord | undefined,
  { queues, runtime, log }: { readonly queues: QueueStore; readonly runtime: Runtime; readonly log: TaskLog },
): Promise<void> {
  const names = namesToAnnounce(defined, record?.announcedNames ?? []);
  if (names === undefined) return;
  try {
    await queues.announceNames(queue, record, names, stampOf(runtime), { budgetMs: BUDGET_MS });
  } catch (error) {
    if (error instanceof InvariantError) throw error;
    // Only commands that name tasks need them, so a worker without permission to write the row still works.
    log.debug('announcing task names failed', { queue, error: messageOf(error) });
  }
}

function withinLimits(names: Iterable<string>): readonly string[] {
  const kept: string[] = [];
  let bytes = 0;
  let isCut = false;
  for (const name of names) {
    bytes += Buffer.byteLength(name);
    isCut ||= name === CUT || kept.length === NAMES_LIMIT || bytes > BYTES_LIMIT;
    if (kept.length === NAMES_LIMIT || bytes > BYTES_LIMIT) break;
    if (name !== CUT) kept.push(name);
  }
  return isCut ? [...kept, CUT] : kept;
}
