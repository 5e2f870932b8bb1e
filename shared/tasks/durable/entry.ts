/**
 * The journal of a durable task: a log of entries. An element holds the entries of one write of a holder, or one arrival from outside.
 * Names are short, because each byte is billed several times.
 */
import type { TaskRecord } from '../task/task.ts';

export type OperationType = 'STEP' | 'WAIT' | 'CALLBACK' | 'CHAINED_INVOKE' | 'CONTEXT' | 'EXECUTION';

/** As the SDK writes errors. */
export interface OperationError {
  readonly ErrorType?: string | undefined;
  readonly ErrorMessage?: string | undefined;
  readonly ErrorData?: string | undefined;
  readonly StackTrace?: string[] | undefined;
}

/** `end`: of an invocation. `redrive`: an operator has made the dead task ready again. */
export type Action = 'start' | 'succeed' | 'fail' | 'retry' | 'cancel' | 'timeout' | 'stop' | 'end' | 'redrive';

export interface Entry {
  readonly a: Action;
  /** When, by the writer's clock. */
  readonly t: number;
  /** Id of the operation; absent for `end` and `redrive`. */
  readonly i?: string;
  readonly y?: OperationType;
  /** Parent, name and subtype. */
  readonly p?: string;
  readonly n?: string;
  readonly s?: string;
  /** Result, or the state of a retried step, as the text that the SDK made. */
  readonly r?: string;
  readonly e?: OperationError;
  /** Seconds: the duration of a wait, the delay of a retry, the timeout of a callback. For a redrive: the generation. */
  readonly d?: number;
  /** Seconds between heartbeats of a callback. */
  readonly h?: number;
  /** The operations of this context are needed again. */
  readonly x?: true;
  /** The task that an invoke starts, by its name. */
  readonly f?: string;
  /** The part that makes the operation's key unique: the secret of a callback, the number of an invoke's child. */
  readonly c?: string;
  /** Result and error are in the row of the arrival, which has this key. */
  readonly l?: string;
  /** When the operation started, if this entry replaces its start too. */
  readonly b?: number;
}

export interface Element {
  /** Counter and number of the holder's write. Absent: an arrival. */
  readonly w?: readonly [number, number];
  /** Nonce of an arrival. */
  readonly o?: string;
  readonly e: readonly Entry[];
}

/** The row's name of an operation that waits for an external event. */
export function openKeyOf(op: string, unique: string): string {
  return `${op}.${unique}`;
}

/** The operation of such a key. */
export function operationOf(openKey: string): string {
  return openKey.slice(0, openKey.indexOf('.'));
}

/** Id of the task that an invoke starts. */
export function childIdOf({ runId }: Pick<TaskRecord, 'runId'>, openKey: string): string {
  return `${runId}/${openKey}`;
}

/** Joins the start of an operation with its end, if that follows at once, and leaves out what is known. */
export function joined(entries: readonly Entry[], known: (id: string) => boolean): readonly Entry[] {
  const started = new Set<string>();
  return entries.flatMap((entry, at): readonly Entry[] => {
    const { a, i = '', n: _n, s: _s, p: _p, ...rest } = entry;
    const before = entries[at - 1];
    if (a === 'start') {
      started.add(i);
      return isJoined(entry, entries[at + 1]) && !known(i) ? [] : [entry];
    }
    if (before !== undefined && isJoined(before, entry) && !known(i)) return [{ ...entry, b: before.t }];
    return a === 'end' || !(known(i) || started.has(i)) ? [entry] : [{ a, i, ...rest }];
  });
}

function isJoined(start: Entry, end: Entry | undefined): boolean {
  return start.a === 'start' && start.i === end?.i && (end?.a === 'succeed' || end?.a === 'fail');
}

/** The entries before `joined`, in their order. */
export function parted(entries: readonly Entry[]): readonly Entry[] {
  return entries.flatMap((entry) => {
    const { r: _r, e: _e, x: _x, b, ...start } = entry;
    return b === undefined ? [entry] : [{ ...start, a: 'start', t: b }, entry];
  });
}
