/** The life of each task row of a history, with the sessions that held it, as constants of a TLA+ module (`spec/TraceTask.tla`). */
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import type { HistoryEvent } from '../history.ts';
import type { HistoryResult } from '../history-result.ts';

export interface Exported {
  /** Each a record in TLA+. */
  readonly traces: readonly string[];
  readonly events: number;
  /** Events by what the specification calls them. */
  readonly verbs: ReadonlyMap<string, number>;
  /** Rows that are left out, by the reason. */
  readonly leftOut: ReadonlyMap<string, number>;
}

type Change = Extract<HistoryEvent, { kind: 'applied' | 'refused' }>;

/** TLC's integers have 32 bits, and instants of one row lie up to eighty days apart: what lies between two of them is cut to this. */
const LONGEST_GAP_MS = 50_000_000;
const FAMILY = 'family';
const SESSION = 'session#';
const TASK = 'task#';

export function exportTraces({ seed, history, profile }: HistoryResult): Exported {
  const verbs = new Map<string, number>();
  const leftOut = new Map<string, number>();
  const calls = callsOf(history);
  const traces: string[] = [];
  let events = 0;
  for (const [row, own] of byTask(history)) {
    const reason = whyNot(own);
    if (reason !== undefined) {
      leftOut.set(reason, (leftOut.get(reason) ?? 0) + 1);
      continue;
    }
    const sessions = sessionsOf(own);
    const names = new Set(sessions.map((id) => `${SESSION}${id}`));
    const all = history.filter((event) => 'row' in event && (event.row === row || names.has(event.row)));
    const trace = new Trace(all, sessions, calls);
    const steps = all.flatMap((event) => trace.stepOf(event, verbs));
    events += steps.length;
    const head = `seed |-> ${seed}, row |-> "${row.replaceAll(/[^\w#.:/-]/g, '?')}", sessions |-> ${Math.max(1, sessions.length)}`;
    const holds = profile.clocksHold ? 'TRUE' : 'FALSE';
    const skew = Math.floor(profile.maxClockSkewMs);
    traces.push(`[${head}, holds |-> ${holds}, skew |-> ${skew}, events |-> <<\n${steps.join(',\n')}>>]`);
  }
  return { traces, events, verbs, leftOut };
}

interface CallOf {
  readonly verb: string;
  readonly row: string;
}

function callsOf(history: readonly HistoryEvent[]): ReadonlyMap<number, CallOf> {
  return new Map(history.flatMap((event) => (event.kind === 'called' ? [[event.operation, event] as const] : [])));
}

function byTask(history: readonly HistoryEvent[]): ReadonlyMap<string, readonly Change[]> {
  const rows = new Map<string, Change[]>();
  for (const event of history) {
    if ((event.kind !== 'applied' && event.kind !== 'refused') || !event.row.startsWith(TASK)) continue;
    const own = rows.get(event.row) ?? [];
    own.push(event);
    rows.set(event.row, own);
  }
  return rows;
}

function whyNot(own: readonly Change[]): string | undefined {
  const rows = own.flatMap((event) => (event.kind === 'applied' ? [event.after] : []));
  if (rows.length === 0) return 'never written';
  if (rows.some((row) => row !== undefined && (typeof row.leaseCounter !== 'number' || typeof row.state !== 'string')))
    return 'damaged on purpose';
  return undefined;
}

/** Sessions that ever held the row, or that a refused write says did. */
function sessionsOf(own: readonly Change[]): readonly string[] {
  const named = own.flatMap((event) => [
    event.kind === 'applied' ? event.after?.session : undefined,
    event.values?.[':session'],
    event.values?.[':observedSession'],
  ]);
  return [...new Set(named.filter((id) => typeof id === 'string'))];
}

class Trace {
  readonly #sessions: readonly string[];
  readonly #calls: ReadonlyMap<number, CallOf>;
  readonly #nonces = new Map<unknown, number>();
  readonly #instants: ReadonlyMap<number, number>;
  readonly #counters: ReadonlyMap<number, number>;

  constructor(all: readonly HistoryEvent[], sessions: readonly string[], calls: ReadonlyMap<number, CallOf>) {
    this.#sessions = sessions;
    this.#calls = calls;
    const changes = all.filter((event) => event.kind === 'applied' || event.kind === 'refused');
    this.#instants = closer(changes.flatMap(instantsOf));
    this.#counters = closer(all.flatMap(countersOf));
  }

  /** None for an event that says nothing about the row. */
  stepOf(event: HistoryEvent, verbs: Map<string, number>): readonly string[] {
    const step = this.#stepOf(event);
    if (step === undefined) return [];
    verbs.set(step.name, (verbs.get(step.name) ?? 0) + 1);
    return [step.text];
  }

  #stepOf(event: HistoryEvent): { readonly name: string; readonly text: string } | undefined {
    switch (event.kind) {
      case 'applied':
      case 'refused':
        return event.row.startsWith(TASK) ? this.#taskStep(event) : this.#sessionStep(event);
      case 'swept': {
        const isTask = event.row.startsWith(TASK);
        const what = isTask ? 'sweptTask' : 'sweptSession';
        return {
          name: what,
          text: `[what |-> "${what}", s |-> ${isTask ? 0 : this.#session(event.row.slice(SESSION.length))}]`,
        };
      }
      case 'believes':
      case 'doubts': {
        if (!event.row.startsWith(TASK)) return undefined;
        const { kind, session, token } = event;
        return {
          name: kind,
          text: `[what |-> "${kind}", s |-> ${this.#session(session)}, c |-> ${this.#token(token)}]`,
        };
      }
      default:
        return undefined;
    }
  }

  #verbOf({ operation, row }: Change): string {
    const call = operation === undefined ? undefined : this.#calls.get(operation);
    return call === undefined || call.row !== row ? FAMILY : call.verb;
  }

  #taskStep(event: Change): { readonly name: string; readonly text: string } | undefined {
    const verb = this.#verbOf(event);
    const { values = {} } = event;
    if (event.kind === 'refused' && !isJudged(verb, event.found)) return undefined;
    const a = record({
      s: this.#ses(values[':session']),
      c: this.#token(values[':counter']),
      o: this.#ses(values[':observedSession']),
      oc: this.#token(values[':observedCounter']),
      on: this.#nonce(values[':observedNonce']),
      n: this.#nonce(values[':nonce'] ?? values.nonce),
      seq: whole(values[':sequence']),
      prev: whole(values[':previousSequence']),
      ost: nameOf(values[':observedState']),
      at: this.#instant(values[':now']),
      due: this.#instant(values[':readyAt']),
    });
    if (event.kind === 'refused')
      return { name: `${verb} refused`, text: `[what |-> "task", ok |-> FALSE, k |-> "${verb}", a |-> ${a}]` };
    const y = event.after ?? { state: 'absent' };
    const after = record({
      st: `"${String(y.state)}"`,
      ctr: this.#token(y.leaseCounter),
      ses: y.state === 'running' ? this.#ses(y.session) : '<<"-", 0>>',
      att: whole(y.attempts),
      seq: whole(y.sequence),
      n: this.#nonce(y.nonce),
      due: this.#instant(y.readyAt),
    });
    return { name: verb, text: `[what |-> "task", ok |-> TRUE, k |-> "${verb}", a |-> ${a}, y |-> ${after}]` };
  }

  #sessionStep(event: Change): { readonly name: string; readonly text: string } | undefined {
    const verb = this.#verbOf(event);
    const { values = {} } = event;
    if (event.kind === 'refused' && !isJudged(verb, event.found)) return undefined;
    const isCreate = verb === 'session.create';
    const at = Number(isCreate ? values.createdAt : values[':now']);
    const expiry = isCreate ? values.expiresAt : values[':expiresAt'];
    const renewals = event.kind === 'applied' ? whole(event.after?.renewals) : -1;
    const a = record({
      at: this.#instant(at),
      // A difference of two instants that are never far apart.
      ttl: typeof expiry === 'number' ? Math.round(expiry - at) : 0,
      before: this.#instant(values[':expiredBefore']),
      rn: whole(values[':renewals']),
      nrn: renewals,
      n: this.#nonce(values[':nonce'] ?? values.nonce),
      on: this.#nonce(values[':lastNonce']),
      why: nameOf(values[':reason']),
    });
    const head = `what |-> "session", k |-> "${verb}", s |-> ${this.#session(event.row.slice(SESSION.length))}, a |-> ${a}`;
    if (event.kind === 'refused') return { name: `${verb} refused`, text: `[${head}, ok |-> FALSE]` };
    const y = event.after ?? {};
    const after = record({
      st: `"${String(y.status)}"`,
      exp: this.#instant(y.expiresAt),
      rn: renewals,
      n: this.#nonce(y.nonce),
      why: nameOf(y.reason),
      inv: this.#instant(y.invalidatedAt),
    });
    return { name: verb, text: `[${head}, ok |-> TRUE, y |-> ${after}]` };
  }

  #session(id: unknown): number {
    return this.#sessions.indexOf(String(id)) + 1;
  }

  #ses(id: unknown): string {
    return typeof id === 'string' ? `<<"s", ${this.#session(id)}>>` : '<<"-", 0>>';
  }

  #token(counter: unknown): number {
    return this.#counters.get(Number(counter)) ?? -1;
  }

  #nonce(nonce: unknown): number {
    if (nonce === undefined) return -1;
    const number = this.#nonces.get(nonce) ?? this.#nonces.size + 1;
    this.#nonces.set(nonce, number);
    return number;
  }

  #instant(instant: unknown): number {
    return this.#instants.get(Number(instant)) ?? 0;
  }
}

/** Guards that look at more than the specification has: what refused these may be that. */
function isJudged(verb: string, found: DynamoItem | undefined): boolean {
  if (found === undefined || verb === FAMILY) return false;
  return JUDGED.has(verb) && found.heldKey === undefined;
}

const JUDGED = new Set([
  ...[
    'task.claim',
    'task.takeOver',
    'task.bury',
    'task.complete',
    'task.commit',
    'task.discard',
    'task.giveUp',
    'task.retry',
  ],
  ...['task.revive', 'task.renew', 'pack.record', 'pack.finish'],
  ...['task.release', 'task.snooze', 'task.wait', 'task.progress', 'task.cancel', 'task.reschedule'],
  ...['session.create', 'session.renew', 'session.expire', 'session.invalidate'],
]);

function instantsOf(event: Change): readonly number[] {
  const { values = {} } = event;
  const after = event.kind === 'applied' ? (event.after ?? {}) : {};
  return [
    ...[values[':now'], values[':readyAt'], values[':expiresAt'], values[':expiredBefore'], values.createdAt],
    ...[values.expiresAt, after.readyAt, after.expiresAt, after.invalidatedAt],
  ].filter((instant) => typeof instant === 'number');
}

/** Counters start at the clock, so those of a row that was swept and came back are as far apart as instants. */
function countersOf(event: HistoryEvent): readonly number[] {
  if (event.kind === 'believes' || event.kind === 'doubts') return [event.token];
  if (event.kind !== 'applied' && event.kind !== 'refused') return [];
  const after = event.kind === 'applied' ? event.after?.leaseCounter : undefined;
  const counters = [after, event.values?.[':counter'], event.values?.[':observedCounter']];
  return counters.filter((counter) => typeof counter === 'number');
}

/** Numbers with the same order, and the same distances where those are short. */
function closer(numbers: readonly number[]): ReadonlyMap<number, number> {
  const sorted = [...new Set(numbers)].sort((one, other) => one - other);
  const moved = new Map<number, number>();
  let at = 1;
  let last = sorted[0] ?? 0;
  for (const number of sorted) {
    at += Math.min(LONGEST_GAP_MS, Math.ceil(number - last));
    moved.set(number, at);
    last = number;
  }
  return moved;
}

function nameOf(name: unknown): string {
  return typeof name === 'string' ? `"${name}"` : '"-"';
}

function whole(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

function record(fields: Readonly<Record<string, string | number>>): string {
  return `[${Object.entries(fields)
    .map(([name, value]) => `${name} |-> ${value}`)
    .join(', ')}]`;
}
