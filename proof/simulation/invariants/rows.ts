/**
 * I24 well-formed state: each of our rows satisfies its schema after every write.
 * Written from the row pictures, not with the code's own decoder, so that a mistake there cannot hide itself.
 */
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import { keepsPlace } from './lines.ts';
import type { Family } from './rule.ts';
import { isSession, isTask, textOf } from './rule.ts';

type Check = (value: unknown, row: DynamoItem) => boolean;

const text: Check = (value) => typeof value === 'string';
const whole: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const absent: Check = (value) => value === undefined;
/** The last texts that were JSON: rows repeat them with every write. */
const parsed = new Set<string>();
const json: Check = (value) => {
  const found = textOf(value);
  if (found === undefined) return false;
  if (parsed.has(found)) return true;
  try {
    JSON.parse(found);
    if (parsed.size > 500) parsed.clear();
    parsed.add(found);
    return true;
  } catch {
    return false;
  }
};
const optional =
  (check: Check): Check =>
  (value, row) =>
    value === undefined || check(value, row);
const oneOf =
  (...allowed: readonly unknown[]): Check =>
  (value) =>
    allowed.includes(value);
const when =
  (holds: (row: DynamoItem) => boolean, check: Check): Check =>
  (value, row) =>
    (holds(row) ? check : absent)(value, row);

const isEnded = ({ state }: DynamoItem): boolean => state === 'done' || state === 'dead' || state === 'cancelled';
const isRunning = ({ state }: DynamoItem): boolean => state === 'running';
const isInvalid = ({ status }: DynamoItem): boolean => status === 'invalid';

const TASK: readonly [string, Check][] = Object.entries({
  v: oneOf(3),
  queue: text,
  name: text,
  nonce: text,
  input: json,
  priority: oneOf('high', 'normal', 'low'),
  state: oneOf('ready', 'running', 'done', 'dead', 'cancelled'),
  createdAt: whole,
  attempts: whole,
  leaseCounter: whole,
  claimedAt: (value, row) => isEnded(row) || (isRunning(row) ? whole : absent)(value, row),
  session: (value, row) => isEnded(row) || (isRunning(row) ? text : absent)(value, row),
  progress: optional(json),
  result: (value, row) => (row.state === 'done' ? optional(json) : absent)(value, row),
  finishedAt: when(isEnded, whole),
  ttl: when((row) => isEnded(row) && !keepsPlace(row), whole),
  // A task that stands with others of its tenant, key or line, stands elsewhere.
  readyKey: (value, row) =>
    (isEnded(row) || row.tenant !== undefined || row.directoryKey !== undefined ? absent : text)(value, row),
  directoryKey: (value, row) =>
    isEnded(row) || value === undefined || (typeof value === 'string' && value.startsWith('group#')),
  // It stands by the time, tenant and key that the row has.
  directoryName: (value, row) =>
    (isEnded(row) && !keepsPlace(row)) || value === undefined || (typeof value === 'string' && isPlaceOf(value, row)),
  readyAt: (value, row) => (isEnded(row) && !keepsPlace(row) ? absent : whole)(value, row),
  payload: optional((value) => Number((value as DynamoItem).bytes) > 0 && text((value as DynamoItem).digest, {})),
  tenant: optional(text),
});

/**
 * Whether a name in the directory says the tenant and the time of the row, and its key and limit, its line and ticket, or nothing of them.
 */
function isPlaceOf(name: string, { tenant, key, line, ticket, readyAt }: DynamoItem): boolean {
  const parts = name.split('#').map((part) => part.replaceAll('%23', '#').replaceAll('%25', '%'));
  const [, ofTenant, , ofKey, ofLimit, at, later] = parts;
  if (ofLimit === 'order')
    return (
      parts.length === PARTS_OF_PLACE + 1 &&
      ofTenant === (tenant ?? '') &&
      ofKey === line &&
      Number(at) === ticket &&
      Number(later) === Math.ceil(Number(readyAt))
    );
  if (parts.length !== PARTS_OF_PLACE || ofTenant !== (tenant ?? '') || Number(at) !== Math.ceil(Number(readyAt)))
    return false;
  if (ofKey === '') return tenant !== undefined && ofLimit === '';
  const { key: own, limit, count, perMs } = (key ?? {}) as Partial<Record<string, string | number>>;
  return (
    ticket === undefined &&
    ofKey === own &&
    ofLimit === (count === undefined ? String(limit) : `${limit}/${count}/${perMs}`)
  );
}

const PARTS_OF_PLACE = 7;

const SESSION: readonly [string, Check][] = Object.entries({
  v: oneOf(3),
  id: text,
  name: text,
  node: text,
  nonce: text,
  lockDelayMs: whole,
  createdAt: whole,
  renewals: whole,
  behaviour: oneOf('release', 'delete'),
  status: oneOf('live', 'invalid'),
  ttlMs: (value, row) => value === null || whole(value, row),
  expiresAt: (value, row) => value === null || whole(value, row),
  reason: when(isInvalid, oneOf('ended', 'expired', 'destroyed')),
  invalidatedAt: when(isInvalid, whole),
});

export const rows: Family = (_assumptions, report) => ({
  on(event) {
    if (event.kind !== 'applied' || event.after === undefined) return;
    const schema = isTask(event.row) ? TASK : isSession(event.row) ? SESSION : undefined;
    if (schema === undefined) return;
    for (const [attribute, check] of schema)
      if (!check(event.after[attribute], event.after))
        report(
          'I24',
          event.row,
          `${attribute} is ${JSON.stringify(event.after[attribute])} in a row that is ${String(event.after.state ?? event.after.status)}`,
        );
  },
});
