/**
 * What readers say about rows that were damaged by hand: each attribute of each kind of row that scenes write, missing, of another
 * type, or negative. After an intended change: `npx vitest run test/unit/scenes/damaged-rows.test.ts -u`, and read the difference.
 */
import { expect, test } from 'vitest';
import type { Stores } from '../../../shared/client/stores.ts';
import { createStores } from '../../../shared/client/stores.ts';
import { CorruptItemError } from '../../../shared/core/errors.ts';
import { systemRuntime } from '../../../shared/core/runtime/runtime.ts';
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../shared/dynamo/engine/driver.ts';
import { semaphoreName, splitKey } from '../../../shared/dynamo/engine/keys.ts';
import { Sender } from '../../../shared/dynamo/engine/send.ts';
import { memoryDynamo } from '../../../shared/testing/memory-table.ts';
import { simulatedDriver } from '../../../shared/testing/simulated-dynamo/driver.ts';
import { SCENES } from '../../scenes/book.ts';
import { set } from '../../scenes/play.ts';

const TABLE = 'leasehold';
const NOW = 1_700_000_000_000;
const DAMAGES: readonly (readonly [name: string, value: unknown])[] = [
  ['missing', undefined],
  ['a text', 'x'],
  ['a number', 7],
  ['negative', -1],
  ['a map', { x: 1 }],
];
/** The type of an attribute that is a key of an index. */
const UNWRITABLE = 'cannot be written';
const STATES: readonly string[] = ['state', 'status'];

type Read = (stores: Stores, first: string, second: string) => Promise<unknown>;

const READS: Readonly<Record<string, Read>> = {
  session: (stores, id) => stores.sessions.get(id),
  lock: (stores, key) => stores.locks.get(key),
  semaphore: (stores, name) => stores.semaphores.get(name),
  permits: (stores, name) => stores.semaphores.get(semaphoreName({ pk: `permits#${name}`, sk: 'permits' })),
  waitgroup: (stores, name) => stores.groups.get(name),
  ratelimit: (stores, name, key) => stores.buckets.get({ name, key }),
  task: (stores, queue, id) => stores.tasks.get({ queue, id }),
  failure: (stores, queue, id) => stores.tasks.getFailure({ queue, id }),
  batch: (stores, queue, id) => stores.tasks.getBatch({ queue, id }),
  key: (stores, queue, key) => stores.operations.getKey(queue, key),
  line: (stores, queue, key) => stores.operations.getLine(queue, key),
  queue: (stores, queue) => stores.queues.get(queue),
  schedule: (stores, queue, name) => stores.schedules.get({ queue, name }),
};

/** One row of each kind, state and set of attributes. */
function keep(kept: Map<string, DynamoItem>, rows: Iterable<DynamoItem>): void {
  for (const item of rows) {
    if (typeof item.sk !== 'string' || READS[item.sk] === undefined) continue;
    const shape = `${item.sk} ${String(item.state ?? item.status)} ${Object.keys(item).sort().join(' ')}`;
    if (!kept.has(shape)) kept.set(shape, structuredClone(item));
  }
}

test('damaged rows are refused with the reason, or read as if the attribute were missing', async () => {
  const rows = new Map<string, DynamoItem>();
  // Its rows are written by hand.
  for (const scene of SCENES.filter(({ verb }) => verb !== 'epoch.raise')) {
    const { world, act } = await set(scene);
    await act();
    keep(rows, world.rows?.() ?? []);
  }
  const outcomes = new Map<string, Map<string, Set<string>>>();

  for (const item of rows.values()) {
    const whole = await outcomeOf(item);
    for (const { attribute, damage, damaged } of damagesOf(item)) {
      const outcome = await outcomeOf(damaged);
      if (outcome === UNWRITABLE) continue;
      const told = outcome === whole ? 'makes no difference' : outcome.startsWith('{') ? 'is read' : outcome;
      const ofAttribute = outcomes.get(attribute) ?? new Map<string, Set<string>>();
      outcomes.set(attribute, ofAttribute.set(damage, (ofAttribute.get(damage) ?? new Set()).add(told)));
    }
  }

  const lines = [...outcomes].map(([attribute, damages]) => {
    const told = [...damages].map(([damage, answers]) => `${damage}: ${[...answers].sort().join(' | ')}`);
    return `${attribute}, ${told.sort().join('; ')}`;
  });
  await expect(`${lines.sort().join('\n')}\n`).toMatchFileSnapshot('./damaged-rows.golden.txt');
});

interface Damaged {
  readonly attribute: string;
  readonly damage: string;
  readonly damaged: DynamoItem;
}

/** Each attribute damaged in each way, and the entries of its maps missing or of another type. */
function damagesOf({ pk, sk, ...item }: DynamoItem): readonly Damaged[] {
  const damages: Damaged[] = [];
  for (const [attribute, value] of Object.entries(item)) {
    const name = `${String(sk)}.${attribute}`;
    for (const [damage, other] of DAMAGES)
      if (typeof other !== typeof value || damage === 'negative' || STATES.includes(attribute))
        damages.push({ attribute: name, damage, damaged: { pk, sk, ...changed(item, attribute, other) } });
    if (!isMap(value)) continue;
    for (const inner of Object.keys(value))
      for (const [damage, other] of DAMAGES.filter(([one]) => one === 'missing' || one === 'a map')) {
        const map = changed(value, inner, other);
        const place = `${name}.${inner.replaceAll(/\b(?:here|there)-\d+/g, 'id').replaceAll(/\b\w+\.\d+-\d+/g, 'id')}`;
        damages.push({ attribute: place, damage, damaged: { pk, sk, ...item, [attribute]: map } });
      }
  }
  return damages;
}

function changed(item: DynamoItem, attribute: string, value: unknown): DynamoItem {
  const { [attribute]: _, ...rest } = item;
  return value === undefined ? rest : { ...rest, [attribute]: value };
}

function isMap(value: unknown): value is DynamoItem {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** The answer of a reader of this row, or the text of its error. */
async function outcomeOf(item: DynamoItem): Promise<string> {
  const [kind = '', first = '', second = ''] = splitKey(String(item.pk));
  const dynamo = memoryDynamo(TABLE, () => NOW);
  try {
    dynamo.apply('put', { TableName: TABLE, Item: item });
  } catch (error) {
    if (error instanceof DynamoFault) return UNWRITABLE;
    throw error;
  }
  const stores = createStores(new Sender({ driver: simulatedDriver(dynamo), runtime: systemRuntime }), {
    table: TABLE,
    shards: 1,
  });
  try {
    const read = (await READS[kind]?.(stores, first, second)) ?? {};
    return JSON.stringify(read, (_, value: unknown) => (value instanceof Set ? [...value] : value));
  } catch (error) {
    if (!(error instanceof CorruptItemError)) throw error;
    const [, what = error.message] =
      /^row \S+ cannot be used: (.*); the row was left as it is/.exec(error.message) ?? [];
    return what;
  }
}
