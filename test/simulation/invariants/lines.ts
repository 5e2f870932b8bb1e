/**
 * ORDER: the tasks of a line run one at a time, in the order of their tickets; and tickets are in the order in which enqueues were acknowledged.
 */
import type { DynamoItem } from '../../../shared/dynamo/driver.ts';
import type { Acknowledged, Applied } from '../history.ts';
import type { Family } from './rule.ts';
import { isTask } from './rule.ts';

const ENDED = new Set<unknown>(['done', 'dead', 'cancelled']);

export const lines: Family = (_assumptions, report) => {
  /** By line: the rows that stand in it, or stood. */
  const members = new Map<string, Map<string, DynamoItem>>();
  const acknowledged = new Set<string>();
  /** By line: the last ticket whose enqueue was acknowledged. */
  const lastTicket = new Map<string, number>();
  const lineOf = ({ queue, line }: DynamoItem): string => `${String(queue)}#${String(line)}`;

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
    for (const [other, item] of line)
      if (other !== row && !ENDED.has(item.state) && Number(item.ticket) < Number(after.ticket))
        report(
          'ORDER',
          row,
          `begins with ticket ${String(after.ticket)}; ${other} with ${String(item.ticket)} is ${String(item.state)}`,
        );
      else if (other !== row && item.state === 'running') report('ORDER', row, `begins while ${other} runs`);
  }

  function onAcknowledged({ row }: Acknowledged): void {
    if (acknowledged.has(row)) return;
    acknowledged.add(row);
    for (const [line, rows] of members) {
      const item = rows.get(row);
      if (item === undefined || item.generation !== undefined) continue;
      const ticket = Number(item.ticket);
      if (ticket <= (lastTicket.get(line) ?? 0))
        report('ORDER', row, `has ticket ${ticket}; ${String(lastTicket.get(line))} was acknowledged before`);
      lastTicket.set(line, ticket);
    }
  }

  return {
    on(event) {
      if (event.kind === 'applied' && isTask(event.row)) onTask(event);
      else if (event.kind === 'acknowledged' && event.what === 'enqueued') onAcknowledged(event);
      else if (event.kind === 'swept' && event.row.startsWith('line#'))
        lastTicket.delete(event.row.slice('line#'.length));
      else if (event.kind === 'swept' && isTask(event.row)) {
        acknowledged.delete(event.row);
        for (const rows of members.values()) rows.delete(event.row);
      }
    },
  };
};
