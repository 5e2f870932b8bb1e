/** The errors of a sender: the attempted statement, its row, the known facts, and the remedy. */
import { ConfigurationError, CorruptItemError, StoreUnavailableError } from '../../core/errors.ts';
import type { Connections } from './connections.ts';
import type { DynamoFault, DynamoFaultKind, DynamoItem, DynamoKind } from './driver.ts';
import { UNSTORABLE } from './driver.ts';
import { hasOtherKeys, isMissingTable, missingTable, otherTable } from './missing-table.ts';
import type { Statement } from './statement.ts';

/** The messages of DynamoDB for a put and for an update. */
const ROW_IS_FULL = /^Item size (to update )?has exceeded/;

/** Follows the message of a refusal. */
export type GrantFor = (verb: string, code: string | undefined, keys: readonly string[]) => string;

export function rejection({ verb, input }: Statement, fault: DynamoFault, grantFor: GrantFor = () => ''): Error {
  const { keys, tables } = targetOf(input);
  const [key] = keys;
  if (ROW_IS_FULL.test(fault.message))
    return new CorruptItemError(String(key), 'size', `is at DynamoDB's limit, and ${verb} would add to it`);
  const found = isMissingTable(fault)
    ? missingTable(tables.join(' or ')) // the service does not name the missing one
    : fault.code === UNSTORABLE
      ? `${fault.message}; nothing was sent`
      : hasOtherKeys(fault) && tables.length === 1 // a user's write is to a table of the user
        ? otherTable(String(tables[0]), fault.message)
        : `the request was refused (${fault.code}): ${fault.message}`;
  return new ConfigurationError(`${describe(verb, key)}: ${found}${grantFor(verb, fault.code, keys)}`, {
    cause: fault,
  });
}

export function givenUp({ verb, input }: Statement): StoreUnavailableError {
  const message = `${describe(verb, targetOf(input).keys[0])}: its caller had given it up before it was sent; nothing was sent`;
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
    `${describe(verb, targetOf(input).keys[0])}: all ${limit} connections were in use for ${Math.round(waitedMs)} ms, and ` +
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
  return new StoreUnavailableError(`${describe(verb, targetOf(input).keys[0])}: ${found}${hint}`, {
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
  /** Keys of the rows, first of that which carries the guard. None if several rows are read. */
  readonly keys: readonly string[];
}

/** The table and keys of a request. */
export function targetOf(input: Statement['input']): Target {
  if ('TransactItems' in input) {
    const items = (input.TransactItems ?? []).flatMap((item): (object | undefined)[] => Object.values(item));
    const actions = items.filter((item) => item !== undefined).map((item) => targetOf(item as Statement['input']));
    const [tables, keys] = [actions.flatMap((action) => action.tables), actions.flatMap((action) => action.keys)];
    return { keys, tables: [...new Set(tables)] };
  }
  if ('RequestItems' in input) return { keys: [], tables: Object.keys(input.RequestItems ?? {}) };
  const { TableName, Key, Item } = input as {
    readonly TableName?: string;
    readonly Key?: DynamoItem;
    readonly Item?: DynamoItem;
  };
  const row = Key ?? Item;
  const key = row && String(row.pk);
  return { tables: [String(TableName)], keys: key === undefined ? [] : [key] };
}
