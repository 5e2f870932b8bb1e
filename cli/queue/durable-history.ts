/** The events of a durable task, for `leasehold tasks show`. */
import { messageOf } from '../../shared/core/errors.ts';
import { callbackKeyOf } from '../../shared/tasks/durable/callback-id.ts';
import { childIdOf } from '../../shared/tasks/durable/entry.ts';
import type { HistoryEvent } from '../../shared/tasks/durable/history.ts';
import { historyOf } from '../../shared/tasks/durable/history.ts';
import { elementsOfPart, unpacked } from '../../shared/tasks/durable/packed.ts';
import type { ArrivalStore } from '../../shared/tasks/durable/journal-store.ts';
import type { TaskRecord } from '../../shared/tasks/task/task.ts';
import { tableText } from '../listing.ts';
import { momentAndAge, printable, shortened } from '../output.ts';

export async function durableHistory(
  store: Pick<ArrivalStore, 'journalParts'>,
  task: TaskRecord,
): Promise<readonly HistoryEvent[]> {
  const { texts: parts } = await store.journalParts(task);
  try {
    const texts = [...[...parts.values()].flatMap(elementsOfPart), ...(task.journal?.elements ?? []).flatMap(unpacked)];
    return historyOf(task, texts);
  } catch (error) {
    // Whoever mends the journal needs the rest of the task.
    const JournalDamagedDetails = { Error: messageOf(error) };
    const EventTimestamp = new Date(task.createdAt);
    return [{ EventId: 1, EventType: 'JournalDamaged', EventTimestamp, JournalDamagedDetails }];
  }
}

/** The events that a durable task waits for, other than time. */
export interface Awaited {
  /** Name of the operation. */
  readonly name: string;
  /** Id of a callback, which can be answered by it. */
  readonly callback?: string;
  /** Id of the task that was invoked. */
  readonly task?: string;
}

export function awaitedBy(task: TaskRecord, history: readonly HistoryEvent[]): readonly Awaited[] {
  const open = task.journal?.open ?? new Set<string>();
  const children = new Set([...open].map((openKey) => childIdOf(task, openKey)));
  const nameOf = namesIn(history);
  return history.flatMap((event): readonly Awaited[] => {
    const { CallbackId: callback, DurableExecutionArn: child } = detailsOf(event);
    const name = nameOf(event);
    if (callback !== undefined) return open.has(callbackKeyOf(callback).openKey) ? [{ name, callback }] : [];
    return child !== undefined && children.has(child) ? [{ name, task: child }] : [];
  });
}

export function awaitedText(awaited: readonly Awaited[]): string | undefined {
  if (awaited.length === 0) return undefined;
  const texts = awaited.map(({ name, callback, task }) =>
    task === undefined ? `${name} (callback ${callback})` : `${name} (task ${task})`,
  );
  return printable(texts.join(', '));
}

export function durableText(history: readonly HistoryEvent[], now: number): string {
  const nameOf = namesIn(history);
  return tableText(history, {
    event: ({ EventType }) => EventType,
    at: ({ EventTimestamp }) => momentAndAge(EventTimestamp.getTime(), now),
    name: (event) => shortened(nameOf(event), 40),
    details: (event) => shortened(JSON.stringify(detailsOf(event)), 80),
  });
}

/** The operations of a `waitForCallback` have their name in the context above. */
function namesIn(history: readonly HistoryEvent[]): (event: HistoryEvent) => string {
  const names = new Map(history.map(({ Id, Name }) => [Id, Name]));
  return ({ Name, ParentId, Id }) => Name ?? (ParentId && names.get(ParentId)) ?? Id ?? '';
}

function detailsOf(event: HistoryEvent): { readonly CallbackId?: string; readonly DurableExecutionArn?: string } {
  return event[`${event.EventType}Details`] ?? {};
}
