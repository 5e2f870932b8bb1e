/**
 * PAYLOAD: a task that may still run, or be retried, finds its input, wherever that is stored;
 * the process that ended the task removes it once the task is done, unless that process dies.
 * Inputs are compared when the task's code reads them.
 */
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import type { Applied, HistoryEvent, Sent } from '../history.ts';
import type { Family } from './rule.ts';
import { isTask } from './rule.ts';

/** The history's name prefix for objects in the user's own store. */
export const BUCKET_PREFIX = 'bucket/';

interface Payload {
  readonly nonce?: string;
  readonly reference?: string;
}

/** A holder has learned that its task is done: from then on it must remove the payload. */
interface Duty {
  readonly row: string;
  /** The row of the payload. */
  readonly payload: string;
  readonly process: string;
  readonly at: number;
  isOverdue: boolean;
}

export const payloads: Family = (_assumptions, report) => {
  const tasks = new Map<string, DynamoItem>();
  /** Rows of separate payloads. */
  const beside = new Set<string>();
  const objects = new Set<string>();
  /** Operations that have ended a task: its row, and the payload that it had. Others may have put another in before the answer comes. */
  const ending = new Map<number, { readonly row: string; readonly nonce: string }>();
  const duties = new Map<string, Duty>();
  let request: number | undefined;
  const touched = new Set<string>();

  function onApplied({ row, after, operation, before }: Applied): void {
    if (isTask(row)) {
      if (after === undefined) tasks.delete(row);
      else tasks.set(row, after);
      const nonce = nonceOf(after);
      if (operation !== undefined && nonce !== undefined && after?.state === 'done' && before?.state === 'running')
        ending.set(operation, { row, nonce });
      if (after?.state !== 'done') duties.delete(row);
      touched.add(row);
    } else if (row.startsWith(PREFIX)) {
      if (after === undefined) {
        beside.delete(row);
        fulfil(row);
      } else beside.add(row);
      touched.add(taskOf(row));
    }
  }

  function fulfil(row: string): void {
    if (row === duties.get(taskOf(row))?.payload) duties.delete(taskOf(row));
  }

  /** All rows of a request are there. */
  function settle(): void {
    for (const row of touched) check(row);
    touched.clear();
  }

  function check(row: string): void {
    const { payload, state, follower } = tasks.get(row) ?? {};
    if (state === 'done') return;
    for (const one of [payload, (follower as DynamoItem | undefined)?.payload])
      if (one !== undefined) checkOne(row, state, one as Payload);
  }

  function checkOne(row: string, state: unknown, { nonce, reference }: Payload): void {
    if (nonce !== undefined && !beside.has(payloadOf(row, nonce)))
      report('PAYLOAD', row, `is ${String(state)} and its payload ${nonce} is not there`);
    if (reference !== undefined && !objects.has(reference))
      report('PAYLOAD', row, `is ${String(state)} and ${reference}, which it refers to, is not there`);
  }

  function onReference(what: string, reference: string): void {
    if (what === 'stored') objects.add(reference);
    else objects.delete(reference);
    for (const [row, { payload }] of tasks) if ((payload as Payload | undefined)?.reference === reference) check(row);
  }

  /** A process that goes on later has not died, and has not done what it had to do first. */
  function onLater({ process, at }: Sent): void {
    for (const duty of duties.values()) if (duty.process === process && at > duty.at) duty.isOverdue = true;
  }

  function onEvent(event: HistoryEvent): void {
    if (request !== undefined && (event.kind !== 'applied' || event.request !== request)) settle();
    request = event.kind === 'applied' ? event.request : undefined;
    if (event.kind === 'applied') onApplied(event);
    else if (event.kind === 'swept') {
      tasks.delete(event.row);
      duties.delete(event.row);
      if (event.row.startsWith(PREFIX)) beside.delete(event.row);
    } else if (event.kind === 'called' && event.verb === 'payload.delete') fulfil(event.row);
    else if (event.kind === 'acknowledged' && event.row.startsWith(BUCKET_PREFIX))
      onReference(event.what, event.row.slice(BUCKET_PREFIX.length));
    else if (event.kind === 'returned' && event.outcome === 'applied') {
      const { row, nonce } = ending.get(event.operation) ?? {};
      const task = row === undefined ? undefined : tasks.get(row);
      if (row !== undefined && nonce !== undefined && task?.state === 'done' && nonceOf(task) === nonce) {
        const payload = payloadOf(row, nonce);
        duties.set(row, { row, payload, process: event.process, at: event.at, isOverdue: false });
      }
    }
  }

  return {
    on: onEvent,
    onSent: onLater,
    end() {
      settle();
      for (const { row, process, isOverdue } of duties.values())
        if (isOverdue)
          report('PAYLOAD', row, `is done; ${process}, which ended it, went on and left its payload behind`);
    },
  };
};

const PREFIX = 'payload#';

function taskOf(row: string): string {
  return `task#${row.slice(PREFIX.length).replace(/\/nonce#[^/]*$/, '')}`;
}

function payloadOf(task: string, nonce: string): string {
  return `${PREFIX}${task.slice('task#'.length)}/nonce#${nonce}`;
}

/** The key of a payload in a separate row. */
function nonceOf(task: DynamoItem | undefined): string | undefined {
  return (task?.payload as Payload | undefined)?.nonce;
}
