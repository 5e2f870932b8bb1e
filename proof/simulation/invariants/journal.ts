/**
 * Of durable tasks, read from the rows alone:
 *
 * JOURNAL recorded elements are written and stay, in one order; only the holder of the latest claim adds to it, each write once.
 * ONCE an operation ends once, and a step with a recorded end does not run again; a step that may run once has its start recorded first.
 * ARRIVE an accepted answer is in the journal, and wakes its task; the code ends with it. The same holds for a request to cancel it.
 * OPEN an answer is accepted at most once, and never after its timeout; the waiting operation gets it.
 * CHILD the child of an invoke exists if and only if its start is recorded, and its end is reported once.
 * EFFECT a step's own write is applied with its record, or not at all.
 */
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import type { Acknowledged, Applied, HistoryEvent, Stepped } from '../history.ts';
import { isDeepStrictEqual } from 'node:util';
import { QUEUE_NAME, USER_TABLE } from '../rows.ts';
import type { Family } from './rule.ts';
import { isTask, textOf } from './rule.ts';
import { EPOCH_MS } from './sessions.ts';

interface Entry {
  readonly a: string;
  readonly i?: string;
  readonly y?: string;
  readonly r?: string;
  readonly e?: { readonly ErrorMessage?: string };
  readonly b?: number;
  readonly c?: string;
  readonly l?: string;
}
interface Element {
  readonly w?: readonly [number, number];
  readonly e: readonly Entry[];
}
/** The journal of one piece of work. */
interface Log {
  readonly texts: readonly string[];
  /** By operation: the action that ended it. */
  readonly ended: Map<string, string>;
  /** Operations whose start is recorded, and ends of attempts. */
  readonly started: Set<string>;
  readonly tried: Set<string>;
  lastWrite: readonly [number, number];
}
interface Change {
  readonly row: string;
  readonly event: Applied;
  /** Operations that ended well by it. */
  readonly succeeded: Set<string>;
  /** Keys of the children that it starts. */
  readonly invoked: Set<string>;
}

const WORK = ['createdAt', 'input', 'payload', 'work'] as const;
const ENDS = new Set(['succeed', 'fail', 'cancel', 'timeout', 'stop']);
/** The operations that an operator's retry runs again. */
const REDRIVEN = new Set(['fail', 'timeout', 'stop']);
const ENDED = new Set<unknown>(['done', 'dead', 'cancelled']);
const RECEIPT = new RegExp(`^${USER_TABLE}/step-(.+)-\\d+\\.\\d+-([a-z]+\\d+[a-z]?)$`);
const NEVER = 253_402_300_799_999;
/** A retry, or an operator, may have put a task off that something has arrived for. */
const PUT_OFF_MS = 10_000;

export const journal: Family = (assumptions, report) => {
  const logs = new Map<string, Log>();
  const rows = new Map<string, DynamoItem>();
  /** When an operator last brought an ended task back. */
  const revived = new Map<string, number>();
  /** Part rows, by the name of the row. */
  const parts = new Map<string, DynamoItem>();
  /** Contents of arrivals, by the name of their row. */
  const contents = new Map<string, string>();
  /** Texts of all arrived answers, and the keys of the accepted ones. */
  const arrived = new Set<string>();
  const accepted = new Map<string, string>();
  const suspensions = new Set<number>();
  let request: number | undefined;
  let changes: Change[] = [];
  let receipts: { readonly row: string; readonly task: string; readonly op: string }[] = [];
  let created: { readonly row: string; readonly notify: DynamoItem }[] = [];
  let children: { readonly row: string; readonly notify: DynamoItem }[] = [];

  function onApplied(event: Applied): void {
    const { row, before, after } = event;
    if (row.startsWith('journal#')) {
      if (before !== undefined && !isDeepStrictEqual(before.text, after?.text))
        report('JOURNAL', row, 'a part of a journal was changed');
      if (after !== undefined) parts.set(row, after);
    } else if (row.startsWith('arrival#')) contents.set(row, textOf(after?.text) ?? '');
    else if (row.startsWith(`${USER_TABLE}/step-`)) onReceipt(event);
    else if (isTask(row)) onTask(event);
  }

  function onReceipt({ row, after }: Applied): void {
    if (Number(after?.count) !== 1) report('EFFECT', row, `was written ${String(after?.count)} times`);
    const [, id, op] = RECEIPT.exec(row) ?? [];
    receipts.push({ row, task: `task#${QUEUE_NAME}#${id}`, op: op ?? '' });
  }

  function onTask(event: Applied): void {
    const { row, before, after } = event;
    if (after === undefined) return void rows.delete(row);
    rows.set(row, after);
    if (ENDED.has(before?.state) && !ENDED.has(after.state)) revived.set(row, event.at);
    const notify = (after.notify ?? before?.notify) as DynamoItem | undefined;
    if (notify !== undefined && before === undefined) created.push({ row, notify });
    if (notify !== undefined && before !== undefined && !ENDED.has(before.state) && ENDED.has(after.state))
      children.push({ row, notify });
    if (before?.journal === undefined && after.journal === undefined && !logs.has(row)) return;
    changes.push({ row, event, succeeded: new Set(), invoked: new Set() });
  }

  /** All rows of a request are there. */
  function settle(): void {
    for (const change of changes) judge(change);
    const changeOf = (row: string) => changes.find((one) => one.row === row);
    for (const { row, task, op } of receipts)
      if (changeOf(task)?.succeeded.has(op) !== true) report('EFFECT', row, `was written without the record of ${op}`);
    for (const { row, succeeded, invoked } of changes) {
      for (const op of succeeded)
        if (op.startsWith('effect') && !receipts.some((receipt) => receipt.task === row && receipt.op === op))
          report('EFFECT', row, `${op} was recorded without its write`);
      for (const openKey of invoked)
        if (!created.some(({ notify }) => notify.openKey === openKey && taskOf(notify) === row))
          report('CHILD', row, `the start of ${openKey} was recorded without its task`);
    }
    for (const { row, notify } of created)
      if (changeOf(taskOf(notify))?.invoked.has(String(notify.openKey)) !== true)
        report('CHILD', row, 'was created without the record of its start');
    for (const { row, notify } of children)
      if (openOf(rows.get(taskOf(notify))).has(String(notify.openKey)))
        report('CHILD', row, `ended, and ${taskOf(notify)} was not told`);
    changes = [];
    receipts = [];
    created = [];
    children = [];
  }

  function judge(change: Change): void {
    const { row, event } = change;
    const { before, after = {} } = event;
    const isSame = WORK.every((name) => isDeepStrictEqual(before?.[name], after[name]));
    const old = isSame ? logs.get(row) : undefined;
    const texts = textsOf(row, after);
    if (old?.texts.some((text, at) => texts[at] !== text) === true) {
      report('JOURNAL', row, `has ${texts.length} elements, which do not begin with the ${old.texts.length} before`);
      return;
    }
    if (texts.length === 0) return void logs.delete(row);
    const log: Log = {
      texts,
      ended: old?.ended ?? new Map<string, string>(),
      started: old?.started ?? new Set(),
      tried: old?.tried ?? new Set(),
      lastWrite: old?.lastWrite ?? [0, 0],
    };
    logs.set(row, log);
    // The code runs again before that is written.
    if (after.generation !== before?.generation) redrive(log);
    for (const text of texts.slice(old?.texts.length ?? 0)) onElement(change, log, JSON.parse(text) as Element);
    const isArrivalLast = (JSON.parse(texts.at(-1) ?? '{}') as Element).w === undefined;
    const readyAt = Number(after.readyAt);
    const isLate = readyAt === NEVER || (assumptions.clocksHold && readyAt > EPOCH_MS + event.at + PUT_OFF_MS);
    if (after.state === 'ready' && isArrivalLast && isLate)
      report('ARRIVE', row, `waits until ${readyAt}, and something has arrived that nobody has seen`);
    if (event.operation !== undefined && suspensions.has(event.operation) && after.cancellation !== undefined)
      report('ARRIVE', row, 'waits, and nobody has seen the request to cancel it');
    if (after.state === 'done' && before?.state !== 'done') onDone(row, after, log);
  }

  function onElement(change: Change, log: Log, { w, e }: Element): void {
    const { row, event } = change;
    if (w === undefined) onArrival(change, e);
    else {
      const [counter, sequence] = w;
      const [lastCounter, last] = log.lastWrite;
      if (event.before?.state !== 'running' || counter !== Number(event.before.leaseCounter))
        report('JOURNAL', row, `counter ${counter} added to it; it is ${String(event.before?.leaseCounter)}`);
      if (counter === lastCounter && sequence <= last)
        report('JOURNAL', row, `write ${sequence} of counter ${counter} came after write ${last}`);
      log.lastWrite = w;
    }
    for (const entry of e) onEntry(change, log, entry, w === undefined);
  }

  function onArrival({ row, event: { before, after } }: Change, entries: readonly Entry[]): void {
    for (const { i = '', r, e, l } of entries) {
      const openKey = [...openOf(before)].find((key) => key.startsWith(`${i}.`));
      if (openKey === undefined) report('OPEN', row, `something arrived for ${i}, which does not wait`);
      else if (openOf(after).has(openKey))
        report('OPEN', row, `${openKey} still waits, and something has arrived for it`);
      const apart = l === undefined ? undefined : contents.get(`${row.replace(/^task#/, 'arrival#')}/arrival#${l}`);
      const content = apart === undefined ? { r, e } : (JSON.parse(apart) as Pick<Entry, 'r' | 'e'>);
      arrived.add(`${row} ${content.r ?? content.e?.ErrorMessage ?? ''}`);
    }
  }

  function onEntry({ row, succeeded, invoked }: Change, log: Log, entry: Entry, isArrival: boolean): void {
    const { a, i = '', c } = entry;
    if (a === 'redrive') {
      redrive(log);
      return;
    }
    if (a === 'start' && entry.y === 'CHAINED_INVOKE' && c !== undefined) invoked.add(`${i}.${c}`);
    if (a === 'start' || entry.b !== undefined) log.started.add(i);
    if (a === 'retry') log.tried.add(i);
    if (!ENDS.has(a)) return;
    const how = log.ended.get(i);
    const isOpenRule = isArrival || a === 'timeout' || how === 'timeout';
    if (how !== undefined) report(isOpenRule ? 'OPEN' : 'ONCE', row, `${i} ended as ${how}, and again as ${a}`);
    log.ended.set(i, how ?? a);
    if (a === 'succeed') succeeded.add(i);
  }

  /** The code has seen each answer, and no other. */
  function onDone(row: string, after: DynamoItem, log: Log): void {
    const { answers = {} } = JSON.parse(textOf(after.result) ?? '{}') as { readonly answers?: Record<string, string> };
    for (const [op, given] of Object.entries(answers)) {
      const how = log.ended.get(`${op}c`);
      const hasTimedOut = given.includes('TIMED_OUT');
      if (how === undefined || hasTimedOut !== (how === 'timeout'))
        report('ARRIVE', row, `its code was told ${given} of ${op}, which has ended as ${String(how)}`);
      else if (how === 'succeed' && !arrived.has(`${row} ${JSON.stringify(given)}`))
        report('ARRIVE', row, `its code was told ${given} of ${op}, which has not arrived`);
    }
  }

  function onStepped({ kind, row, token, op, process }: Stepped): void {
    const log = logs.get(row);
    const how = log?.ended.get(op);
    // The requests of a superseded holder are not recorded.
    if (Number(rows.get(row)?.leaseCounter) !== token || rows.get(row)?.state !== 'running') return;
    if (kind === 'recorded') {
      if (how === undefined && log?.tried.has(op) !== true)
        report('JOURNAL', row, `${process} was told that the end of ${op} is recorded, and it is not`);
    } else if (how !== undefined) report('ONCE', row, `${process} runs ${op} again, which has ended as ${how}`);
    else if (op.startsWith('once') && log?.started.has(op) !== true)
      report('ONCE', row, `${process} runs ${op}, whose start is not recorded`);
  }

  function onAnswered({ row, value }: Acknowledged): void {
    const { openKey, how, text, since } = JSON.parse(value ?? '{}') as Record<'openKey' | 'how' | 'text', string> & {
      readonly since: number;
    };
    if (how === 'accepted') {
      if (!arrived.has(`${row} ${text}`)) report('ARRIVE', row, `the answer of ${openKey} was accepted, and is lost`);
      const other = accepted.get(`${row} ${openKey}`);
      if (other !== undefined) report('OPEN', row, `two answers of ${openKey} were accepted`);
      accepted.set(`${row} ${openKey}`, text);
    }
    const hasWaited = !ENDED.has(rows.get(row)?.state) && since > (revived.get(row) ?? -Infinity);
    if (how === 'over' && hasWaited && openOf(rows.get(row)).has(openKey))
      report('OPEN', row, `${openKey} waits, and its answer was told that it is over`);
  }

  function textsOf(row: string, item: DynamoItem): readonly string[] {
    const elements = (item.journal ?? []) as readonly unknown[];
    const own = elements.flatMap((one) =>
      typeof one === 'string' ? [one] : (JSON.parse(textOf(one) ?? '[]') as string[]),
    );
    const before: string[] = [];
    let name = item.journalPart;
    while (typeof name === 'string') {
      const part = parts.get(`${row.replace(/^task#/, 'journal#')}/part#${name}`);
      before.unshift(...(JSON.parse(textOf(part?.text) ?? '[]') as string[]));
      name = part?.before;
    }
    return [...before, ...own];
  }

  return {
    on(event: HistoryEvent) {
      if (event.kind !== 'applied' || event.request !== request) {
        if (request !== undefined) settle();
        request = undefined;
      }
      if (event.kind === 'applied') {
        ({ request } = event);
        onApplied(event);
      } else if (event.kind === 'called' && event.verb === 'task.suspend') suspensions.add(event.operation);
      else if (event.kind === 'stepped' || event.kind === 'recorded') onStepped(event);
      else if (event.kind === 'acknowledged' && event.what === 'answered') onAnswered(event);
      else if (event.kind === 'swept') {
        rows.delete(event.row);
        logs.delete(event.row);
      }
    },
    end: settle,
  };
};

/** Operations that failed run again. */
function redrive({ ended, started }: Log): void {
  const again = [...ended].flatMap(([op, how]) => (REDRIVEN.has(how) ? [op] : []));
  // The requester gets the callback's new id.
  for (const op of again.flatMap((one) => [one, `${one}s`])) {
    ended.delete(op);
    started.delete(op);
  }
}

function openOf(item: DynamoItem | undefined): ReadonlySet<string> {
  return (item?.open as ReadonlySet<string> | undefined) ?? new Set();
}

function taskOf({ queue, id }: DynamoItem): string {
  return `task#${String(queue)}#${String(id)}`;
}
