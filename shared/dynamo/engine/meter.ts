/**
 * Measures the cost of requests by operation.
 * Capacity is the service's own figure. It does not include a refused condition, which is billed by the size of the row that refused it,
 * or a cancelled transaction, which is billed twice that for each of its actions. We add both, and count one unit for an
 * unknown row. A read costs at least half a unit, or one if it is strongly consistent, even if it finds no row and emulators report less.
 * Emulators disagree about transactions: the embedded engine doubles base rows as the service does, DynamoDB Local does not.
 */
import { TRANSACTION_FACTOR, itemSizeBytes, writeUnitsOfBytes } from './capacity.ts';
import type { DynamoItem } from './driver.ts';
import type { Statement } from './statement.ts';
import type { SendObserver } from './send.ts';

export interface VerbCost {
  requests: number;
  writeUnits: number;
  readUnits: number;
  /** Conditions that were false. */
  refused: number;
  throttled: number;
  /** Attempts without a response. */
  unanswered: number;
}

export interface MeterReading {
  readonly requests: number;
  readonly writeUnits: number;
  readonly readUnits: number;
  readonly throttled: number;
  readonly byVerb: Readonly<Record<string, VerbCost>>;
}

export interface Meter extends SendObserver {
  read(): MeterReading;
  /** The same figure as of `read`, without a copy of the others: a long listing asks for it after each entry. */
  readonly readUnits: number;
}

export function createMeter(): Meter {
  const byVerb: Record<string, VerbCost> = {};
  const sum = (figure: keyof VerbCost): number =>
    Object.values(byVerb).reduce((total, cost) => total + cost[figure], 0);
  return {
    get readUnits() {
      return sum('readUnits');
    },
    onAttempt({ statement, output, fault }) {
      const cost = (byVerb[statement.verb] ??= {
        requests: 0,
        writeUnits: 0,
        readUnits: 0,
        refused: 0,
        throttled: 0,
        unanswered: 0,
      });
      const isRead = statement.kind === 'get' || statement.kind === 'batchGet' || statement.kind === 'query';
      cost.requests++;
      if (isRead && output !== undefined) cost.readUnits += readUnitsOf(statement, output);
      else if (output !== undefined) cost.writeUnits += reportedUnits(output);
      if (fault?.kind === 'conditionFailed') {
        cost.refused++;
        cost.writeUnits += refusedUnits(fault.item);
      }
      if (fault?.kind === 'transactionCanceled') {
        if (fault.reasons.some(({ code }) => code === 'ConditionalCheckFailed')) cost.refused++;
        for (const { item } of fault.reasons) cost.writeUnits += TRANSACTION_FACTOR * refusedUnits(item);
      }
      if (fault?.kind === 'throttled') cost.throttled++;
      if (fault?.kind === 'unanswered') cost.unanswered++;
    },
    read() {
      return {
        requests: sum('requests'),
        writeUnits: sum('writeUnits'),
        readUnits: sum('readUnits'),
        throttled: sum('throttled'),
        byVerb: structuredClone(byVerb),
      };
    },
  };
}

function refusedUnits(item: DynamoItem | undefined): number {
  return item === undefined ? 1 : writeUnitsOfBytes(itemSizeBytes(item));
}

/** Returns the charge of a read that got a response. */
export function readUnitsOf(request: Pick<Statement, 'kind' | 'input'>, output: object): number {
  return Math.max(reportedUnits(output), leastReadUnits(request));
}

/** Returns the minimum charge of a read that got a response. A batch is charged as its response states. */
function leastReadUnits({ kind, input }: Pick<Statement, 'kind' | 'input'>): number {
  if (kind === 'batchGet') return 0;
  return 'ConsistentRead' in input && input.ConsistentRead === true ? 1 : 0.5;
}

interface Reported {
  readonly CapacityUnits?: number | undefined;
}

function reportedUnits(output: object | undefined): number {
  if (output === undefined || !('ConsumedCapacity' in output)) return 0;
  const reported = output.ConsumedCapacity as Reported | readonly Reported[] | undefined;
  const parts = Array.isArray(reported) ? (reported as readonly Reported[]) : [reported as Reported | undefined];
  return parts.reduce((sum, part) => sum + (part?.CapacityUnits ?? 0), 0);
}
