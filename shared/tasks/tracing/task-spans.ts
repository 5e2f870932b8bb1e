/**
 * The spans of a task's life, with OpenTelemetry's messaging attributes, and our own ones.
 *
 *   send media ─┬─ wait media ── from due to claimed
 *               ├─ process media ── an attempt; killed: written by the worker that takes over
 *               └─ process media ─┬─ … spans of the task's code
 *                                 ├─ create media ── a child; the parent of its own attempts
 *                                 ├─ … a step of a durable task that ran, by its name
 *                                 └─ commit media
 *
 * All of them descend from the context in the row: the span that enqueued the task.
 * A span is exported when it ends, so a killed
 * worker does not export its own. Only spans of the task's own code have it as their parent, and the row still records when it began. The
 * worker that takes the task over, or marks it dead, writes it with that start time, ended when it was found, with
 * `leasehold.takeover.written`. A worker that was considered dead but lives has written its own as well; both have the same
 * `leasehold.lease_counter`.
 *
 * If no provider was registered at enqueue, the row has no context, and each attempt is a separate trace.
 */
import { defined } from '../../core/defined.ts';
import { ConfigurationError, shown } from '../../core/errors.ts';
import type { RunningTask, TaskKey } from '../task/task.ts';
import { WORKER_DIED } from '../task/task.ts';
import type { Attributes, Span, SpanDraft, Tracing } from './tracing.ts';

/**
 * Relation of an attempt to the context in its row.
 * `parent`: one trace from the enqueueing to the last child; the invocation, or any other active span, is a link.
 * `link`: each attempt begins a trace and links to the row's: for tasks that wait for longer than a collector keeps a trace open.
 */
export const ATTEMPT_SPANS = ['parent', 'link'] as const;
export type AttemptSpans = (typeof ATTEMPT_SPANS)[number];
/** People search for one trace across a takeover. The spans of tasks that wait for long arrive at different times. */
export const DEFAULT_ATTEMPT_SPANS: AttemptSpans = 'parent';

/** @throws ConfigurationError with the caller's name of the setting */
export function validAttemptSpans(given: string = DEFAULT_ATTEMPT_SPANS, name = 'attemptSpans'): AttemptSpans {
  const found = ATTEMPT_SPANS.find((known) => known === given);
  if (found === undefined)
    throw new ConfigurationError(`${name} = ${shown(given)}: must be one of ${ATTEMPT_SPANS.join(', ')}`);
  return found;
}

interface Named extends TaskKey {
  readonly name: string;
  readonly traceparent?: string | undefined;
}

/** The fields of an observed or claimed task that a span describes. */
type Attempted = Pick<RunningTask, 'queue' | 'id' | 'name' | 'traceparent' | 'attempts' | 'leaseCounter'>;

/** The end of an attempt, as its span records it. */
interface AttemptEnd {
  readonly at: number;
  readonly settlement: string;
}

/** Endings that an attempt's span shows as errors. */
const FAILED: ReadonlySet<string> = new Set(['retried', 'dead', 'lost', 'unsettled']);

export class TaskSpans {
  readonly #tracing: Tracing;
  readonly #attempts: AttemptSpans;

  constructor(tracing: Tracing, attempts: AttemptSpans = DEFAULT_ATTEMPT_SPANS) {
    this.#tracing = tracing;
    this.#attempts = attempts;
  }

  /** Begins the span of enqueueing a task. The caller ends it. */
  send(task: Named, at: number): Span | undefined {
    return this.#tracing.begin(() => ({
      name: `send ${task.queue}`,
      kind: 'producer',
      startAt: at,
      parent: task.traceparent,
      attributes: messaging('send', 'send', task),
    }));
  }

  /** Writes the span of a task that is created by a larger write: a child, a schedule's occurrence, or part of a transaction. */
  create<Task extends Named>(task: Task, at: number, attempt?: Span): Task {
    const traceparent = this.#created(task, at, { fallback: attempt });
    return traceparent === undefined ? task : { ...task, traceparent };
  }

  /** Begins the span of a claimed attempt. Writes the span before it: its wait, or the crashed attempt. */
  attempt(task: RunningTask, { takenOver }: { readonly takenOver: boolean }): Span | undefined {
    const { claimedAt } = task;
    const past = takenOver ? task.past.at(-1) : undefined;
    if (past?.how === 'died')
      this.#writeDead(task, { ...past, attempt: task.attempts - 1, claimedAt: past.claimedAt ?? past.endedAt });
    if (!takenOver) this.#writeWait(task);
    return this.#tracing.begin(() => ({
      ...this.#onRow(task),
      name: `process ${task.queue}`,
      kind: 'consumer',
      startAt: claimedAt,
      attributes: {
        ...attemptAttributes(task, task.attempts),
        'leasehold.session': task.session,
        'leasehold.takeover': takenOver,
      },
    }));
  }

  /** Writes the span of the last attempt of a task that is dead because its worker crashed. */
  markedDead(task: RunningTask, at: number): void {
    const { attempts, leaseCounter, session, claimedAt } = task;
    this.#writeDead(task, { leaseCounter, session, claimedAt, attempt: attempts, endedAt: at });
  }

  endAttempt(span: Span | undefined, { at, settlement }: AttemptEnd): void {
    const error = FAILED.has(settlement)
      ? { type: settlement, message: `the attempt ended as ${settlement}` }
      : undefined;
    span?.end({ at, error, attributes: { 'leasehold.settlement': settlement } });
  }

  /** A step of a durable task that runs, within its attempt. */
  step(
    name: string,
    task: Attempted,
    how: { readonly at: number; readonly within: Span | undefined },
  ): Span | undefined {
    return this.#tracing.begin(() => ({
      name,
      kind: 'internal',
      startAt: how.at,
      parent: how.within,
      attributes: attemptAttributes(task, task.attempts),
    }));
  }

  /** The write that ends an attempt: `commit`, `complete`, `retry` and so on. */
  settle(
    verb: string,
    task: Attempted,
    how: { readonly at: number; readonly within: Span | undefined },
  ): Span | undefined {
    return this.#tracing.begin(() => ({
      name: `${verb} ${task.queue}`,
      kind: 'client',
      startAt: how.at,
      parent: how.within,
      attributes: {
        ...messaging(verb, 'settle', task),
        'leasehold.lease_counter': task.leaseCounter,
      },
    }));
  }

  /** Its context, if a provider is registered. */
  #created(task: Named, at: number, under: Pick<SpanDraft, 'parent' | 'fallback'>): string | undefined {
    const span = this.#tracing.begin(() => ({
      ...under,
      name: `create ${task.queue}`,
      kind: 'producer',
      startAt: at,
      attributes: messaging('create', 'create', task),
    }));
    span?.end({ at });
    return span?.traceparent;
  }

  /** Starts at the time when the task was due, which is still in the row. */
  #writeWait(task: RunningTask): void {
    const span = this.#tracing.begin(() => ({
      name: `wait ${task.queue}`,
      kind: 'internal',
      startAt: task.readyAt,
      parent: task.traceparent,
      isRoot: task.traceparent === undefined,
      attributes: { ...messaging('wait', undefined, task), 'leasehold.attempt': task.attempts },
    }));
    span?.end({ at: task.claimedAt });
  }

  #writeDead(
    task: RunningTask,
    died: {
      readonly attempt: number;
      readonly leaseCounter: number;
      readonly session: string;
      readonly claimedAt: number;
      readonly endedAt: number;
    },
  ): void {
    const { attempt, leaseCounter, session, claimedAt, endedAt } = died;
    const span = this.#tracing.begin(() => ({
      ...this.#onRow(task),
      name: `process ${task.queue}`,
      kind: 'consumer',
      startAt: claimedAt,
      attributes: {
        ...attemptAttributes({ ...task, leaseCounter }, attempt),
        'leasehold.session': session,
        'leasehold.settlement': 'died',
        'leasehold.takeover.written': true,
      },
    }));
    const message = `its worker, session ${session}, was found dead`;
    span?.end({ at: endedAt, error: { type: WORKER_DIED, message } });
  }

  #onRow({ traceparent }: Attempted): { parent?: string; isRoot?: boolean; links?: string[]; linksActive: boolean } {
    if (traceparent === undefined) return { isRoot: true, linksActive: true };
    return this.#attempts === 'parent'
      ? { parent: traceparent, linksActive: true }
      : { isRoot: true, links: [traceparent], linksActive: true };
  }
}

function messaging(operation: string, type: string | undefined, { queue, id, name }: Named): Attributes {
  return {
    'messaging.system': 'leasehold',
    'messaging.operation.name': operation,
    ...defined({ 'messaging.operation.type': type }),
    'messaging.destination.name': queue,
    'messaging.message.id': id,
    'leasehold.task.name': name,
  };
}

function attemptAttributes(task: Attempted, attempt: number): Attributes {
  return {
    ...messaging('process', 'process', task),
    'leasehold.attempt': attempt,
    'leasehold.lease_counter': task.leaseCounter,
  };
}
