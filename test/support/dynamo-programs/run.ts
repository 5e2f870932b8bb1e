/** Runs one program on the simulated store and on the compared engines. */
import type { DynamoDriver, DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import { simulatedDriver } from '../../../shared/testing/simulated-dynamo/driver.ts';
import type { SimulatedDynamo } from '../../../shared/testing/simulated-dynamo/simulated-dynamo.ts';
import type { AllowedDivergence, EngineName } from './allowed-divergences.ts';
import { ALLOWED_DIVERGENCES } from './allowed-divergences.ts';
import type { Outcome } from './outcome.ts';
import { answered, comparable, outcomeOf } from './outcome.ts';
import type { Step } from './requests.ts';
import { laneTable, PROGRAM_TABLES } from './tables.ts';
import { keyOf, writesOf } from './writes.ts';

/** A step that an engine answered otherwise than the simulated store, for no reason that we know. */
export interface Divergence {
  readonly engine: EngineName;
  readonly step: Step;
  readonly simulated: Outcome;
  readonly actual: Outcome;
}

export interface Tally {
  /** Answers of engines that were compared. */
  compared: number;
  /** How often each entry of the allow-list was needed. */
  readonly allowed: Map<string, number>;
}

export class Run {
  readonly #store: SimulatedDynamo;
  readonly #simulated: DynamoDriver;
  readonly #engines: ReadonlyMap<EngineName, DynamoDriver>;
  readonly #tally: Tally;
  #tokenGeneration = 0;

  constructor(store: SimulatedDynamo, engines: ReadonlyMap<EngineName, DynamoDriver>, tally: Tally) {
    this.#store = store;
    this.#simulated = simulatedDriver(store);
    this.#engines = engines;
    this.#tally = tally;
  }

  /** Tokens are renamed after a divergence: a token with different outcomes on two stores is useless. */
  get tokenGeneration(): number {
    return this.#tokenGeneration;
  }

  /** @returns the first divergence that the allow-list does not explain */
  async step(step: Step): Promise<Divergence | undefined> {
    const simulated = await outcomeOf(this.#simulated, step);
    const expected = comparable(step, simulated);
    const outcomes = await Promise.all(
      [...this.#engines].map(async ([engine, driver]) => [engine, await outcomeOf(driver, step)] as const),
    );
    this.#tally.compared += outcomes.length;
    const differing = outcomes.filter(([, actual]) => comparable(step, actual) !== expected);
    const agreeing = new Set(
      [...this.#engines.keys()].filter((engine) => !differing.some(([name]) => name === engine)),
    );
    for (const [engine, actual] of differing) {
      const context = { engine, step, simulated, actual, agreeing };
      const allowed = ALLOWED_DIVERGENCES.find((entry) => entry.engines.includes(engine) && entry.explains(context));
      if (allowed === undefined) return { engine, step, simulated, actual };
      this.#count(allowed);
      await this.#reconcile(engine, step);
    }
    return undefined;
  }

  /** Empties the tables, whatever a divergence has left in them. */
  async emptyEngines(lane: string): Promise<void> {
    for (const { definition, keys } of PROGRAM_TABLES) {
      const table = laneTable(lane, definition.name);
      const present = this.#store.scan(table).map((item) => keyOf(table, item));
      await Promise.all([...present, ...keys].map((key) => this.#deleteEverywhere(table, key)));
    }
  }

  #count({ id }: AllowedDivergence): void {
    this.#tally.allowed.set(id, (this.#tally.allowed.get(id) ?? 0) + 1);
  }

  async #deleteEverywhere(TableName: string, Key: DynamoItem): Promise<void> {
    const { signal } = new AbortController();
    const drivers = [...this.#engines.values()];
    await Promise.all(drivers.map((driver) => answered(() => driver.attempt('delete', { TableName, Key }, signal))));
  }

  /** Makes the engine's rows what the simulated ones are, so that one divergence does not beget others. */
  async #reconcile(engine: EngineName, step: Step): Promise<void> {
    if (step.kind === 'transactWrite') this.#tokenGeneration++;
    const driver = this.#engines.get(engine);
    const { signal } = new AbortController();
    for (const { TableName, Key } of writesOf(step)) {
      const outcome = await outcomeOf(this.#simulated, { kind: 'get', input: { TableName, Key } });
      if (outcome.kind === 'fault') continue;
      const { Item } = outcome.output as { readonly Item?: DynamoItem };
      if (Item === undefined) await driver?.attempt('delete', { TableName, Key }, signal);
      else await driver?.attempt('put', { TableName, Item }, signal);
    }
  }
}
