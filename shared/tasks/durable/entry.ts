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
  /** Start of the operation, if this entry replaces both; and its position, see `joined`. */
  readonly b?: number;
  readonly q?: number;
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

/**
 * Joins the start of an operation with its end, if both are written at once, and leaves out what is known.
 * `q` is the place of the start among the entries; without it, the start came just before the end.
 */
export function joined(entries: readonly Entry[], known: (id: string) => boolean): readonly Entry[] {
  const starts = new Map<string, { readonly at: number; readonly t: number }>();
  const dropped = new Set<number>();
  const kept = entries.map((entry, at): Entry => {
    const { a, i = '' } = entry;
    if (a === 'start') {
      starts.set(i, { at, t: entry.t });
      return entry;
    }
    const start = starts.get(i);
    if ((a === 'succeed' || a === 'fail') && start !== undefined && !known(i)) {
      dropped.add(start.at);
      starts.delete(i);
      return { ...entry, b: start.t, ...(start.at === at - 1 ? {} : { q: start.at }) };
    }
    if (a === 'end' || (!known(i) && start === undefined)) return entry;
    const { n: _n, s: _s, p: _p, ...rest } = entry;
    return rest;
  });
  return kept.filter((_, at) => !dropped.has(at));
}

/** The entries before `joined`, in their order. */
export function parted(entries: readonly Entry[]): readonly Entry[] {
  const total = entries.length + entries.filter(({ b }) => b !== undefined).length;
  const places: (Entry | undefined)[] = Array.from({ length: total });
  for (const entry of entries) if (entry.q !== undefined) places[entry.q] = startOf(entry);
  let free = 0;
  const put = (entry: Entry): void => {
    while (places[free] !== undefined) free++;
    places[free] = entry;
  };
  for (const entry of entries) {
    if (entry.b !== undefined && entry.q === undefined) put(startOf(entry));
    put(entry);
  }
  return places.flatMap((entry) => entry ?? []);
}

function startOf({ r: _r, e: _e, x: _x, b, q: _q, ...rest }: Entry): Entry {
  return { ...rest, a: 'start', t: b ?? rest.t };
}
