/** Each step of a small model, taken by the shipped statements; needs Java, and is skipped without. */
import { beforeAll, describe, expect, test } from 'vitest';
import type { DynamoCalls, DynamoDriver, DynamoKind } from '../../shared/dynamo/engine/driver.ts';
import { MODELS } from '../spec/models.ts';
import { findTlc } from '../spec/tlc.ts';
import { memoryDynamo } from '../../shared/testing/memory-table.ts';
import { simulatedDriver } from '../../shared/testing/simulated-dynamo/driver.ts';
import { dumpGraph } from './dump.ts';
import type { Edge, Graph } from './graph.ts';
import { coveringPaths } from './graph.ts';
import { replay } from './replay.ts';

const TABLE = 'graph';
const tlc = findTlc(undefined);

describe.skipIf(typeof tlc === 'string' && process.env.CI !== 'true')('the steps of a model', () => {
  let graph: Graph;
  let paths: readonly (readonly Edge[])[];

  beforeAll(async () => {
    const model = MODELS.find(({ name }) => name === 'own-graph');
    if (typeof tlc === 'string') throw new Error(tlc);
    if (model === undefined) throw new Error('there is no own-graph');
    graph = await dumpGraph(tlc, model);
    paths = coveringPaths(graph);
  });

  test('leave the rows that the model says, each of them', async () => {
    const counts = await play(stored());

    expect(new Set(paths.flat()).size).toBe(graph.edges.length);
    expect(graph.edges.length).toBeGreaterThan(1_000);
    expect(counts.writes).toBeGreaterThan(1_000);
    expect(counts.refusals).toBeGreaterThan(10);
  });

  test('leave other rows where a claim does not move the counter', async () => {
    const stuck = edited('#leaseCounter = #leaseCounter + :one', '#leaseCounter = #leaseCounter');

    await expect(play(stuck)).rejects.toThrow(/leaseCounter 1700000000000, and the model 1700000000001/);
  });

  test("differ if a holder's verbs compare nothing", async () => {
    const isAnything = (attribute: string, value: string) =>
      `(${attribute} = ${value} OR ${attribute} <> ${value} OR attribute_not_exists(${attribute}))`;
    const fenceless = edited(
      '#state = :running AND #leaseCounter = :counter AND #session = :session',
      [
        ...[isAnything('#state', ':running'), isAnything('#leaseCounter', ':counter')],
        isAnything('#session', ':session'),
      ].join(' AND '),
    );

    await expect(play(fenceless)).rejects.toThrow('the store took what the model does not');
  });

  async function play(driver: DynamoDriver) {
    const counts = { writes: 0, refusals: 0 };
    for (const [index, path] of paths.entries())
      await replay(graph, path, { driver, table: TABLE, name: `p${index}`, counts });
    return counts;
  }
});

function stored(): DynamoDriver {
  return simulatedDriver(memoryDynamo(TABLE, () => 0));
}

/** A store that reads one thing for another in the expressions of updates. */
function edited(find: string, replace: string): DynamoDriver {
  const driver = stored();
  return {
    attempt<K extends DynamoKind>(kind: K, input: DynamoCalls[K]['input'], signal: AbortSignal) {
      const changed = Object.entries(input).map(([name, value]: [string, unknown]) => [
        name,
        typeof value === 'string' && name.endsWith('Expression') ? value.replace(find, replace) : value,
      ]);
      return driver.attempt(kind, Object.fromEntries(changed) as DynamoCalls[K]['input'], signal);
    },
  };
}
