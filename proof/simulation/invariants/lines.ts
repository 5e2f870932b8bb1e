/**
 * ORDER: the tasks of a line run one at a time, in the order of their tickets;
 * an enqueue that was begun after another was acknowledged has the larger ticket;
 * and after each request, every ticket from the turn to the last one is that of one task that waits, runs, or keeps its place.
 */
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import type { Acknowledged, Applied } from '../history.ts';
import type { Family } from './rule.ts';
import { isTask } from './rule.ts';

const PREFIX = 'line#';
const ENDED = new Set<unknown>(['done', 'dead', 'cancelled']);

/** Whether a task is in no line, or its turn has come. */
export function hasTurn({ queue, line, ticket }: DynamoItem, rows: ReadonlyMap<string, DynamoItem>): boolean {
  if (typeof line !== 'string') return true;
  return Number(ticket) <= Number(rows.get(`${PREFIX}${String(queue)}#${line}`)?.turn ?? 0);
}

/** Cancelled before its turn in its line: its turn has not been passed. */
export function keepsPlace({ state, directoryKey, ticket }: DynamoItem): boolean {
  return state === 'cancelled' && ticket !== undefined && String(directoryKey).startsWith('group#');
}

/** Whether such a turn has come: a worker is to pass it. */
export function isToBePassed(item: DynamoItem, rows: ReadonlyMap<string, DynamoItem>): boolean {
  return keepsPlace(item) && hasTurn(item, rows);
}

export const lines: Family = (_assumptions, report) => {
  /** By line: the rows that stand in it, or stood. */
  const members = new Map<string, Map<string, DynamoItem>>();
  const acknowledged = new Set<string>();
  /** By row: when it was first asked for. */
  const calledAt = new Map<string, number>();
  /** By line: the largest ticket that was acknowledged by then, in order of time. */
  const largest = new Map<string, { readonly at: number; readonly ticket: number }[]>();
  const lineOf = ({ queue, line }: DynamoItem): string => `${String(queue)}#${String(line)}`;
  /** By line: its row, and the tickets of its tasks that wait, run, or keep their place, by task. */
  const heads = new Map<string, DynamoItem>();
  const standing = new Map<string, Map<string, number>>();
  /** Rows of one request come one after the other: they are compared when all are there. */
  let request: number | undefined;
  const touched = new Set<string>();

  function onLine({ row, after }: Applied): void {
    const line = row.slice(PREFIX.length);
    if (after === undefined) heads.delete(line);
    else heads.set(line, after);
    touched.add(line);
  }

  function onPlace({ row, before, after }: Applied): void {
    for (const item of [before, after]) {
      if (item?.line === undefined) continue;
      const line = lineOf(item);
      const tickets = standing.get(line) ?? new Map<string, number>();
      standing.set(line, tickets);
      touched.add(line);
      if (item === after && (!ENDED.has(item.state) || keepsPlace(item))) tickets.set(row, Number(item.ticket));
      else tickets.delete(row);
    }
  }

  /** All rows of a request are there. */
  function settle(): void {
    for (const line of touched) {
      const { turn, tail } = heads.get(line) ?? {};
      const [first, last] = turn === undefined ? [1, 0] : [Number(turn), Number(tail)];
      const tickets = [...(standing.get(line)?.values() ?? [])];
      const own = new Set(tickets.filter((ticket) => first <= ticket && ticket <= last));
      if (own.size !== tickets.length || own.size !== last - first + 1)
        report(
          'ORDER',
          `${PREFIX}${line}`,
          `has tickets ${first} to ${last}; its tasks have ${tickets.join(' ') || 'none'}`,
        );
    }
    touched.clear();
  }

  function onTask({ row, before, after }: Applied): void {
    if (after?.line === undefined) {
      if (before?.line !== undefined) members.get(lineOf(before))?.delete(row);
      return;
    }
    const line = members.get(lineOf(after)) ?? new Map<string, DynamoItem>();
    members.set(lineOf(after), line.set(row, after));
    const begins =
      after.state === 'running' && (before?.state !== 'running' || before.leaseCounter !== after.leaseCounter);
    if (!begins) return;
    const turn = heads.get(lineOf(after))?.turn;
    if (after.ticket !== turn)
      report('ORDER', row, `begins with ticket ${String(after.ticket)}; the turn is ${String(turn)}`);
    for (const [other, item] of line)
      if (other !== row && !ENDED.has(item.state) && Number(item.ticket) < Number(after.ticket))
        report(
          'ORDER',
          row,
          `begins with ticket ${String(after.ticket)}; ${other} with ${String(item.ticket)} is ${String(item.state)}`,
        );
      else if (other !== row && item.state === 'running') report('ORDER', row, `begins while ${other} runs`);
  }

  function onAcknowledged({ row, at }: Acknowledged): void {
    if (acknowledged.has(row)) return;
    acknowledged.add(row);
    for (const [line, rows] of members) {
      const item = rows.get(row);
      if (item === undefined || item.generation !== undefined) continue;
      const ticket = Number(item.ticket);
      const known = largest.get(line) ?? [];
      // A commit's spawned tasks were not enqueued by name.
      const begunAt = calledAt.get(row) ?? at;
      const before = known.findLast((other) => other.at <= begunAt);
      if (before !== undefined && ticket <= before.ticket)
        report('ORDER', row, `has ticket ${ticket}; ${before.ticket} was acknowledged before`);
      largest.set(line, [...known, { at, ticket: Math.max(ticket, known.at(-1)?.ticket ?? 0) }]);
    }
  }

  return {
    on(event) {
      if (event.kind !== 'applied' || event.request !== request) settle();
      request = event.kind === 'applied' ? event.request : undefined;
      if (event.kind === 'applied' && event.row.startsWith(PREFIX)) onLine(event);
      if (event.kind === 'applied' && isTask(event.row)) onPlace(event);
      if (event.kind === 'called' && event.verb === 'task.enqueue' && !calledAt.has(event.row))
        calledAt.set(event.row, event.at);
      else if (event.kind === 'applied' && isTask(event.row)) onTask(event);
      else if (event.kind === 'acknowledged' && event.what === 'enqueued') onAcknowledged(event);
      else if (event.kind === 'swept' && event.row.startsWith(PREFIX)) {
        largest.delete(event.row.slice(PREFIX.length));
        heads.delete(event.row.slice(PREFIX.length));
        touched.add(event.row.slice(PREFIX.length));
      } else if (event.kind === 'swept' && isTask(event.row)) {
        acknowledged.delete(event.row);
        calledAt.delete(event.row);
        for (const rows of members.values()) rows.delete(event.row);
        for (const [line, tickets] of standing) if (tickets.delete(event.row)) touched.add(line);
      }
    },
    end: settle,
  };
};
