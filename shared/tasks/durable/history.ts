/** The journal of a durable execution as a list of events, in the words of AWS's history. */
import { defined } from '../../core/defined.ts';
import type { TaskRecord } from '../task/task.ts';
import { callbackIdOf } from './callback-id.ts';
import type { Element, Entry, OperationType } from './entry.ts';
import { childIdOf, openKeyOf, parted } from './entry.ts';

export interface HistoryEvent {
  readonly EventId: number;
  readonly EventType: string;
  readonly EventTimestamp: Date;
  readonly Id?: string | undefined;
  readonly Name?: string | undefined;
  readonly SubType?: string | undefined;
  readonly ParentId?: string | undefined;
  readonly [details: string]: unknown;
}

const VERBS = {
  start: 'Started',
  succeed: 'Succeeded',
  fail: 'Failed',
  retry: 'Failed',
  cancel: 'Cancelled',
  timeout: 'TimedOut',
  stop: 'Stopped',
} as const;

/** An operation, and how many attempts of it have begun. */
type Begun = Entry & { readonly attempts: number };

/** @param texts the elements of the journal, the oldest first */
export function historyOf(task: TaskRecord, texts: readonly string[]): readonly HistoryEvent[] {
  const history = new History(task);
  for (const text of texts) for (const entry of parted((JSON.parse(text) as Element).e)) history.add(entry);
  return history.end();
}

class History {
  readonly #task: TaskRecord;
  readonly #events: HistoryEvent[] = [];
  readonly #begun = new Map<string, Begun>();
  readonly #waits = new Map<string, { readonly at: number; readonly seconds: number }>();

  constructor(task: TaskRecord) {
    this.#task = task;
    this.#tell('ExecutionStarted', task.createdAt, {}, { Input: { Payload: JSON.stringify(task.input) } });
  }

  add(entry: Entry): void {
    const { a, t, i = '', e } = entry;
    this.#elapse(t);
    if (a === 'end') {
      this.#tell('InvocationCompleted', t, {}, e === undefined ? {} : { Error: { Payload: e } });
      return;
    }
    if (a === 'redrive') return;
    const known = this.#begun.get(i);
    const y = known?.y ?? entry.y ?? 'STEP';
    const attempts = (known?.attempts ?? 0) + (a === 'start' && y === 'STEP' ? 1 : 0);
    this.#begun.set(i, { ...(known ?? entry), attempts });
    if (a === 'start' && y === 'WAIT') this.#waits.set(i, { at: t + (entry.d ?? 0) * 1_000, seconds: entry.d ?? 0 });
    const verb = a === 'retry' && e === undefined ? 'Succeeded' : VERBS[a];
    const details = a === 'start' ? this.#startOf(y, entry) : endOf(y, entry, attempts);
    this.#tell(`${inCamelCase(y)}${verb}`, t, entry, details);
  }

  end(): readonly HistoryEvent[] {
    const task = this.#task;
    if (task.state === 'done')
      this.#tell('ExecutionSucceeded', task.finishedAt, {}, { Result: { Payload: JSON.stringify(task.result) } });
    if (task.state === 'dead') {
      const { name: ErrorType, message: ErrorMessage } = task.lastError ?? { name: 'Error', message: '' };
      this.#tell('ExecutionFailed', task.finishedAt, {}, { Error: { Payload: { ErrorType, ErrorMessage } } });
    }
    return this.#events;
  }

  #startOf(y: OperationType, { d, h, f, i = '', c = '' }: Entry): Readonly<Record<string, unknown>> {
    const openKey = openKeyOf(i, c);
    if (y === 'WAIT') return { Duration: d };
    if (y === 'CALLBACK') return { CallbackId: callbackIdOf(this.#task, openKey), Timeout: d, HeartbeatTimeout: h };
    return y === 'CHAINED_INVOKE' ? { FunctionName: f, DurableExecutionArn: childIdOf(this.#task, openKey) } : {};
  }

  /** Waits end by the clock, so the journal has only their starts. */
  #elapse(until: number): void {
    const over = [...this.#waits].filter(([, { at }]) => at <= until).sort(([, a], [, b]) => a.at - b.at);
    for (const [i, { at, seconds }] of over) {
      this.#waits.delete(i);
      this.#tell('WaitSucceeded', at, { i }, { Duration: seconds });
    }
  }

  #tell(type: string, at: number, entry: Partial<Entry>, details: Readonly<Record<string, unknown>>): void {
    const { n: Name, s: SubType, p: ParentId, i: Id } = { ...this.#begun.get(entry.i ?? ''), ...entry };
    const given = Object.entries({ Id, Name, SubType, ParentId }).filter(([, value]) => value !== undefined);
    this.#events.push({
      EventId: this.#events.length + 1,
      EventType: type,
      EventTimestamp: new Date(at),
      ...Object.fromEntries(given),
      [`${type}Details`]: details,
    });
  }
}

function inCamelCase(type: OperationType): string {
  return type.toLowerCase().replaceAll(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());
}

function endOf(y: OperationType, { a, r, e, d, x }: Entry, attempts: number): Readonly<Record<string, unknown>> {
  const NextAttemptDelaySeconds = a === 'retry' ? (d ?? 0) : undefined;
  return defined({
    Result: r === undefined ? undefined : { Payload: r, Truncated: false },
    Error: e && { Payload: e },
    RetryDetails: y === 'STEP' ? defined({ CurrentAttempt: attempts, NextAttemptDelaySeconds }) : undefined,
    ReplayChildren: x,
  });
}
