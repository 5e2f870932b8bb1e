/**
 * I2 fenced effects: the user's writes of a commit happen once per task, together with its end, or not at all.
 * I2b no acknowledged update lost: progress that was acknowledged is never overwritten by something older.
 */
import type { Acknowledged, Applied } from '../history.ts';
import { USER_TABLE } from '../rows.ts';
import type { Family } from './rule.ts';
import { isTask } from './rule.ts';

/** Rows that a commit writes once per task are named after it. */
export const RECEIPT_PREFIX = `${USER_TABLE}/receipt-`;

/** Progress as the workload writes it: which claim, and which step of it. */
export interface Step {
  readonly token: number;
  readonly step: number;
}

export const effects: Family = (_assumptions, report) => {
  /** By request: the task rows that it ended. */
  let lastEnded: { readonly request: number; readonly row: string } | undefined;
  const acknowledged = new Map<string, Step>();

  function onReceipt({ row, after, request, process }: Applied): void {
    if (Number(after?.count) !== 1)
      report('I2', row, `its effect was applied ${String(after?.count)} times, last by ${process}`);
    if (lastEnded?.request !== request)
      report('I2', row, `its effect was applied by ${process} without ending the task`);
  }

  function onTask({ row, before, after, request }: Applied): void {
    if (after?.state === 'done' && before?.state === 'running') lastEnded = { request, row };
    if (before === undefined) acknowledged.delete(row);
    const known = acknowledged.get(row);
    if (known === undefined || after === undefined || before?.progress === after.progress) return;
    const found = stepOf(after.progress);
    if (found === undefined || isBefore(found, known))
      report('I2b', row, `progress ${describe(known)} was acknowledged and overwritten by ${describe(found)}`);
  }

  function onAcknowledged({ row, what, value }: Acknowledged): void {
    const step = what === 'progress' ? stepOf(value) : undefined;
    if (step !== undefined) acknowledged.set(row, step);
  }

  return {
    on(event) {
      if (event.kind === 'acknowledged') onAcknowledged(event);
      else if (event.kind === 'swept') acknowledged.delete(event.row);
      else if (event.kind === 'applied' && event.row.startsWith(RECEIPT_PREFIX)) onReceipt(event);
      else if (event.kind === 'applied' && isTask(event.row)) onTask(event);
    },
  };
};

function stepOf(json: unknown): Step | undefined {
  if (typeof json !== 'string') return undefined;
  const value = JSON.parse(json) as Partial<Step> | null;
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
