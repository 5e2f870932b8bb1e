/**
 * Cost of each operation: measured on an engine, compared with our own capacity model for the same rows.
 *
 * Every write is preceded and followed by a read of the rows that it touches, for the model. If the two columns differ,
 * either the model matches AWS and the engine is an inexact emulator
 * (see test/support/dynamo-programs/allowed-divergences.ts), or one of them is wrong.
 */
import { randomUUID } from 'node:crypto';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DeleteCommand, DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import { Command } from 'commander';
import type { TableShape, WriteUnits } from '../shared/dynamo/engine/capacity.ts';
import { inTransaction, readUnitsOfBytes, refusedUnits, sized, writeUnits } from '../shared/dynamo/engine/capacity.ts';
import type { DynamoCalls, DynamoDriver, DynamoItem, DynamoKind } from '../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../shared/dynamo/engine/driver.ts';
import type { RowKey } from '../shared/dynamo/engine/keys.ts';
import { DIRECTORY_INDEX, READY_INDEX, TABLE as KEYS } from '../shared/dynamo/engine/schema.ts';
import { createMeter } from '../shared/dynamo/engine/meter.ts';
import type { Verb } from '../shared/dynamo/engine/verb.ts';
import { createSdkDriver } from '../shared/dynamo/wire/sdk-driver.ts';
import { SCENES } from '../test/scenes/book.ts';
import { set } from '../test/scenes/play.ts';
import { worldOn } from '../test/support/coordination.ts';
import type { BenchEngine } from './arguments.ts';
import { engineOption } from './arguments.ts';
import { print } from './figures.ts';
import { openTable } from './table.ts';

type Writes = 'put' | 'update' | 'delete' | 'transactWrite';

/** Units by the model, of requests in the order in which they were sent. */
interface ModelUnits {
  readonly write: number;
  readonly read: number;
}

const TABLE = 'units';
const TABLE_SHAPE: TableShape = {
  keys: [KEYS.partitionKey, KEYS.sortKey],
  indexes: [READY_INDEX, DIRECTORY_INDEX].map(({ name, partitionKey, sortKey }) => ({
    name,
    keys: [partitionKey, sortKey],
    projection: 'KEYS_ONLY',
  })),
};

export async function run(argv: readonly string[]): Promise<number> {
  const { engine: kind, json } = parse(argv);
  await using table = await openTable(kind, TABLE);
  const rows = await measureUnits(table.client, TABLE);
  const isAsModelled = ({ model, writeUnits: write, readUnits }: UnitsRow) =>
    model.write === write && model.read === readUnits;
  print(
    rows.map((row) => ({ ...row, isAsModelled: isAsModelled(row) })),
    json,
  );
  return 0;
}

/**
 * Plays every scene on the table, and returns what each verb of its act was charged, with what our model says.
 * A scene's time passes only at its explicit steps; after it, the rows that it wrote are deleted.
 */
export async function measureUnits(client: DynamoDBClient, table: string): Promise<readonly UnitsRow[]> {
  const modelled: ModelUnits[] = [];
  const model = new Map<string, ModelUnits>();
  const meter = createMeter();
  const documents = DynamoDBDocumentClient.from(client);
  const touched = new Map<string, RowKey>();
  const driver = modellingDriver(createSdkDriver(client), { documents, table, touched }, modelled);
  for (const scene of SCENES) {
    let isMeasured = false;
    const world = worldOn(driver, table, false);
    world.observers.push({
      onAttempt(attempt) {
        const { write = 0, read = 0 } = modelled.shift() ?? {};
        if (!isMeasured) return;
        const verb = `${attempt.statement.verb}: ${scene.title}` as Verb;
        meter.onAttempt({ ...attempt, statement: { ...attempt.statement, verb } });
        const sum = model.get(verb) ?? { write: 0, read: 0 };
        model.set(verb, { write: sum.write + write, read: sum.read + read });
      },
    });
    const { act } = await set(scene, world, `${randomUUID().slice(0, 13)}-`);
    isMeasured = true;
    await act();
    for (const Key of touched.values()) await documents.send(new DeleteCommand({ TableName: table, Key: { ...Key } }));
    touched.clear();
  }
  return Object.entries(meter.read().byVerb)
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([verb, cost]) => ({ verb, ...cost, model: model.get(verb) ?? { write: 0, read: 0 } }));
}

interface UnitsRow {
  readonly verb: string;
  readonly requests: number;
  readonly refused: number;
  readonly writeUnits: number;
  readonly readUnits: number;
  readonly model: ModelUnits;
}

/** Adds to `modelled`, before each answer, what the model says that the request costs. */
function modellingDriver(
  driver: DynamoDriver,
  {
    documents,
    table,
    touched,
  }: { readonly documents: DynamoDBDocumentClient; readonly table: string; readonly touched: Map<string, RowKey> },
  modelled: ModelUnits[],
): DynamoDriver {
  const rowOf = async (key: RowKey): Promise<DynamoItem | undefined> =>
    (await documents.send(new GetCommand({ TableName: table, Key: { pk: key.pk, sk: key.sk }, ConsistentRead: true })))
      .Item;
  return {
    async attempt<K extends DynamoKind>(kind: K, input: DynamoCalls[K]['input'], signal: AbortSignal) {
      const keys = isWrite(kind) ? keysOf(kind, input) : [];
      for (const key of keys) touched.set(JSON.stringify(key), { pk: key.pk, sk: key.sk });
      const before = await Promise.all(keys.map(rowOf));
      const finish = async (isApplied: boolean): Promise<void> => {
        const after = await Promise.all(keys.map(rowOf));
        const units = keys.map((_, at) => {
          const unit = isApplied
            ? writeUnits(TABLE_SHAPE, size(before[at]), size(after[at]))
            : refusedUnits(size(before[at]));
          return sum(kind === 'transactWrite' ? inTransaction(unit) : unit);
        });
        modelled.push({ write: units.reduce((total, unit) => total + unit, 0), read: 0 });
      };
      try {
        const output = await driver.attempt(kind, input, signal);
        if (isWrite(kind)) await finish(true);
        else modelled.push({ write: 0, read: modelledRead(kind, input, output, table) });
        return output;
      } catch (error) {
        if (isWrite(kind) && error instanceof DynamoFault) await finish(false);
        throw error;
      }
    },
  };
}

function isWrite(kind: DynamoKind): kind is Writes {
  return kind === 'put' || kind === 'update' || kind === 'delete' || kind === 'transactWrite';
}

function keysOf(kind: Writes, input: DynamoCalls[DynamoKind]['input']): readonly RowKey[] {
  if (kind !== 'transactWrite') return [rowKeyOf(input as KeyedInput)];
  const { TransactItems = [] } = input as DynamoCalls['transactWrite']['input'];
  return TransactItems.map(({ Put, Update, Delete, ConditionCheck }) =>
    rowKeyOf((Put ?? Update ?? Delete ?? ConditionCheck) as KeyedInput),
  );
}

interface KeyedInput {
  readonly Key?: object;
  readonly Item?: object;
}

function rowKeyOf({ Key, Item }: KeyedInput): RowKey {
  return (Key ?? Item) as RowKey;
}

function modelledRead(
  kind: DynamoKind,
  input: DynamoCalls[DynamoKind]['input'],
  output: DynamoCalls[DynamoKind]['output'],
  table: string,
): number {
  if (kind === 'get') {
    const { ConsistentRead = false } = input as DynamoCalls['get']['input'];
    return readUnitsOfBytes(size((output as DynamoCalls['get']['output']).Item)?.bytes ?? 0, {
      consistent: ConsistentRead,
    });
  }
  if (kind === 'batchGet') {
    const { Keys = [], ConsistentRead: consistent = false } =
      (input as DynamoCalls['batchGet']['input']).RequestItems?.[table] ?? {};
    const found = (output as DynamoCalls['batchGet']['output']).Responses?.[table] ?? [];
    const units = found.map((item) => readUnitsOfBytes(sized(item).bytes, { consistent }));
    const missing = (Keys.length - found.length) * readUnitsOfBytes(0, { consistent });
    return units.reduce((total, unit) => total + unit, missing);
  }
  const { Items = [] } = output as DynamoCalls['query']['output'];
  const { ConsistentRead: consistent = false } = input as DynamoCalls['query']['input'];
  return readUnitsOfBytes(
    Items.reduce((bytes, item) => bytes + sized(item).bytes, 0),
    { consistent },
  );
}

function size(item: DynamoItem | undefined) {
  return item === undefined ? undefined : sized(item);
}

function sum({ table, indexes }: WriteUnits): number {
  return Object.values(indexes).reduce((total, units) => total + units, table);
}

function parse(argv: readonly string[]): { readonly engine: BenchEngine; readonly json: boolean } {
  return new Command('npm run bench -- units')
    .description('Write and read units of every verb: our own model beside an engine.')
    .addOption(engineOption())
    .option('--json', 'for programs', false)
    .parse([...argv], { from: 'user' })
    .opts();
}
