/** What has happened in a durable task, for `leasehold tasks show`. */
import type { HistoryEvent } from '../../shared/tasks/durable/history.ts';
import { historyOf } from '../../shared/tasks/durable/history.ts';
import { elementsOfPart, unpacked } from '../../shared/tasks/durable/packed.ts';
import type { TaskStore } from '../../shared/tasks/task/task-store.ts';
import type { TaskRecord } from '../../shared/tasks/task/task.ts';
import { tableText } from '../listing.ts';
import { relative, shortened } from '../output.ts';

export async function durableHistory(store: TaskStore, task: TaskRecord): Promise<readonly HistoryEvent[]> {
  const parts = await store.journalParts(task);
  const texts = [...parts.flatMap(elementsOfPart), ...(task.journal?.elements ?? []).flatMap(unpacked)];
  return historyOf(task, texts);
}

export function durableText(history: readonly HistoryEvent[], now: number): string {
  return tableText(history, {
    event: ({ EventType }) => EventType,
    at: ({ EventTimestamp }) => relative(EventTimestamp.getTime(), now),
    name: ({ Name, Id }) => shortened(Name ?? Id ?? '', 40),
    details: (event) => shortened(JSON.stringify(event[`${event.EventType}Details`] ?? {}), 80),
  });
}
