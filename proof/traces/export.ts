/**
 * The lives of the task, lock and session rows of a history, for the trace specification (`proof/spec/TraceRows.tla`).
 *
 * A life has the events of its own row. A task's or a lock's life also has the ends of its holders' sessions;
 * whether a session may end so is judged in its own life, so no event is judged twice.
 */
import type { DynamoItem } from '../../shared/dynamo/engine/driver.ts';
import type { HistoryEvent } from '../simulation/history.ts';
import type { HistoryResult } from '../simulation/history-result.ts';
import type { Kind, Traced } from './encode.ts';
import { Encoder, kindOf } from './encode.ts';

export interface Trace {
  readonly kind: Kind;
  readonly row: string;
  readonly sessions: readonly number[];
  /** Places in the history's events, from 1. */
  readonly events: readonly number[];
}

export interface Exported {
  readonly seed: bigint;
  /** Whether all clocks kept the stated bound. */
  readonly holds: boolean;
  readonly skewMs: number;
  /** Each a tuple in TLA+. */
  readonly events: readonly string[];
  readonly traces: readonly Trace[];
  /** Judged events by what the specification calls them. */
  readonly verbs: ReadonlyMap<string, number>;
  /** Rows that are left out, by the reason. */
  readonly leftOut: ReadonlyMap<string, number>;
}

interface Placed<T extends Traced = Traced> {
  readonly place: number;
  readonly event: T;
}

export function exportTraces({ seed, history, profile }: HistoryResult): Exported {
  const lives = livesOf(history);
  const encoder = new Encoder(history);
  const [verbs, leftOut] = [new Map<string, number>(), new Map<string, number>()];
  const events: string[] = [];
  const numbers = new Map<number, number | undefined>();
  const numberOf = ({ place, event }: Placed, isJudged: boolean): readonly number[] => {
    if (!numbers.has(place)) {
      const encoded = encoder.encode(event);
      numbers.set(place, encoded === undefined ? undefined : events.push(encoded.text));
      if (encoded !== undefined) verbs.set(encoded.name, (verbs.get(encoded.name) ?? 0) + (isJudged ? 1 : 0));
    }
    const number = numbers.get(place);
    return number === undefined ? [] : [number];
  };
  const traces: Trace[] = [];
  // Sessions first: the events that other lives share with theirs are judged in theirs.
  for (const [row, own] of [...lives].sort(([one], [other]) => Number(isSession(other)) - Number(isSession(one)))) {
    const reason = whyNot(own);
    if (reason !== undefined) {
      leftOut.set(reason, (leftOut.get(reason) ?? 0) + 1);
      continue;
    }
    const kind = kindOf(row) ?? 'task';
    const sessions = kind === 'session' ? [row] : sessionsOf(own).filter((session) => lives.has(session));
    const last = own.at(-1)?.place ?? 0;
    const ends = kind === 'session' ? [] : sessions.flatMap((session) => lives.get(session) ?? []).filter(isEnd);
    const all = [...own, ...ends.filter(({ place }) => place < last)].sort((one, other) => one.place - other.place);
    traces.push({
      kind,
      row,
      sessions: sessions.map((session) => encoder.sessionOf(session)),
      events: all.flatMap((placed) => numberOf(placed, kindOf(placed.event.row) === kind)),
    });
  }
  const skewMs = Math.floor(profile.maxClockSkewMs);
  return { seed, holds: profile.clocksHold, skewMs, events, traces, verbs, leftOut };
}

function livesOf(history: readonly HistoryEvent[]): ReadonlyMap<string, readonly Placed[]> {
  const lives = new Map<string, Placed[]>();
  for (const [place, event] of history.entries()) {
    if (!isTraced(event) || kindOf(event.row) === undefined) continue;
    const life = lives.get(event.row);
    if (life === undefined) lives.set(event.row, [{ place, event }]);
    else life.push({ place, event });
  }
  return lives;
}

function isTraced(event: HistoryEvent): event is Traced {
  const { kind } = event;
  return kind === 'applied' || kind === 'refused' || kind === 'swept' || kind === 'believes' || kind === 'doubts';
}

function isSession(row: string): boolean {
  return kindOf(row) === 'session';
}

function isEnd({ event }: Placed): boolean {
  if (event.kind === 'swept') return true;
  return event.kind === 'applied' && event.after?.status === 'invalid' && event.before?.status !== 'invalid';
}

function whyNot(own: readonly Placed[]): string | undefined {
  const rows = own.flatMap(({ event }) => (event.kind === 'applied' ? [event] : []));
  if (rows.length === 0) return 'never written';
  // The model of a journal is one of its own: `proof/spec/Journal.tla`.
  if (rows.some(({ after }) => after?.journal !== undefined)) return 'durable';
  return rows.some(({ row, after }) => after !== undefined && !isWhole(row, after)) ? 'damaged on purpose' : undefined;
}

function isWhole(row: string, { state, status, leaseCounter, renewals }: DynamoItem): boolean {
  if (isSession(row)) return typeof status === 'string' && typeof renewals === 'number';
  return typeof leaseCounter === 'number' && (kindOf(row) === 'lock' || typeof state === 'string');
}

/** Rows of the sessions that ever held the row, or that a refused write says did. */
function sessionsOf(own: readonly Placed[]): readonly string[] {
  const named = own.flatMap(({ event }) => {
    if (event.kind !== 'applied' && event.kind !== 'refused') return [];
    const after = event.kind === 'applied' ? event.after?.session : undefined;
    return [after, event.values?.[':session'], event.values?.[':observedSession'], event.values?.[':taker']];
  });
  return [...new Set(named.flatMap((id) => (typeof id === 'string' ? [`session#${id}`] : [])))];
}
