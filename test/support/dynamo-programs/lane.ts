/** Its own tables on every engine, empty between programs: lanes run concurrently. */
import { DeleteTableCommand } from '@aws-sdk/client-dynamodb';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { DynamoDriver } from '../../../shared/dynamo/engine/driver.ts';
import { SimulatedDynamo } from '../../../shared/testing/simulated-dynamo/simulated-dynamo.ts';
import type { EngineName } from './allowed-divergences.ts';
import type { Program, Step } from './requests.ts';
import { answered } from './outcome.ts';
import type { Divergence, Tally } from './run.ts';
import { Run } from './run.ts';
import { createProgramTables, laneTable, PROGRAM_TABLES } from './tables.ts';

export interface ComparedEngine {
  readonly name: EngineName;
  /** Makes and deletes tables. */
  readonly client: DynamoDBClient;
  readonly driver: DynamoDriver;
}

export class Lane {
  readonly #name: string;
  readonly #engines: readonly ComparedEngine[];
  readonly #drivers: ReadonlyMap<EngineName, DynamoDriver>;
  readonly #tally: Tally;
  #programs = 0;

  private constructor(name: string, engines: readonly ComparedEngine[], tally: Tally) {
    this.#name = name;
    this.#engines = engines;
    this.#drivers = new Map(engines.map(({ name, driver }) => [name, driver]));
    this.#tally = tally;
  }

  static async open(name: string, engines: readonly ComparedEngine[], tally: Tally): Promise<Lane> {
    for (const { client } of engines) await createProgramTables(client, name);
    return new Lane(name, engines, tally);
  }

  async close(): Promise<void> {
    for (const { client } of this.#engines) {
      for (const { definition } of PROGRAM_TABLES) {
        await client.send(new DeleteTableCommand({ TableName: laneTable(this.#name, definition.name) }));
      }
    }
  }

  /** @returns the first divergence that the allow-list does not explain */
  run(program: Program): Promise<Divergence | undefined> {
    return answered(() => this.#runOnce(program));
  }

  async #runOnce(program: Program): Promise<Divergence | undefined> {
    this.#programs++;
    const store = new SimulatedDynamo({ now: () => 0 });
    for (const { definition } of PROGRAM_TABLES) {
      store.createTable({ ...definition, name: laneTable(this.#name, definition.name) });
    }
    const run = new Run(store, this.#drivers, this.#tally);
    try {
      for (const step of [...program, ...INSPECTION]) {
        const divergence = await run.step(this.#translated(step, run.tokenGeneration));
        if (divergence !== undefined) return divergence;
      }
      return undefined;
    } finally {
      await run.emptyEngines(this.#name);
    }
  }

  /** Into the names of this lane, and tokens of this program. */
  #translated(step: Step, tokenGeneration: number): Step {
    const { kind, input } = step;
    if (isKind(step, 'batchGet')) {
      const tables = Object.entries(step.input.RequestItems ?? {});
      const RequestItems = Object.fromEntries(
        tables.map(([table, keys]) => [laneTable(this.#name, table), keys] as const),
      );
      return { kind, input: { ...step.input, RequestItems } };
    }
    if (!isKind(step, 'transactWrite')) return { kind, input: this.#inLane(input) } as Step;
    const { TransactItems, ClientRequestToken: token } = step.input;
    const actions = (TransactItems ?? []).map((action) =>
      Object.fromEntries(Object.entries(action).map(([verb, part]) => [verb, part && this.#inLane(part)])),
    );
    const ClientRequestToken = token && `${this.#name}/${this.#programs}/${tokenGeneration}/${token}`;
    return { kind, input: { ...input, TransactItems: actions, ...(token && { ClientRequestToken }) } };
  }

  #inLane(part: object): object {
    return 'TableName' in part ? { ...part, TableName: laneTable(this.#name, String(part.TableName)) } : part;
  }
}

function isKind<K extends Step['kind']>(step: Step, kind: K): step is Step<K> {
  return step.kind === kind;
}

/** Reads everything that a program may have left, in tables and indexes. */
const INSPECTION: Program = PROGRAM_TABLES.flatMap(({ definition, keys }) => {
  const { partition, indexes = [] } = definition;
  const used = new Map(keys.map((key) => [String(key[partition.name]), key[partition.name]]));
  return [
    ...partitionReads(definition.name, partition.name, [...used.values()], { ConsistentRead: true }),
    ...indexes.flatMap((index) =>
      partitionReads(definition.name, index.partition.name, index.partition.type === 'N' ? [0, 1, 2] : ['g', 'h'], {
        IndexName: index.name,
      }),
    ),
  ];
});

function partitionReads(table: string, name: string, values: readonly unknown[], options: object): Step[] {
  return values.map((value) => ({
    kind: 'query',
    input: {
      TableName: table,
      KeyConditionExpression: '#k = :k',
      ExpressionAttributeNames: { '#k': name },
      ExpressionAttributeValues: { ':k': value },
      ...options,
    },
  }));
}
