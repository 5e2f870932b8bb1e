/** What a sender says when a statement was not carried out: what was tried, on which row, what is known, and what to do. */
import { defined } from '../../core/defined.ts';
import { ConfigurationError, CorruptItemError, StoreUnavailableError } from '../../core/errors.ts';
import type { Connections } from './connections.ts';
import type { DynamoFault, DynamoFaultKind, DynamoItem, DynamoKind } from './driver.ts';
import { UNSTORABLE } from './driver.ts';
import { isMissingTable, missingTable } from './missing-table.ts';
import type { Statement } from './statement.ts';

/** The messages of DynamoDB for a put and for an update. */
const ROW_IS_FULL = /^Item size (to update )?has exceeded/;

export function rejection({ verb, input }: Statement, fault: DynamoFault): Error {
  const { key, tables } = targetOf(input);
  if (ROW_IS_FULL.test(fault.message))
    return new CorruptItemError(String(key), 'size', `is at DynamoDB's limit, and ${verb} would add to it`);
  const found = isMissingTable(fault)
    ? missingTable(tables.join(' or ')) // the service does not name the missing one
    : fault.code === UNSTORABLE
      ? `${fault.message}; nothing was sent`
      : `the request was refused (${fault.code}): ${fault.message}`;
  return new ConfigurationError(`${describe(verb, key)}: ${found}${grantFor(verb, fault)}`, { cause: fault });
}

/** Tasks are run with the rights of a worker, which do not include locks. */
function grantFor(verb: string, { code }: DynamoFault): string {
  const isCoordination = /^(lock|semaphore|waitgroup|ratelimit|election)/i.test(verb);
  if (code !== 'AccessDeniedException' || !isCoordination) return '';
  return '; in CDK, workers.grantCoordinate(workers) allows it to tasks';
}

export function givenUp({ verb, input }: Statement): StoreUnavailableError {
  const message = `${describe(verb, targetOf(input).key)}: its caller had given it up before it was sent; nothing was sent`;
  return new StoreUnavailableError(message, { applied: 'no' });
}

export function unconnected(
  { verb, kind, input }: Statement,
  { limit, waiting }: Connections,
  waitedMs: number,
  unanswered: boolean,
): StoreUnavailableError {
  const known = unanswered
    ? 'an earlier attempt may have been applied'
    : `nothing was ${READS.has(kind) ? 'read' : 'sent'}`;
  return new StoreUnavailableError(
    `${describe(verb, targetOf(input).key)}: all ${limit} connections were in use for ${Math.round(waitedMs)} ms, and ` +
      `${waiting} more requests wait for one; ${known}; do less at once, or use more processes`,
    { applied: unanswered ? 'unknown' : 'no' },
  );
}

export function unavailable(
  { verb, kind, input }: Statement,
  attempts: number,
  fault: DynamoFault,
  unanswered: boolean,
): StoreUnavailableError {
  const known = READS.has(kind) ? 'nothing was read' : unanswered ? 'it may have been applied' : 'nothing was applied';
  const found = `gave up after ${attempts} attempts (${fault.code}: ${fault.message}); ${known}`;
  const hint = HINTS[fault.kind] ?? '';
  return new StoreUnavailableError(`${describe(verb, targetOf(input).key)}: ${found}${hint}`, {
    // This includes reads: an earlier request of the same call may have been a write.
    applied: unanswered ? 'unknown' : 'no',
    cause: fault,
  });
}

const HINTS: Readonly<Partial<Record<DynamoFaultKind, string>>> = {
  unsent: '; is the endpoint or region right, and are there credentials?',
  unverified: '; are the credentials and the clock of this machine right?',
};

const READS: ReadonlySet<DynamoKind> = new Set(['get', 'batchGet', 'query']);

function describe(verb: string, key: string | undefined): string {
  return key === undefined ? verb : `${verb} of ${key}`;
}

interface Target {
  /** Includes the tables of user writes in a transaction. */
  readonly tables: readonly string[];
  /** Key of the row that carries the guard. Absent if several rows are read. */
  readonly key?: string | undefined;
}

/** The table and keys of a request. */
export function targetOf(input: Statement['input']): Target {
  if ('TransactItems' in input) {
    const items = (input.TransactItems ?? []).flatMap((item): (object | undefined)[] => Object.values(item));
    const actions = items.filter((item) => item !== undefined).map((item) => targetOf(item as Statement['input']));
    return { key: actions[0]?.key, tables: [...new Set(actions.flatMap(({ tables }) => tables))] };
  }
  if ('RequestItems' in input) return { tables: Object.keys(input.RequestItems ?? {}) };
  const { TableName, Key, Item } = input as {
    readonly TableName?: string;
    readonly Key?: DynamoItem;
    readonly Item?: DynamoItem;
  };
  const row = Key ?? Item;
  return { tables: [String(TableName)], ...defined({ key: row && String(row.pk) }) };
}
