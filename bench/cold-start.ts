/**
 * Cost of the deployed bundles before their first line of work: zipped size, and the time to load them as a module.
 *
 * The bundles come from `npm run synth` and are loaded in fresh processes with the variables and Node options of their functions.
 * For comparison it loads an empty handler and one that only imports the two DynamoDB packages of the AWS SDK, bundled the same way.
 * All alternate, and the ratio is taken within each round, so a busy machine slows both sides of it.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { deflateRawSync, gzipSync } from 'node:zlib';
import { Command } from 'commander';
import { buildSync } from 'esbuild';
import { wholeNumber } from './arguments.ts';
import { median, print } from './figures.ts';

/** Per function: zipped size, and load time relative to the AWS SDK alone. */
const LIMITS: Readonly<Record<string, { readonly kb: number; readonly ratio: number }>> = {
  worker: { kb: 130, ratio: 1 },
  dispatcher: { kb: 80, ratio: 0.6 },
  waker: { kb: 80, ratio: 0.6 },
};
/** For what locks and enqueues. */
const MAX_EDGE_KB = 32;
/** A zip file's headers for one entry, name excluded. */
const ZIP_OVERHEAD_BYTES = 30 + 46 + 22;
const root = path.resolve(import.meta.dirname, '..');

interface Candidate {
  readonly name: string;
  /** Holds `index.mjs`. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
}

export async function run(args: readonly string[]): Promise<number> {
  const { rounds, json = false } = new Command('npm run bench -- cold-start')
    .option('--rounds <n>', 'rounds of fresh processes', wholeNumber(1), 15)
    .option('--json', 'the figures as JSON')
    .parse([...args], { from: 'user' })
    .opts<{ readonly rounds: number; readonly json?: boolean }>();
  const scratch = mkdtempSync(path.join(tmpdir(), 'leasehold-cold-start-'));
  try {
    const deployed = synthesize(path.join(scratch, 'cdk.out'));
    const options = deployed[0]?.environment.NODE_OPTIONS ?? '';
    const bare = bundle(scratch, 'bare handler', `export const handler = async () => 'ok';`, options);
    const sdk = bundle(
      scratch,
      'AWS SDK only',
      `import * as client from '@aws-sdk/client-dynamodb'; import * as documents from '@aws-sdk/lib-dynamodb';
       const { DynamoDBClient } = client; const { DynamoDBDocumentClient } = documents;
       const { GetCommand, BatchGetCommand, QueryCommand, PutCommand, UpdateCommand, DeleteCommand, TransactWriteCommand } = documents;
       const connection = DynamoDBDocumentClient.from(new DynamoDBClient({}));
       export const handler = async () => [connection, GetCommand, BatchGetCommand, QueryCommand, PutCommand, UpdateCommand, DeleteCommand, TransactWriteCommand];`,
      options,
    );
    const measured = measure([bare, sdk, ...deployed], rounds);
    const edge = { all: edgeKb('createLeasehold'), lockAndEnqueue: edgeKb('connect, enqueuer, lockSession') };
    const functions = figuresOf(measured, sdk);
    print({ functions, edgeGzippedKb: edge }, json);
    return functions.every(({ isMet }) => isMet) && edge.lockAndEnqueue <= MAX_EDGE_KB ? 0 : 1;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** The functions of the stack: their bundles, and what their environments will hold. */
function synthesize(outdir: string): Candidate[] {
  const env = { ...process.env, CDK_OUTDIR: outdir };
  execFileSync(process.execPath, ['infra/app.ts'], { cwd: root, env, stdio: ['ignore', 'ignore', 'pipe'] });
  const template = JSON.parse(readFileSync(path.join(outdir, 'Leasehold.template.json'), 'utf8')) as {
    Resources: Record<string, { Type: string; Properties: FunctionProperties }>;
  };
  return Object.values(template.Resources)
    .filter(({ Type }) => Type === 'AWS::Lambda::Function')
    .map(({ Properties }) => ({
      name: FUNCTIONS[Properties.Description.split(' ')[0] ?? ''] ?? 'dispatcher',
      folder: path.join(outdir, `asset.${path.basename(Properties.Code.S3Key, '.zip')}`),
      environment: Object.fromEntries(
        Object.entries(Properties.Environment.Variables).map(([name, value]) => [
          name,
          // CloudFormation composes either a list of queues or a name.
          typeof value === 'string'
            ? value
            : name === 'LEASEHOLD_WAKE_QUEUES'
              ? '[{"queue":"default","workerFunction":"worker"}]'
              : name,
        ]),
      ),
    }));
}

/** By the first word of their descriptions. */
const FUNCTIONS: Readonly<Record<string, string>> = { Runs: 'worker', Invokes: 'dispatcher', Starts: 'waker' };

interface FunctionProperties {
  readonly Description: string;
  readonly Code: { readonly S3Key: string };
  readonly Environment: { readonly Variables: Readonly<Record<string, unknown>> };
}

function bundle(scratch: string, name: string, contents: string, nodeOptions: string): Candidate {
  const folder = path.join(scratch, name.replaceAll(' ', '-'));
  mkdirSync(folder);
  buildSync({
    stdin: { contents, resolveDir: root },
    outfile: path.join(folder, 'index.mjs'),
    bundle: true,
    minify: true,
    keepNames: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    mainFields: ['module', 'main'],
    logLevel: 'error',
    banner: {
      js: `import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);`,
    },
  });
  return { name, folder, environment: { NODE_OPTIONS: nodeOptions } };
}

interface Measured extends Candidate {
  readonly zippedKb: number;
  readonly loadMs: readonly number[];
}

function measure(candidates: readonly Candidate[], rounds: number): Measured[] {
  const measured = candidates.map((one) => ({
    ...one,
    zippedKb: zippedBytes(one.folder) / 1024,
    loadMs: [] as number[],
  }));
  for (let round = 0; round < rounds; round++) for (const one of measured) one.loadMs.push(loadOnce(one));
  return measured;
}

/** In a fresh process, as a new execution environment is; the process's own start is not ours to pay for. */
function loadOnce({ folder, environment }: Candidate): number {
  const loader = path.join(folder, 'load.mjs');
  writeFileSync(
    loader,
    `const started = performance.now(); const { handler } = await import('./index.mjs');
     if (typeof handler !== 'function') throw new Error('no handler'); console.log(performance.now() - started);`,
  );
  const env = { PATH: process.env.PATH, AWS_REGION: 'eu-west-1', AWS_LAMBDA_FUNCTION_NAME: 'bench', ...environment };
  return Number(execFileSync(process.execPath, [loader], { env, encoding: 'utf8' }).trim());
}

function zippedBytes(folder: string): number {
  return readdirSync(folder)
    .map((name) => {
      const deflated = deflateRawSync(readFileSync(path.join(folder, name)), { level: 9 }).length;
      return deflated + ZIP_OVERHEAD_BYTES + 2 * name.length;
    })
    .reduce((sum, bytes) => sum + bytes, 0);
}

/** Bundle size for an isolate: bundled for no platform, like a build for the edge. */
function edgeKb(names: string): number {
  const { outputFiles } = buildSync({
    stdin: { contents: `export { ${names} } from './api/edge.ts';`, resolveDir: root },
    bundle: true,
    minify: true,
    write: false,
    platform: 'neutral',
    target: 'es2024',
    format: 'esm',
    mainFields: ['module', 'main'],
  });
  return gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length / 1024;
}

function figuresOf(measured: readonly Measured[], { name: baseName }: Candidate) {
  const base = measured.find(({ name }) => name === baseName)?.loadMs ?? [];
  return measured.map(({ name, zippedKb, loadMs }) => {
    const ofSdk = median(loadMs.map((ms, round) => ms / (base[round] ?? NaN)));
    const { kb, ratio } = LIMITS[name] ?? { kb: Infinity, ratio: Infinity };
    return { name, zippedKb, loadMs: median(loadMs), ofSdk, isMet: zippedKb <= kb && ofSdk <= ratio };
  });
}
