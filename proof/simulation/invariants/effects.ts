/**
 * I2 fenced effects: the user's writes of a commit happen once per task, together with its end, or not at all.
 * I2b no acknowledged update lost: progress that was acknowledged is never overwritten by something older.
 */
import { splitKey } from '../../../shared/dynamo/engine/keys.ts';
import type { Acknowledged, Applied, HistoryEvent } from '../history.ts';
import { isDeepStrictEqual } from 'node:util';
import { taskRow } from '../observed-stores.ts';
import { QUEUE_NAME, USER_TABLE } from '../rows.ts';
import type { Family } from './rule.ts';
import { isTask, textOf } from './rule.ts';

/** Rows that a commit writes once per task are named after it. */
export const RECEIPT_PREFIX = `${USER_TABLE}/receipt-`;

/** Attributes that differ if an id has different work. */
const WORK = ['createdAt', 'input', 'payload'] as const;

/** Progress as the workload writes it: which claim, and which step of it. */
interface Step {
  readonly token: number;
  readonly step: number;
}

/** Orders that the user writes together with their tasks. */
const ORDER = new RegExp(`^${USER_TABLE}/(order\\d+)-\\d+$`);

export const effects: Family = (_assumptions, report) => {
  /** The task that the last request created. */
  let created: { readonly request: number; readonly task: string } | undefined;
  /** The task that the last request ended: what its receipts may be named after. */
  let lastEnded: { readonly request: number; readonly id: string } | undefined;
  const acknowledged = new Map<string, Step>();
  /** Rows whose writers were told that nothing was applied. */
  const declined = new Set<string>();

  function onReceipt({ row, after, request, process }: Applied): void {
    if (Number(after?.count) !== 1)
      report('I2', row, `its effect was applied ${String(after?.count)} times, last by ${process}`);
    const isEnded = lastEnded !== undefined && row.startsWith(`${RECEIPT_PREFIX}${lastEnded.id}-`);
    if (lastEnded?.request !== request || !isEnded)
      report('I2', row, `its effect was applied by ${process} without ending the task`);
  }

  function onTask({ row, before, after, request }: Applied): void {
    // A task that continues with other work has also ended.
    const isFollowed = before?.follower !== undefined && after?.state === 'ready';
    if (before?.state === 'running' && (after?.state === 'done' || isFollowed))
      lastEnded = { request, id: splitKey(row)[2] ?? '' };
    // Other work under the same id begins without what the work before it has left.
    if (WORK.some((name) => !isDeepStrictEqual(before?.[name], after?.[name]))) acknowledged.delete(row);
    const known = acknowledged.get(row);
    if (known === undefined || after === undefined || textOf(before?.progress) === textOf(after.progress)) return;
    const found = stepOf(after.progress);
    if (found === undefined || isBefore(found, known))
      report('I2b', row, `progress ${describe(known)} was acknowledged and overwritten by ${describe(found)}`);
  }

  function onAcknowledged({ row, what, value }: Acknowledged): void {
    if (what === 'declined') declined.add(row);
    const step = what === 'progress' ? stepOf(value) : undefined;
    if (step !== undefined) acknowledged.set(row, step);
  }

  /** An order and its task, which is the first in their transaction, are there together, or not at all. */
  function onOrders(event: HistoryEvent): void {
    if (event.kind !== 'applied') return;
    const { row, request, process } = event;
    if (declined.has(row)) report('I2', row, `was written by ${process}, who had been told that it was refused`);
    if (event.after?.state === 'ready' && event.before?.state === undefined) created = { request, task: row };
    const [, id] = ORDER.exec(row) ?? [];
    if (id === undefined || event.before !== undefined) return;
    const isWithTask = created?.request === request && created.task === taskRow({ queue: QUEUE_NAME, id });
    if (!isWithTask) report('I2', row, 'was written without its task');
  }

  return {
    on(event) {
      onOrders(event);
      if (event.kind === 'acknowledged') onAcknowledged(event);
      else if (event.kind === 'swept') acknowledged.delete(event.row);
      else if (event.kind === 'applied' && event.row.startsWith(RECEIPT_PREFIX)) onReceipt(event);
      else if (event.kind === 'applied' && isTask(event.row)) onTask(event);
    },
  };
};

function stepOf(progress: unknown): Step | undefined {
  const text = textOf(progress);
  if (text === undefined) return undefined;
  const value = JSON.parse(text) as Partial<Step> | null;
  return typeof value?.token === 'number' && typeof value.step === 'number'
    ? { token: value.token, step: value.step }
    : undefined;
}

function isBefore(one: Step, other: Step): boolean {
  return one.token < other.token || (one.token === other.token && one.step < other.step);
}

function describe(step: Step | undefined): string {
  return step === undefined ? 'nothing' : `${step.token}/${step.step}`;
}
