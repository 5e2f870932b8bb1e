/**
 * `npm run spec:graph -- [--local] [--every N] [--json] [--jar FILE]`
 *
 * Dumps the states of two small models with their steps, covers every step by paths,
 * and replays each path with the shipped statements on the
 * simulated store, and with `--local` also on DynamoDB Local. After each write the rows must agree with the model.
 */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Command } from 'commander';
import { wholeNumber } from '../../cli/arguments.ts';
import { startEngine } from '../../local/engine.ts';
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import type { DynamoDriver } from '../../shared/dynamo/engine/driver.ts';
import { createTable } from '../../shared/dynamo/table.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { MODELS } from '../spec/models.ts';
import { findTlc } from '../spec/tlc.ts';
import { memoryDynamo } from '../../shared/testing/memory-table.ts';
import { simulatedDriver } from '../../shared/testing/simulated-dynamo/driver.ts';
import { TEST_CLIENT_SETTINGS } from '../../test/support/stores.ts';
import { dumpGraph } from './dump.ts';
import type { Edge, Graph } from './graph.ts';
import { coveringPaths } from './graph.ts';
import { Divergence, replay } from './replay.ts';

interface Flags {
  readonly local: boolean;
  readonly every: number;
  readonly json: boolean;
  readonly jar?: string;
}

interface Replayed {
  readonly model: string;
  readonly states: number;
  readonly store: string;
  readonly edges: number;
  readonly paths: number;
  readonly steps: number;
  readonly writes: number;
  readonly refusals: number;
  readonly seconds: number;
  readonly divergences: readonly string[];
}

const TABLE = 'graph';
const SHOWN = 5;
/** Concurrent paths, if the store is a separate process. */
const SIDE_BY_SIDE = 16;

const command = new Command('npm run spec:graph --')
  .description("Takes each step of a model's states with the shipped statements.")
  .option('--local', 'on DynamoDB Local too', false)
  .option('--every <n>', 'there, one path in so many', wholeNumber(1), 1)
  .option('--json', 'one JSON object at the end', false)
  .option('--jar <file>', 'a jar of TLC that is here already');

async function main({ local, every, json, jar }: Flags): Promise<number> {
  const tlc = findTlc(jar);
  if (typeof tlc === 'string') {
    console.log(`skipped: ${tlc}`);
    return process.env.CI === 'true' ? 1 : 0;
  }
  const reports: Replayed[] = [];
  for (const model of MODELS.filter(({ isGraph }) => isGraph)) {
    const graph = await dumpGraph(tlc, model);
    const task = { model: model.name, graph, paths: coveringPaths(graph) };
    const memory = simulatedDriver(memoryDynamo(TABLE, () => systemRuntime.clock.now()));
    reports.push(await replayed(task, 'simulated store', { driver: memory, atOnce: 1 }));
    if (local) reports.push(await onDynamoDBLocal(task, every));
  }
  if (json) console.log(JSON.stringify({ reports }));
  return reports.every(({ divergences }) => divergences.length === 0) ? 0 : 1;
}

interface Task {
  readonly model: string;
  readonly graph: Graph;
  readonly paths: readonly (readonly Edge[])[];
}

async function replayed(
  { model, graph, paths }: Task,
  store: string,
  { driver, atOnce }: { readonly driver: DynamoDriver; readonly atOnce: number },
): Promise<Replayed> {
  const startedAt = performance.now();
  const counts = { writes: 0, refusals: 0 };
  const divergences: string[] = [];
  const waiting = paths.entries();
  const play = async (): Promise<void> => {
    for (const [index, steps] of waiting) {
      try {
        await replay(graph, steps, { driver, table: TABLE, name: `p${index}`, counts });
      } catch (error) {
        if (!(error instanceof Divergence)) throw error;
        divergences.push(error.message);
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, play));
  const report: Replayed = {
    model,
    states: graph.states.size,
    store,
    edges: new Set(paths.flat()).size,
    paths: paths.length,
    steps: paths.flat().length,
    ...counts,
    seconds: Math.round((performance.now() - startedAt) / 1_000),
    divergences,
  };
  const { states, edges, steps, writes, refusals, seconds } = report;
  const covered = `${edges} of ${graph.edges.length} steps between ${states} states, ${paths.length} paths (${steps} steps)`;
  const told = `${writes} writes, ${refusals} refusals, ${divergences.length} divergences, ${seconds} s`;
  console.log(`${model}, ${store}: ${covered}, ${told}`);
  for (const divergence of divergences.slice(0, SHOWN)) console.log(divergence);
  return report;
}

async function onDynamoDBLocal(task: Task, every: number): Promise<Replayed> {
  const engine = await startEngine({ kind: 'dynamodb-local', isBare: true });
  const client = new DynamoDBClient({ endpoint: engine.endpoint, ...TEST_CLIENT_SETTINGS });
  try {
    await createTable(client, TABLE);
    const { driver } = connectDynamo({ endpoint: engine.endpoint }, systemRuntime);
    const some = { ...task, paths: task.paths.filter((_, index) => index % every === 0) };
    return await replayed(some, 'DynamoDB Local', { driver, atOnce: SIDE_BY_SIDE });
  } finally {
    client.destroy();
    await engine.stop();
  }
}

command.parse();
process.exitCode = await main(command.opts<Flags>());
