/**
 * What others may do to a row while a write is on its way: the attributes that the write finds then, by the kind of row.
 *
 * Only what the verbs of the protocol bring about. Each of them also stamps a nonce. A conjunct that refuses a write in one of these
 * states, while all others hold, is needed; the number says how many of the scenes' conjuncts do.
 */
import { HOLDERS_LIMIT, MARKS_LIMIT } from '../../shared/coordination/semaphore/semaphore.ts';
import type { DynamoItem } from '../../shared/dynamo/engine/driver.ts';
import type { Write } from './conjunct.ts';
import { keyOf } from './conjunct.ts';

/**
 * Attributes that differ, undefined if it has none; or undefined if there is no row.
 * `late`: the values, and `names`: the names, in the expressions of the write.
 */
type Meanwhile = (row: DynamoItem, late: DynamoItem, names: Readonly<Record<string, string>>) => DynamoItem | undefined;

const more = (number: unknown): number => Number(number) + 1;
const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, nth) => [`a/${nth}/1`, 1]));

const withKey = (map: unknown, key = '') => ({ ...(map as object), [key]: Number.MAX_SAFE_INTEGER });

const ANY = 'any row';
const BY_SOMEBODY = 'somebody has written it';
export const WRITTEN = `${ANY}: ${BY_SOMEBODY}`;

const KINDS: Readonly<Record<string, Readonly<Record<string, readonly [guards: number, Meanwhile]>>>> = {
  [ANY]: {
    [BY_SOMEBODY]: [66, () => ({})],
    'TTL has deleted it': [19, () => undefined],
    'a later version has written it': [4, () => ({ v: 99 })],
  },
  task: {
    'its very session has claimed it again': [20, ({ leaseCounter }) => ({ leaseCounter: more(leaseCounter) })],
    'it has ended': [20, () => ({ state: 'done', follower: undefined })],
    'it waits': [3, () => ({ state: 'ready', session: undefined })],
    'a task follows it': [6, () => ({ follower: { nonce: 'of another' } })],
    'a later write of its claim has come': [10, () => ({ sequence: 1e9 })],
    'its cancellation is requested': [1, () => ({ cancellation: { at: 1 } })],
    'it waits for this batch': [3, (_, late) => ({ state: 'ready', session: undefined, children: late[':batch'] })],
    'it waits for another batch': [1, () => ({ children: 'another' })],
    'its journal is longer': [4, ({ journal = [] }) => ({ journal: [...(journal as unknown[]), '{}'] })],
    'what it waited for has arrived': [2, () => ({ open: undefined })],
  },
  lock: {
    'it is released': [5, () => ({ session: undefined })],
    'its very session has acquired it again': [7, ({ leaseCounter }) => ({ leaseCounter: more(leaseCounter) })],
    'it has a value': [3, () => ({ value: 'v' })],
    'it is closed for a time': [1, () => ({ notBefore: Number.MAX_SAFE_INTEGER })],
  },
  session: {
    'it has ended': [4, () => ({ status: 'invalid' })],
    'it is renewed': [2, ({ renewals }) => ({ renewals: more(renewals) })],
    'its own process renews it': [1, () => ({ remote: undefined })],
  },
  semaphore: {
    'its limit has changed': [1, ({ declared }) => ({ declared: more(declared) })],
    'it has as many holders as a row can': [3, () => ({ holders: many(HOLDERS_LIMIT) })],
    'somebody waits': [1, () => ({ waiting: ['another'] })],
    'the ticket waits': [2, (_, late) => ({ waiting: [late[':ticket']] })],
    'the claim is admitted': [4, ({ holders = {} }, _, names) => ({ holders: withKey(holders, names['#PERMIT']) })],
    'the claim is given up': [4, ({ left = {} }, _, names) => ({ left: withKey(left, names['#SESSION']) })],
    'its claims are forgotten': [3, () => ({ floor: Number.MAX_SAFE_INTEGER })],
    'it has as many marks as it can': [2, () => ({ left: many(MARKS_LIMIT) })],
  },
  waitgroup: {
    'its next generation has come as far': [5, ({ generation }) => ({ generation: more(generation) })],
    'it is open': [3, () => ({ state: 'open' })],
    'it is sealed': [4, () => ({ state: 'sealed' })],
  },
  member: {
    'it is done': [3, () => ({ state: 'done' })],
    'another session leases it': [1, () => ({ session: 'another' })],
  },
  key: {
    'it is full': [2, (_, late) => ({ running: late[':limit'] })],
    'nothing runs': [1, () => ({ running: 0 })],
    'a later window has begun': [2, (_, late) => ({ window: more(late[':window']) })],
    'its rate is used up': [1, (_, late) => ({ started: late[':count'] })],
  },
  line: {
    'another task has joined': [4, ({ tail }) => ({ tail: more(tail) })],
    'its turn has passed': [2, ({ turn }) => ({ turn: more(turn) })],
  },
  batch: {
    'several are pending': [2, () => ({ pending: 2, left: 2 })],
    'none is pending': [2, () => ({ pending: 0, left: 0 })],
    'another program has written one of its numbers': [1, ({ left }) => ({ left: more(left) })],
  },
};

const LONG_MS = 1e12;
/** The times that a write compares with times of its row. */
const TIMES: Readonly<Record<string, number>> = {
  ':now': 5,
  ':expiredBefore': 2,
  ':fullSince': 1,
  ':since': 1,
};

export interface Arrival {
  /** Undefined: nothing has happened. */
  readonly what: string | undefined;
  readonly write: Write;
  readonly row: DynamoItem | undefined;
}

/** How a write may arrive that was sent to the row `found`: after what others have done, or stating the time of a wrong clock. */
export function arrivals(write: Write, found: DynamoItem | undefined): readonly Arrival[] {
  const { pk, sk } = keyOf(write);
  if (pk === undefined) return [];
  const { ExpressionAttributeValues: late = {}, ExpressionAttributeNames: names = {} } = write;
  const kind = String(sk).replace(/#.*/, '').replace('permits', 'semaphore');
  const row = found ?? { pk, sk };
  const changed = [ANY, kind].flatMap((of) =>
    Object.entries(KINDS[of] ?? {}).map(([what, [, change]]) => {
      const changes = change(row, late, names);
      const attributes: DynamoItem = { ...row, ...('nonce' in row && { nonce: 'of another' }), ...changes };
      const stored = Object.entries(attributes).filter(([, value]) => value !== undefined);
      return { what: `${of}: ${what}`, write, row: changes && Object.fromEntries(stored) };
    }),
  );
  const times = Object.keys(TIMES)
    .filter((name) => name in late)
    .flatMap((name) =>
      [-LONG_MS, LONG_MS].map((ms) => ({
        what: name,
        write: { ...write, ExpressionAttributeValues: { ...late, [name]: Number(late[name]) + ms } },
        row: found,
      })),
    );
  return [{ what: undefined, write, row: found }, ...changed, ...times];
}

/** How many conjuncts alone refuse a write, by what has happened; those that any other write of the row trips are counted once. */
export const GUARDS: Readonly<Record<string, number>> = {
  ...Object.fromEntries(
    Object.entries(KINDS).flatMap(([of, states]) =>
      Object.entries(states).map(([what, [guards]]) => [`${of}: ${what}`, guards]),
    ),
  ),
  ...TIMES,
};
