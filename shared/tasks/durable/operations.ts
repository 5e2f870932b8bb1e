/**
 * The state machine of a durable execution: the entries of its journal, folded into its operations.
 *
 *   STEP     start ▶ STARTED ─ succeed ▶ SUCCEEDED      WAIT      start ▶ STARTED ─ its time ▶ SUCCEEDED
 *            STARTED ─ fail ▶ FAILED                    CALLBACK  start ▶ STARTED ─ an answer ▶ SUCCEEDED, FAILED
 *            STARTED ─ retry ▶ PENDING ─ its time ▶               STARTED ─ its timeout, decided by a write ▶ TIMED_OUT
 *            READY ─ start ▶ STARTED                    INVOKE    start ▶ STARTED ─ end of the child ▶ SUCCEEDED, FAILED,
 *   CONTEXT  start ▶ STARTED ─ succeed, fail ▶ SUCCEEDED, FAILED            TIMED_OUT, STOPPED
 *
 * An end is final: a later entry of the same operation changes nothing. So the order of the entries in the journal decides.
 * A wait and a retry end by the clock. The timeout of a callback does not: the code acts on it, and an answer must be refused from then on.
 * The operations of a context that is over are not told to a new invocation, unless the context asked for them.
 */
import type { Entry, OperationError, OperationType } from './entry.ts';
import { openKeyOf } from './entry.ts';

type Status = 'STARTED' | 'PENDING' | 'READY' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED' | 'TIMED_OUT' | 'STOPPED';

export interface OperationState {
  readonly id: string;
  readonly type: OperationType;
  readonly parent: string | undefined;
  readonly name: string | undefined;
  readonly subType: string | undefined;
  readonly startedAt: number;
  status: Status;
  endedAt?: number | undefined;
  /** Attempts that ended with a retry. */
  attempt: number;
  /** When a wait ends, a retry is due, a callback times out. */
  dueAt?: number | undefined;
  heartbeatMs?: number | undefined;
  result?: string | undefined;
  error?: OperationError | undefined;
  /** The key by which the row knows that it waits for something from outside. */
  openKey?: string | undefined;
  replaysChildren?: boolean;
}

const OVER: ReadonlySet<Status> = new Set(['SUCCEEDED', 'FAILED', 'CANCELLED', 'TIMED_OUT', 'STOPPED']);
/** The operations that an operator's retry runs again. */
const REDRIVEN: ReadonlySet<Status> = new Set(['FAILED', 'TIMED_OUT', 'STOPPED']);
const END_OF = {
  succeed: 'SUCCEEDED',
  fail: 'FAILED',
  cancel: 'CANCELLED',
  timeout: 'TIMED_OUT',
  stop: 'STOPPED',
} as const satisfies Partial<Record<Entry['a'], Status>>;

export class Operations {
  readonly states = new Map<string, OperationState>();
  /** Ids whose status has changed since `takeChanged`. */
  readonly #changed = new Set<string>();
  /** When the execution began, or was made ready again. Undefined: the journal is empty. */
  beganAt: number | undefined;
  /** The generation of the task at its last redrive. */
  generation = 0;

  apply(entry: Entry): void {
    const { a, i, t, b = t } = entry;
    this.beganAt ??= b;
    if (a === 'redrive') this.#redrive(entry);
    if (i === undefined) return;
    let state = this.states.get(i);
    if (state === undefined || (a === 'start' && state.status !== 'STARTED' && !isOver(state))) {
      state = started(i, entry, state);
      this.states.set(i, state);
      this.#changed.add(i);
    }
    if (isOver(state) || a === 'start') return;
    this.#changed.add(i);
    state.error = entry.e;
    if (a === 'retry') {
      state.status = 'PENDING';
      state.attempt += 1;
      state.dueAt = t + (entry.d ?? 0) * 1_000;
      state.result = entry.r ?? state.result;
      return;
    }
    state.status = END_OF[a as keyof typeof END_OF];
    state.endedAt = t;
    state.result = entry.r;
    if (entry.x === true) state.replaysChildren = true;
  }

  /** Lets time pass for waits and retries. */
  tick(now: number): void {
    for (const state of this.states.values()) {
      if (state.dueAt === undefined || state.dueAt > now) continue;
      if (state.type === 'WAIT' && state.status === 'STARTED') {
        state.status = 'SUCCEEDED';
        state.endedAt = state.dueAt;
      } else if (state.type === 'STEP' && state.status === 'PENDING') state.status = 'READY';
      else continue;
      this.#changed.add(state.id);
    }
  }

  /** Callbacks whose time is over. @param beatOf the time of a callback's last heartbeat */
  timedOut(now: number, beatOf: (id: string) => number | undefined): readonly Entry[] {
    return [...this.states.values()].flatMap((state) => {
      const due = callbackDue(state, beatOf);
      if (due === undefined || due.at > now) return [];
      const e: OperationError = due.isHeartbeat
        ? { ErrorType: 'Callback.Heartbeat', ErrorMessage: 'Callback heartbeat timed out' }
        : { ErrorType: 'Callback.Timeout', ErrorMessage: 'Callback timed out' };
      return [{ a: 'timeout', i: state.id, y: 'CALLBACK', t: now, e } as const];
    });
  }

  /** When the execution must run again, if nobody wakes it before. Infinity: when somebody does. */
  wakeAt(beatOf: (id: string) => number | undefined): number {
    let at = Infinity;
    for (const state of this.states.values()) {
      if (isOver(state)) continue;
      const dueAt = state.type === 'CALLBACK' ? callbackDue(state, beatOf)?.at : state.dueAt;
      if (dueAt !== undefined) at = Math.min(at, dueAt);
    }
    return at;
  }

  takeChanged(): readonly OperationState[] {
    const changed = [...this.#changed].flatMap((id) => this.states.get(id) ?? []);
    this.#changed.clear();
    return changed;
  }

  /** The operations that a new invocation starts with. */
  visible(): readonly OperationState[] {
    const hides = (state: OperationState): boolean =>
      isOver(state) && state.type === 'CONTEXT' && state.replaysChildren !== true;
    const isVisible = ({ parent }: OperationState): boolean => {
      const above = parent === undefined ? undefined : this.states.get(parent);
      return above === undefined || (!hides(above) && isVisible(above));
    };
    return [...this.states.values()].filter(isVisible);
  }

  #redrive({ t, d = 0 }: Entry): void {
    this.beganAt = t;
    this.generation = d;
    const again = [...this.states.values()].filter((state) => {
      const above = this.states.get(state.parent ?? '');
      // Its callback has another id, so the step that sends the id must run again.
      const asksAgain = above?.subType === 'WaitForCallback' && REDRIVEN.has(above.status);
      return REDRIVEN.has(state.status) || asksAgain;
    });
    for (const { id } of again) this.states.delete(id);
  }
}

export function isOver({ status }: OperationState): boolean {
  return OVER.has(status);
}

function started(id: string, entry: Entry, earlier: OperationState | undefined): OperationState {
  const { y = 'STEP', p, n, s, d, h, c, t, b = t } = entry;
  return {
    id,
    type: y,
    parent: p,
    name: n,
    subType: s,
    startedAt: earlier?.startedAt ?? b,
    status: 'STARTED',
    attempt: earlier?.attempt ?? 0,
    result: earlier?.result,
    dueAt: entry.a === 'start' && d !== undefined ? b + d * 1_000 : undefined,
    heartbeatMs: h && h * 1_000,
    openKey: c && openKeyOf(id, c),
  };
}

function callbackDue(
  state: OperationState,
  beatOf: (id: string) => number | undefined,
): { readonly at: number; readonly isHeartbeat: boolean } | undefined {
  if (state.type !== 'CALLBACK' || isOver(state)) return undefined;
  const { dueAt = Infinity, heartbeatMs = Infinity } = state;
  const beat = (beatOf(state.id) ?? state.startedAt) + heartbeatMs;
  const at = Math.min(dueAt, beat);
  return at === Infinity ? undefined : { at, isHeartbeat: beat < dueAt };
}
