/**
 * Encodes events of a history as tuples of TLA+: `proof/spec/TraceSession.tla`, `TraceTask.tla` and `TraceLock.tla` define the positions.
 */
import type { DynamoItem } from '../../shared/dynamo/engine/driver.ts';
import type { Applied, Belief, HistoryEvent, Swept } from '../simulation/history.ts';
import { EPOCH_MS } from '../simulation/invariants/sessions.ts';
import { Names, closer } from './numbers.ts';

type Change = Extract<HistoryEvent, { kind: 'applied' | 'refused' }>;
export type Traced = Change | Swept | Belief;
export type Kind = 'task' | 'lock' | 'session';

interface Encoded {
  /** The verb or other event; a refusal is marked as such. */
  readonly name: string;
  readonly text: string;
}

/** A change by another row's verb, such as a family's transaction. */
const FAMILY = 'family';
const NEVER = 0;
const NONE = -1;

export function kindOf(row: string): Kind | undefined {
  const kind = row.slice(0, row.indexOf('#'));
  return kind === 'task' || kind === 'lock' || kind === 'session' ? kind : undefined;
}

/** Refusals by guards that read more than the specification has are not judged. */
const JUDGED = new Set([
  ...['task.claim', 'task.takeOver', 'task.bury', 'task.complete', 'task.commit', 'task.discard', 'task.giveUp'],
  ...['task.retry', 'task.revive', 'task.renew'],
  ...['task.release', 'task.snooze', 'task.wait', 'task.progress', 'task.bar', 'task.cancel'],
  ...['task.cancelAbandoned', 'task.reschedule', 'task.leaveLine'],
  ...['session.create', 'session.renew', 'session.expire', 'session.invalidate'],
  ...['lock.acquire', 'lock.takeOver', 'lock.bar', 'lock.force', 'lock.release', 'lock.settle', 'lock.disown'],
  'lock.update',
]);
/** They ask that a row which TTL is to remove has no value, which the specification does not know. */
const SWEEPING = new Set(['lock.release', 'lock.settle', 'lock.disown']);

function isJudged(verb: string, { row, values }: Change, found: DynamoItem | undefined): boolean {
  if (!JUDGED.has(verb)) return false;
  switch (kindOf(row)) {
    case 'task':
      return found !== undefined && found.follower === undefined;
    case 'lock':
      return !SWEEPING.has(verb) || (found?.value === undefined && values?.[':observedNonce'] === undefined);
    default:
      return found !== undefined;
  }
}

/** The attempt ended, and its follower took its row. */
function isPromotion({ row, before, after }: Applied): boolean {
  return kindOf(row) === 'task' && before?.follower !== undefined && after?.state === 'ready';
}

/** A schedule cancels tasks of earlier slots; its operation names the row of the schedule. */
function isStoppedBy(call: { readonly verb: string; readonly row: string }, event: Change): boolean {
  if (event.kind !== 'applied' || call.verb !== 'task.cancel' || !call.row.startsWith('schedule#')) return false;
  return kindOf(event.row) === 'task' && event.before?.state !== 'cancelled' && event.after?.state === 'cancelled';
}

function promotionBy(verb: string): string {
  return verb === 'task.bury' || verb === 'task.cancel' ? 'task.promoteAbandoned' : 'task.promote';
}

export class Encoder {
  readonly #verbs = new Map<number, { readonly verb: string; readonly row: string }>();
  /** By session: the process that holds it. */
  readonly #holders = new Map<string, string>();
  readonly #sessions = new Names();
  readonly #nonces = new Names();
  readonly #instants: ReadonlyMap<number, number>;
  readonly #counters: ReadonlyMap<number, number>;

  constructor(history: readonly HistoryEvent[]) {
    const [instants, counters] = [new Set<number>(), new Set<number>()];
    for (const event of history) {
      if (event.kind === 'called') {
        this.#verbs.set(event.operation, event);
        if (event.verb === 'session.create') this.#holders.set(event.row, event.process);
      }
      if (!('row' in event) || kindOf(event.row) === undefined) continue;
      for (const instant of instantsOf(event)) if (isNumber(instant) && instant > 0) instants.add(Math.ceil(instant));
      for (const counter of countersOf(event)) if (isNumber(counter) && counter >= 0) counters.add(counter);
    }
    this.#instants = closer(instants);
    this.#counters = closer(counters);
  }

  /** None for an event that says nothing about its row. */
  encode(event: Traced): Encoded | undefined {
    const kind = kindOf(event.row);
    if (event.kind === 'swept') {
      const at = this.#instant(event.at + EPOCH_MS);
      const session = kind === 'session' ? this.sessionOf(event.row) : 0;
      return { name: `${event.kind} ${String(kind)}`, text: tuple('"swept"', session, at) };
    }
    if (!('request' in event))
      return {
        name: `${event.kind} ${String(kind)}`,
        text: tuple(`"${event.kind}"`, this.#session(event.session), this.#counter(event.token)),
      };
    const verb =
      event.kind === 'applied' && isPromotion(event) ? promotionBy(this.#verbOf(event)) : this.#verbOf(event);
    const isRefused = event.kind === 'refused';
    if (isRefused && !isJudged(verb, event, event.found)) return undefined;
    const { values = {} } = event;
    const head = [`"${String(kind)}"`, `"${verb}"`, isRefused ? 0 : 1];
    const after = isRefused ? undefined : (event.after ?? {});
    const name = isRefused ? `${verb} refused` : verb;
    switch (kind) {
      case 'task':
        return { name, text: tuple(...head, ...this.#taskArguments(values), ...this.#taskRow(after)) };
      case 'lock':
        return { name, text: tuple(...head, ...this.#lockArguments(event), ...this.#lockRow(after)) };
      default:
        return { name, text: tuple(...head, ...this.#sessionArguments(verb, event), ...this.#sessionRow(after)) };
    }
  }

  /** The number of the session whose row this is. */
  sessionOf(row: string): number {
    return this.#session(row.slice('session#'.length));
  }

  #verbOf(event: Change): string {
    const call = event.operation === undefined ? undefined : this.#verbs.get(event.operation);
    if (call === undefined || (call.row !== event.row && !isStoppedBy(call, event))) return FAMILY;
    return call.verb === 'task.cancel' && event.values?.[':observedSession'] !== undefined
      ? 'task.cancelAbandoned'
      : call.verb;
  }

  #taskArguments(values: DynamoItem): readonly (string | number)[] {
    return [
      ...[this.#session(values[':session']), this.#counter(values[':counter'])],
      ...[this.#session(values[':observedSession']), this.#counter(values[':observedCounter'])],
      ...[this.#nonce(values[':observedNonce']), this.#nonce(values[':nonce'] ?? values.nonce)],
      ...[whole(values[':sequence']), nameOf(values[':observedState'])],
      ...[this.#instant(values[':now']), this.#instant(values[':readyAt'])],
    ];
  }

  #taskRow(after: DynamoItem | undefined): readonly (string | number)[] {
    if (after === undefined) return [];
    const { state = 'absent', leaseCounter, session, attempts, sequence, nonce, readyAt } = after;
    return [
      ...[nameOf(state), this.#counter(leaseCounter), state === 'running' ? this.#session(session) : 0],
      ...[whole(attempts), whole(sequence), this.#nonce(nonce), this.#instant(readyAt)],
    ];
  }

  #lockArguments({ process, values = {} }: Change): readonly (string | number)[] {
    const observed = values[':session'];
    return [
      ...[this.#session(values[':taker']), this.#session(observed)],
      this.#counter(values[':counter'] ?? values[':observedCounter']),
      // A row that is absent, as it was observed, has the nonce of none.
      values[':observedNonce'] === undefined ? 0 : this.#nonce(values[':observedNonce']),
      ...[this.#nonce(values[':nonce']), this.#instant(values[':now']), this.#instant(values[':openBefore'])],
      ...[this.#instant(values[':notBefore']), this.#instant(values[':freedAt'])],
      this.#holders.get(`session#${String(observed)}`) === process ? 1 : 0,
    ];
  }

  #lockRow(after: DynamoItem | undefined): readonly (string | number)[] {
    if (after === undefined) return [];
    const { leaseCounter, session, nonce, freedAt, notBefore, acquiredAt } = after;
    const state = leaseCounter === undefined ? 'absent' : session === undefined ? 'free' : 'held';
    return [
      ...[nameOf(state), this.#counter(leaseCounter), this.#session(session), this.#nonce(nonce)],
      ...[this.#instant(freedAt), this.#instant(notBefore), this.#instant(acquiredAt)],
    ];
  }

  #sessionArguments(verb: string, event: Change): readonly (string | number)[] {
    const { values = {} } = event;
    const isCreate = verb === 'session.create';
    const at = isCreate ? values.createdAt : values[':now'];
    const expiry = isCreate ? values.expiresAt : values[':expiresAt'];
    return [
      ...[this.sessionOf(event.row), this.#instant(at)],
      // A difference of two instants that are never far apart.
      isNumber(expiry) && isNumber(at) ? Math.round(expiry - at) : 0,
      ...[this.#instant(values[':expiredBefore']), whole(values[':renewals'])],
      event.kind === 'applied' ? whole(event.after?.renewals) : NONE,
      ...[this.#nonce(values[':nonce'] ?? values.nonce), this.#nonce(values[':lastNonce']), nameOf(values[':reason'])],
    ];
  }

  #sessionRow(after: DynamoItem | undefined): readonly (string | number)[] {
    if (after === undefined) return [];
    const { status, expiresAt, renewals, nonce, reason, invalidatedAt, lockDelayMs, ttlMs } = after;
    return [
      ...[nameOf(status), this.#instant(expiresAt), whole(renewals), this.#nonce(nonce), nameOf(reason)],
      ...[this.#instant(invalidatedAt), Math.ceil(whole(lockDelayMs)), Math.floor(whole(ttlMs) / 3)],
    ];
  }

  #session(id: unknown): number {
    return typeof id === 'string' ? this.#sessions.of(id) : 0;
  }

  #nonce(nonce: unknown): number {
    return nonce === undefined ? NONE : this.#nonces.of(nonce);
  }

  #counter(counter: unknown): number {
    return this.#counters.get(Number(counter)) ?? NONE;
  }

  #instant(instant: unknown): number {
    // Clocks tell whole milliseconds; sweeps and lock-delays need not keep to them.
    return this.#instants.get(Math.ceil(Number(instant))) ?? NEVER;
  }
}

function instantsOf(event: HistoryEvent): readonly unknown[] {
  if (event.kind === 'swept') return [event.at + EPOCH_MS];
  if (event.kind !== 'applied' && event.kind !== 'refused') return [];
  const { values = {} } = event;
  const after = event.kind === 'applied' ? (event.after ?? {}) : {};
  return [
    ...[values[':now'], values[':readyAt'], values[':expiresAt'], values[':expiredBefore'], values.createdAt],
    ...[values.expiresAt, values[':openBefore'], values[':notBefore'], values[':freedAt'], after.readyAt],
    ...[after.expiresAt, after.invalidatedAt, after.freedAt, after.notBefore, after.acquiredAt],
  ];
}

/** Counters start at the clock, so counters of deleted and re-created rows are as far apart as instants. */
function countersOf(event: HistoryEvent): readonly unknown[] {
  if (event.kind === 'believes' || event.kind === 'doubts') return [event.token];
  if (event.kind !== 'applied' && event.kind !== 'refused') return [];
  const after = event.kind === 'applied' ? event.after?.leaseCounter : undefined;
  return [after, event.values?.[':counter'], event.values?.[':observedCounter']];
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}

function nameOf(name: unknown): string {
  return typeof name === 'string' ? `"${name}"` : '"-"';
}

function whole(value: unknown): number {
  return isNumber(value) ? value : 0;
}

function tuple(...fields: readonly (string | number)[]): string {
  return `<<${fields.join(',')}>>`;
}
