/** Damage to rows, as a slip in the console, a half-restored backup or another version would do it; and values that no code expects. */
import fc from 'fast-check';
import type { DynamoItem } from '../../shared/dynamo/engine/driver.ts';

interface Damage {
  readonly attribute: string;
  /** Absent: the attribute is removed. */
  readonly value?: unknown;
}

/** The row's state before it was damaged. */
type Standing = 'ready' | 'abandoned' | 'held by a damaged session';

export interface Poison {
  readonly standing: Standing;
  readonly damages: readonly Damage[];
}

const TASK_ATTRIBUTES = [
  ...['v', 'queue', 'name', 'priority', 'input', 'state', 'createdAt', 'attempts', 'leaseCounter', 'nonce'],
  ...['session', 'claimedAt', 'progress', 'sequence', 'result', 'lastError', 'finishedAt', 'cancellation'],
  ...['expiresAt', 'generation', 'past0', 'past1', 'past2', 'past3', 'follower', 'ttl', 'unheardOf'],
  ...['batch', 'key', 'line', 'ticket', 'tenant', 'children', 'notify', 'journal', 'journalPart', 'payload', 'spawned'],
];
const SESSION_ATTRIBUTES = [
  ...['v', 'id', 'name', 'node', 'ttlMs', 'lockDelayMs', 'behaviour', 'status', 'createdAt', 'expiresAt', 'renewals'],
  ...['reason', 'invalidatedAt', 'consul', 'revoked', 'nonce', 'ttl', 'unheardOf'],
];

/** Nearly everything that DynamoDB can hold. Text is tried both as it is and in place of JSON. */
const value = fc.oneof(
  fc.constantFrom<unknown>(
    ...['', ' ', 'x', 'done', 'ready', 'running', 'live', 'constructor', '__proto__', '#', '%', 'a\u0000b', '1'],
    ...['{', '{"__proto__":{"state":"done"}}', '9007199254740993', '1e400', '"\\ud800"', 'NaN', 'null', 'undefined'],
    ...[0, -0, -1, 1.5, 1, 2, 1_000, 2 ** 53 - 1, 2 ** 53 + 2, -(2 ** 60), 1e100, 4_102_444_800_000],
    ...[null, true, false, [], [1], ['a', null], {}, { at: 1 }, { name: 1, message: [], at: 'x' }],
    ...[
      { counter: 'x', session: 5, endedAt: null, how: 'flew' },
      { counter: 1, session: 's', endedAt: 1, how: 'died' },
    ],
    ...[new Set(['a', 'b']), new Set([1, 2]), new Uint8Array([1, 2, 3])],
    'x'.repeat(300_000),
    // With the rest of the row, within a few bytes of DynamoDB's limit: the row cannot grow any more.
    ...[409_000, 409_100, 409_200, 409_250, 409_300].map((length) => 'x'.repeat(length)),
    `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
    '{"a":'.repeat(20_000),
  ),
  fc.string({ unit: 'binary', maxLength: 40 }).map((text) => text.toWellFormed()),
  fc.json().map(String),
  fc.integer({ min: -1_000, max: 1_000 }),
  fc.integer().map((units) => units / 8),
);

function damageTo(attributes: readonly string[]): fc.Arbitrary<Damage> {
  return fc.oneof(
    { weight: 5, arbitrary: fc.record({ attribute: fc.constantFrom(...attributes), value }) },
    { weight: 1, arbitrary: fc.record({ attribute: fc.constantFrom(...attributes) }) },
    // Keys of indexes keep their types, or DynamoDB would not take the row.
    {
      weight: 1,
      arbitrary: fc.constantFrom<Damage>(
        { attribute: 'readyAt', value: -1 },
        { attribute: 'readyAt', value: 1.5 },
        { attribute: 'readyAt', value: 4_102_444_800_000 },
        { attribute: 'readyAt' },
        { attribute: 'readyKey' },
        { attribute: 'readyKey', value: 'elsewhere' },
        { attribute: 'directoryKey', value: 'session#3' },
      ),
    },
  );
}

/** Work that follows an attempt, in the row of a running task, or, by mistake, of another; complete or with an error in it. */
const FOLLOWER = { name: 'fine', input: '{"id":"follower"}', priority: 'normal', runAt: 1, at: 1, nonce: 'follower' };
const FOLLOWER_ATTRIBUTES = [
  ...['name', 'input', 'priority', 'runAt', 'at', 'nonce', 'expiresAt', 'key', 'payload', 'policy', 'traceparent'],
  ...['label', 'unheardOf'],
];
const follower: fc.Arbitrary<Damage> = fc.oneof(
  fc.constant<Damage>({ attribute: 'follower', value: FOLLOWER }),
  damageTo(FOLLOWER_ATTRIBUTES).map((damage): Damage => ({
    attribute: 'follower',
    value: damaged(FOLLOWER, [damage]),
  })),
);

export const poison: fc.Arbitrary<Poison> = fc.oneof(
  fc.record({
    standing: fc.constantFrom<Standing>('ready', 'abandoned'),
    damages: fc.array(damageTo(TASK_ATTRIBUTES), { minLength: 1, maxLength: 2 }),
  }),
  fc.record({ standing: fc.constantFrom<Standing>('ready', 'abandoned'), damages: fc.tuple(follower) }),
  fc.record({
    standing: fc.constant<Standing>('held by a damaged session'),
    damages: fc.array(damageTo(SESSION_ATTRIBUTES), { minLength: 1, maxLength: 2 }),
  }),
);

export function damaged(row: DynamoItem, damages: readonly Damage[]): DynamoItem {
  const result = { ...row };
  for (const damage of damages) {
    if ('value' in damage) result[damage.attribute] = damage.value;
    else Reflect.deleteProperty(result, damage.attribute);
  }
  return result;
}
