/** The story of one key in readable form. */
import type { HistoryEvent } from './history.ts';
import type { Violation } from './invariants/rule.ts';
import { sessionRow } from './recorder.ts';

/** Lines shown before a violation; the story of a key rarely needs more. */
const LINES_LIMIT = 60;

export function timelineOf(history: readonly HistoryEvent[], { row, at }: Violation): readonly string[] {
  const rows = new Set([row]);
  const processes = new Set<string>();
  const operations = new Set<number>();
  // The holders of the key, and the sessions it was held under, belong to its story.
  for (const event of history) {
    if (!('row' in event) || event.row !== row || event.at > at) continue;
    processes.add(event.process);
    if (event.kind === 'called') operations.add(event.operation);
    if (event.kind === 'applied' && typeof event.after?.session === 'string') rows.add(sessionRow(event.after.session));
  }
  const lines = history.filter((event) => isToldWith(event, rows, processes, operations) && event.at <= at).map(lineOf);
  return lines.length > LINES_LIMIT ? [`… ${lines.length - LINES_LIMIT} earlier`, ...lines.slice(-LINES_LIMIT)] : lines;
}

function isToldWith(
  event: HistoryEvent,
  rows: ReadonlySet<string>,
  processes: ReadonlySet<string>,
  operations: ReadonlySet<number>,
): boolean {
  switch (event.kind) {
    case 'happened':
      return processes.has(event.process) || event.process === 'world';
    case 'returned':
      return operations.has(event.operation);
    case 'read':
      return false;
    case 'sent':
      return event.operation !== undefined && operations.has(event.operation);
    default:
      return rows.has(event.row);
  }
}

function lineOf(event: HistoryEvent): string {
  return `${event.at.toFixed(1).padStart(10)}  ${event.process.padEnd(12)} ${textOf(event)}`;
}

function textOf(event: HistoryEvent): string {
  switch (event.kind) {
    case 'called':
      return `calls ${event.verb} on ${event.row} (#${event.operation}, nonce ${event.nonce}${event.claim === undefined ? '' : `, counter ${event.claim.token}`})`;
    case 'returned':
      return `is told that #${event.operation} was ${event.outcome}`;
    case 'sent':
      return `sends #${event.operation ?? '?'}${event.believed === false ? ' without belief' : ''}`;
    case 'read':
      return `is answered for ${event.readUnits} read units`;
    case 'applied':
      return `STORE ${event.row}: ${changesOf(event.before, event.after)}${event.operation === undefined ? '' : ` by #${event.operation}`}${event.copy ? ' (duplicate)' : ''}`;
    case 'refused':
      return `STORE ${event.row}: refused${event.operation === undefined ? '' : ` #${event.operation}`}${event.copy ? ' (duplicate)' : ''}`;
    case 'swept':
      return `STORE ${event.row}: swept`;
    case 'believes':
    case 'doubts':
    case 'acted':
    case 'began':
    case 'ended':
    case 'denied':
      return `${event.kind} ${event.row} (counter ${event.token}, session ${event.session})`;
    case 'stepped':
    case 'recorded':
      return `${event.kind} ${event.op} of ${event.row} (counter ${event.token})`;
    case 'acknowledged':
      return `has it acknowledged: ${event.what} ${event.value ?? ''}`;
    case 'happened':
      return `* ${event.what}`;
  }
}

function changesOf(
  before: Readonly<Record<string, unknown>> = {},
  after: Readonly<Record<string, unknown>> | undefined,
): string {
  if (after === undefined) return 'deleted';
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => !QUIET.has(name));
  const changed = names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  return (
    changed.map((name) => `${name} ${name in after ? JSON.stringify(after[name]) : 'removed'}`).join(', ') ||
    'unchanged'
  );
}

const QUIET = new Set(['pk', 'sk', 'v', 'ttl', 'directoryKey', 'directoryName', 'createdAt']);
