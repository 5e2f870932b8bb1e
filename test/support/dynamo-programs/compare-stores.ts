/** The comparison as a whole: random programs until enough operations are done, on several lanes at once. */
import { inspect } from 'node:util';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import fc from 'fast-check';
import { connectDynamo } from '../../../shared/dynamo/connect.ts';
import { clientSettings } from '../../../shared/dynamo/wire/sdk.ts';
import { systemRuntime } from '../../../shared/core/runtime/runtime.ts';
import { openClientDriver, openFetchDriver } from '../drivers.ts';
import type { EngineName } from './allowed-divergences.ts';
import type { ComparedEngine } from './lane.ts';
import { Lane } from './lane.ts';
import { comparable } from './outcome.ts';
import type { Program } from './requests.ts';
import { anyProgram } from './requests.ts';
import type { Divergence, Tally } from './run.ts';

/** The default driver, that over a user's client, and that of the edge. */
export type ComparedDriver = 'wire' | 'client' | 'fetch';

interface Comparison {
  /** `null` for an engine that cannot run here; one that is left out is not asked. */
  readonly endpoints: Readonly<Partial<Record<EngineName, string | null>>>;
  /** Answers of engines to compare, at least. */
  readonly operations: number;
  readonly seed: number;
  /** What sends to the engines. Default: what users have. */
  readonly driver?: ComparedDriver;
}

interface Report {
  readonly tally: Tally;
  readonly unexplained: Divergence | undefined;
  readonly text: string;
}

/** Enough to keep two engines busy, and few enough that a failure is soon found again. */
const LANES = 6;
const PROGRAMS_PER_ROUND = 60;

export async function compareStores({ endpoints, operations, seed, driver = 'wire' }: Comparison): Promise<Report> {
  const engines = connect(endpoints, driver);
  const tally: Tally = { compared: 0, allowed: new Map() };
  // Engines remember the tokens of transactions for ten minutes: another driver's lanes have names of their own.
  const lanes = await Promise.all(
    Array.from({ length: LANES }, (_, at) =>
      Lane.open(`lane-${process.pid}${driver.charAt(0)}-${seed}-${at}`, engines, tally),
    ),
  );
  try {
    let failure: Failure | undefined;
    for (let round = 0; tally.compared < operations && failure === undefined; round++) {
      const roundSeed = seed + round;
      const programs = fc.sample(anyProgram, { seed: roundSeed, numRuns: PROGRAMS_PER_ROUND });
      failure = await runRound(lanes, programs);
    }
    return { tally, unexplained: failure?.divergence, text: describe(tally, failure) };
  } finally {
    await Promise.all(lanes.map((lane) => lane.close()));
    for (const { client } of engines) client.destroy();
  }
}

interface Failure {
  readonly program: Program;
  readonly divergence: Divergence;
}

async function runRound(lanes: readonly Lane[], programs: readonly Program[]): Promise<Failure | undefined> {
  const waiting = [...programs];
  const failures: Failure[] = [];
  await Promise.all(
    lanes.map(async (lane) => {
      for (let program = waiting.shift(); program !== undefined; program = waiting.shift()) {
        const divergence = await lane.run(program);
        if (divergence !== undefined) failures.push({ program: await shrunk(lane, program, divergence), divergence });
        if (failures.length > 0) return;
      }
    }),
  );
  return failures[0];
}

/** Leaves out steps for as long as the same engine still diverges. */
async function shrunk(lane: Lane, program: Program, { engine }: Divergence): Promise<Program> {
  let smallest = program;
  for (let at = program.length - 1; at >= 0; at--) {
    const shorter = smallest.filter((_, position) => position !== at);
    const divergence = await lane.run(shorter);
    if (divergence?.engine === engine) smallest = shorter;
  }
  return smallest;
}

/** Emulators take any credentials. */
const CLIENT_SETTINGS = {
  ...clientSettings,
  region: 'us-east-1',
  credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
} as const;

function connect(endpoints: Comparison['endpoints'], driver: ComparedDriver): ComparedEngine[] {
  return (Object.keys(endpoints) as EngineName[]).flatMap((name) => {
    const endpoint = endpoints[name];
    if (endpoint === null || endpoint === undefined) return [];
    const client = new DynamoDBClient({ endpoint, ...CLIENT_SETTINGS });
    const openers = {
      wire: () => connectDynamo({ endpoint }, systemRuntime).driver,
      client: () => openClientDriver({ endpoint }),
      fetch: () => openFetchDriver({ endpoint }),
    };
    return [{ name, client, driver: openers[driver]() }];
  });
}

const READABLE = { depth: 12, maxStringLength: 2_000, breakLength: 200 } as const;

function describe(tally: Tally, failure: Failure | undefined): string {
  const allowed = [...tally.allowed].sort(([, a], [, b]) => b - a);
  const lines = [
    `operations compared: ${tally.compared}`,
    ...allowed.map(([id, count]) => `allowed: ${count} × ${id}`),
    `unexplained: ${failure === undefined ? 0 : 1}`,
  ];
  if (failure === undefined) return lines.join('\n');
  const { program, divergence } = failure;
  const { engine, step, simulated, actual } = divergence;
  return [
    ...lines,
    `${engine} diverges in ${inspect(step, READABLE)}`,
    `simulated: ${inspect(comparable(step, simulated), READABLE)}`,
    `${engine}: ${inspect(comparable(step, actual), READABLE)}`,
    `the program, without the steps that do not matter: ${inspect(program, READABLE)}`,
  ].join('\n');
}
