/**
 * PACK: the small tasks of a pack, its items.
 *   Their records only grow, whichever worker has the pack, and are never taken back: no end is lost.
 *   An item is recorded as done only after its code ended well under the same
 *   claim that records it, and it has one end: done or moved, not both.
 *   Items recorded when a claim began do not run again under it; and under one claim an item runs once.
 *   It is moved in the same write that creates its own row, and no other write creates that row: items are neither lost nor doubled.
 *   It takes its past attempts along, except one that a snooze, a hand-back or an outage of the table gives back;
 *   its counter (I3) starts no lower than the tokens of its runs in the pack.
 *   Only an open item is cancelled.
 *   A pack is done only when no item is open.
 *   An item's result stays as it was recorded.
 */
import { itemId } from '../../../shared/tasks/task/pack.ts';
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import type { Acknowledged, Applied, HistoryEvent, Ran } from '../history.ts';
import type { PastAttempt } from '../../../shared/tasks/task/task.ts';
import { taskRow } from '../observed-stores.ts';
import type { Family } from './rule.ts';
import { isTask, textOf } from './rule.ts';

const MARKS = ['done', 'moved', 'cancelled'] as const;

export const isPack = (item: DynamoItem | undefined): boolean => item?.total !== undefined;

/** Returns the history's name of an item that runs in its pack, whoever owns the row of that name. */
export function itemName(row: string): string {
  return row.replace('task#', 'item#');
}

/** The row that an item of a pack gets when it leaves. */
function itemRow({ queue, id }: DynamoItem, index: number): string {
  return taskRow({ queue: String(queue), id: itemId(String(id), index) });
}

export function marked(row: DynamoItem | undefined, mark: (typeof MARKS)[number]): ReadonlySet<number> {
  return (row?.[mark] as ReadonlySet<number> | undefined) ?? new Set();
}

export const packs: Family = (assumptions, report) => {
  const verbs = new Map<number, string>();
  const rows = new Map<string, DynamoItem>();
  /** By name: the pack that an item belongs to, and where. */
  const items = new Map<string, { readonly pack: string; readonly index: number }>();
  /** By pack row and counter: the items that were decided when that claim began. */
  const decidedAtClaim = new Map<string, ReadonlySet<number>>();
  /** By name of the item, and counter of the pack. */
  const began = new Set<string>();
  const ended = new Set<string>();
  /** Rows that the request under way must create, and the packs that they leave. */
  const leaving = new Map<string, DynamoItem>();
  let request: number | undefined;

  function onPack({ row, before, after, process }: Applied): void {
    if (after === undefined) return;
    rows.set(row, after);
    for (let index = 0; index < Number(after.total); index++)
      items.set(itemName(itemRow(after, index)), { pack: row, index });
    if (after.state === 'running' && before?.leaseCounter !== after.leaseCounter)
      decidedAtClaim.set(`${row} ${String(after.leaseCounter)}`, decided(after));
    for (const mark of MARKS)
      for (const index of marked(before, mark))
        if (!marked(after, mark).has(index))
          report('PACK', row, `item ${index} was ${mark}, and ${process} took it back`);
    for (const index of marked(after, 'cancelled'))
      if (!marked(before, 'cancelled').has(index) && decided(before).has(index))
        report('PACK', row, `item ${index} was cancelled after its end`);
    for (const index of marked(after, 'done')) {
      if (marked(after, 'moved').has(index)) report('PACK', row, `item ${index} is done, and has moved out`);
      if (!marked(before, 'done').has(index)) onDone(row, after, index);
    }
    for (const index of marked(after, 'moved'))
      if (!marked(before, 'moved').has(index)) leaving.set(itemRow(after, index), after);
    if (after.state === 'done' && decided(after).size < Number(after.total))
      report('PACK', row, `is done, and of ${String(after.total)} items ${decided(after).size} are`);
    checkResults(row, before, after);
  }

  function onDone(row: string, pack: DynamoItem, index: number): void {
    if (!ended.has(`${itemName(itemRow(pack, index))} ${String(pack.leaseCounter)}`))
      report(
        'PACK',
        row,
        `item ${index} was recorded as done under counter ${String(pack.leaseCounter)}; its code did not end under that`,
      );
  }

  function checkResults(row: string, before: DynamoItem | undefined, after: DynamoItem): void {
    if (textOf(before?.results) === textOf(after.results)) return;
    const [were, are] = [resultsOf(before), resultsOf(after)];
    for (const [index, result] of Object.entries(were))
      if (JSON.stringify(are[index]) !== JSON.stringify(result))
        report(
          'PACK',
          row,
          `what item ${index} returned, ${JSON.stringify(result)}, became ${JSON.stringify(are[index])}`,
        );
  }

  function onItem({ row, before, after, operation }: Applied): void {
    const isMove = operation !== undefined && verbs.get(operation) === 'pack.move';
    if (before !== undefined || !isMove) return;
    const pack = leaving.get(row);
    leaving.delete(row);
    if (pack === undefined) {
      report('PACK', row, 'was created as an item that moves out, and its pack does not say so');
      return;
    }
    // An item that failed, or killed its worker, has spent this attempt; a snoozing or handed-back item is not charged for it.
    const attempts = Number(pack.attempts);
    const left = Object.entries(after ?? {}).find(([name]) => name.startsWith('past'))?.[1] as
      | Partial<PastAttempt>
      | undefined;
    const isRefunded = left?.how === 'snoozed' || left?.how === 'released';
    if (after?.attempts !== (isRefunded ? attempts - 1 : attempts))
      report('PACK', row, `left its pack with ${String(after?.attempts)} attempts; the pack had ${attempts}`);
    const mayBe = assumptions.maxAttempts(String(after?.name));
    if (after?.state === 'ready' && after.lastError !== undefined && Number(after.attempts) >= mayBe)
      report(
        'I18',
        row,
        `left its pack to be tried again after ${String(after.attempts)} attempts, ${mayBe} are allowed`,
      );
    if (Number(after?.leaseCounter) < Number(pack.leaseCounter))
      report(
        'I3',
        row,
        `starts at counter ${String(after?.leaseCounter)}, and was run under ${String(pack.leaseCounter)}`,
      );
  }

  function onBegan({ row, token, process }: Ran): void {
    const item = items.get(row);
    if (item === undefined) return;
    if (decidedAtClaim.get(`${item.pack} ${token}`)?.has(item.index) === true)
      report('PACK', row, `runs again, in ${process}: it was decided when claim ${token} of its pack began`);
    if (began.has(`${row} ${token}`)) report('PACK', row, `runs twice under claim ${token} of its pack, in ${process}`);
    began.add(`${row} ${token}`);
  }

  /** An item that commits in its pack is done there. */
  function onCommitted({ row, value }: Acknowledged): void {
    const item = items.get(row);
    if (item !== undefined && !marked(rows.get(item.pack), 'done').has(item.index))
      report('I17', row, `its commit of ${value} was acknowledged, and its pack does not say so`);
  }

  function settle(): void {
    for (const row of leaving.keys()) report('PACK', row, 'moved out of its pack, and has not got a row');
    leaving.clear();
  }

  function onEvent(event: HistoryEvent): void {
    if (request !== undefined && (event.kind !== 'applied' || event.request !== request)) settle();
    request = event.kind === 'applied' ? event.request : undefined;
    if (event.kind === 'called') verbs.set(event.operation, event.verb);
    else if (event.kind === 'applied' && isTask(event.row)) {
      if (isPack(event.after)) onPack(event);
      else onItem(event);
    } else if (event.kind === 'began') onBegan(event);
    else if (event.kind === 'ended') ended.add(`${event.row} ${event.token}`);
    else if (event.kind === 'acknowledged' && event.what === 'committed') onCommitted(event);
    else if (event.kind === 'swept') rows.delete(event.row);
  }

  return { on: onEvent, end: settle };
};

function resultsOf(pack: DynamoItem | undefined): Readonly<Record<string, unknown>> {
  return JSON.parse(textOf(pack?.results) ?? '{}') as Readonly<Record<string, unknown>>;
}

function decided(pack: DynamoItem | undefined): ReadonlySet<number> {
  return new Set(MARKS.flatMap((mark) => [...marked(pack, mark)]));
}
