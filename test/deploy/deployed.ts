/** The deployed system as its users see it: the CDK's commands, the public client, the effects that tasks leave, the logs. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand, PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { StoreUnavailableError } from '../../shared/errors.ts';
import type { Leasehold } from '../../shared/leasehold.ts';
import { createLeasehold } from '../../shared/leasehold.ts';
import { sideBySide } from '../../shared/runtime/in-flight.ts';
import type { TaskRecord } from '../../shared/task/task.ts';
import { leash } from '../../local/leash.ts';
import type { Emulator } from './emulator.ts';
import { ACCOUNT, QUEUE, REGION, SHARDS, STACK, WORKER_TIMEOUT_MS } from './settings.ts';

const root = path.resolve(import.meta.dirname, '../..');
const assembly = path.join(root, '.leasehold', 'deploy', 'cdk.out');
/** Of single tasks. */
const READS_AT_ONCE = 4;
const outputs = path.join(root, '.leasehold', 'deploy', 'outputs.json');

interface Outputs {
  readonly TableName: string;
  readonly EffectsTableName: string;
  readonly DispatcherFunctionName: string;
}

interface FunctionProperties {
  readonly Description: string;
  readonly Code: { readonly S3Key: string };
  readonly Environment: { readonly Variables: Readonly<Record<string, unknown>> };
}

export interface Effect {
  readonly id: string;
  /** How often the task's transaction was applied. */
  readonly times: number;
  readonly revision: string;
  readonly attempt: number;
}

/** The real command line of the CDK, against the emulator. */
export class Deployer {
  readonly #emulator: Emulator;

  constructor(emulator: Emulator) {
    this.#emulator = emulator;
  }

  bootstrap(): Promise<void> {
    return this.#cdk('bootstrap', `aws://${ACCOUNT}/${REGION}`);
  }

  deploy(revision: string): Promise<void> {
    return this.#cdk('deploy', '--require-approval', 'never', '--outputs-file', outputs, '-c', `revision=${revision}`);
  }

  destroy(): Promise<void> {
    return this.#cdk('destroy', '--force');
  }

  async #cdk(...args: readonly string[]): Promise<void> {
    const program = path.join(root, 'node_modules', '.bin', 'cdk');
    const app = `${JSON.stringify(process.execPath)} test/deploy/app.ts`;
    const options = ['--app', app, '--output', assembly, '--progress', 'events'];
    const child = spawn(process.execPath, [program, ...args, ...options], {
      cwd: root,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...this.#emulator.environment },
    });
    leash(child);
    let said = '';
    const listen = (chunk: Buffer): void => {
      said += chunk.toString();
    };
    for (const stream of [child.stdout, child.stderr]) stream.on('data', listen);
    const [code] = (await once(child, 'exit')) as [number | null];
    if (code !== 0) throw new Error(`cdk ${args.join(' ')} ended with ${code}:\n${said}`);
  }
}

/** The worker's bundle of the last synthesis, and the variables that its function gets, as far as the template says them. */
export interface WorkerBundle {
  readonly file: string;
  readonly variables: Readonly<Record<string, string>>;
}

export class Deployed implements Disposable {
  readonly outputs: Outputs;
  readonly leasehold: Leasehold;
  readonly #documents: DynamoDBDocumentClient;
  readonly #emulator: Emulator;

  constructor(emulator: Emulator) {
    const all = JSON.parse(readFileSync(outputs, 'utf8')) as Record<string, Outputs>;
    const own = all[STACK];
    if (own === undefined) throw new Error(`${outputs} says nothing about ${STACK}`);
    this.outputs = own;
    this.#emulator = emulator;
    const { AWS_ACCESS_KEY_ID: accessKeyId = '', AWS_SECRET_ACCESS_KEY: secretAccessKey = '' } = emulator.environment;
    const clientConfig = { region: REGION, credentials: { accessKeyId, secretAccessKey } };
    const { endpoint } = emulator;
    this.leasehold = createLeasehold({ table: own.TableName, queue: QUEUE, shards: SHARDS, endpoint, clientConfig });
    this.#documents = DynamoDBDocumentClient.from(new DynamoDBClient({ endpoint, ...clientConfig }));
  }

  /** A copy of the worker's bundle that a later deployment does not replace. */
  keepWorkerBundle(): WorkerBundle {
    const template = JSON.parse(readFileSync(path.join(assembly, `${STACK}.template.json`), 'utf8')) as {
      Resources: Record<string, { Type: string; Properties: FunctionProperties }>;
    };
    const functions = Object.values(template.Resources).filter(({ Type }) => Type === 'AWS::Lambda::Function');
    const found = functions.find(({ Properties }) => Properties.Description.startsWith('Runs tasks'));
    if (found === undefined) throw new Error('the template has no worker');
    const { Code, Environment } = found.Properties;
    const from = path.join(assembly, `asset.${path.basename(Code.S3Key, '.zip')}`);
    const to = path.join(path.dirname(assembly), 'old-worker');
    cpSync(from, to, { recursive: true, force: true });
    const literal = Object.entries(Environment.Variables).filter(([, value]) => typeof value === 'string');
    return {
      file: path.join(to, 'index.mjs'),
      variables: {
        ...(Object.fromEntries(literal) as Record<string, string>),
        LEASEHOLD_TABLE: this.outputs.TableName,
        EFFECTS_TABLE: this.outputs.EffectsTableName,
      },
    };
  }

  /** Runs one invocation of a worker's bundle in a process of ours, as an environment that Lambda has not ended yet. */
  async work({ file, variables }: WorkerBundle): Promise<void> {
    const script = `const { handler } = await import(${JSON.stringify(file)});
      const ends = Date.now() + ${WORKER_TIMEOUT_MS};
      const getRemainingTimeInMillis = () => ends - Date.now();
      const context = { awsRequestId: 'old', functionName: 'old', logStreamName: 'old', getRemainingTimeInMillis };
      await handler({ queue: ${JSON.stringify(QUEUE)}, homeShards: [] }, context);`;
    const env = {
      PATH: process.env.PATH,
      ...variables,
      ...this.#emulator.environment,
    };
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe'],
      env,
    });
    leash(child);
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    const [code] = (await once(child, 'exit')) as [number | null];
    if (code !== 0) throw new Error(`the old worker ended with ${code}:\n${said.slice(-2_000)}`);
  }

  async states(ids: readonly string[]): Promise<TaskRecord[]> {
    // The emulator serves one request after the other: with all at once the last would outwait its time.
    const atOnce = sideBySide(READS_AT_ONCE);
    const records = await Promise.all(ids.map((id) => atOnce(() => this.leasehold.tasks.get(id))));
    return records.filter((record) => record !== undefined);
  }

  async effects(): Promise<Map<string, Effect>> {
    const { Items = [] } = await this.#documents.send(new ScanCommand({ TableName: this.outputs.EffectsTableName }));
    return new Map((Items as Effect[]).map((effect) => [effect.id, effect]));
  }

  async readRow(key: { readonly pk: string; readonly sk: string }): Promise<Record<string, unknown> | undefined> {
    const { Item } = await this.#documents.send(
      new GetCommand({ TableName: this.outputs.TableName, Key: { ...key }, ConsistentRead: true }),
    );
    return Item;
  }

  async writeRow(item: Record<string, unknown>): Promise<void> {
    await this.#documents.send(new PutCommand({ TableName: this.outputs.TableName, Item: item }));
  }

  /** All that the deployed functions have logged as JSON. */
  async logs(): Promise<Record<string, unknown>[]> {
    const { logGroups = [] } = (await this.#emulator.call('logs', 'Logs_20140328.DescribeLogGroups', {})) as {
      logGroups?: { logGroupName: string }[];
    };
    const pages = logGroups.map(async ({ logGroupName }) => {
      const page = await this.#emulator.call('logs', 'Logs_20140328.FilterLogEvents', { logGroupName, limit: 10_000 });
      return (page.events ?? []) as { message: string }[];
    });
    return (await Promise.all(pages)).flat().flatMap(({ message }) => parseLine(message));
  }

  /** How much of a metric was reported so far, by the lines that CloudWatch would make metrics of. */
  async reported(metric: string): Promise<number> {
    return (await this.logs()).reduce((sum, line) => sum + (typeof line[metric] === 'number' ? line[metric] : 0), 0);
  }

  [Symbol.dispose](): void {
    this.leasehold[Symbol.dispose]();
    this.#documents.destroy();
  }
}

/** Looks once a second, for as long as nothing answers too. @throws Error naming what was last seen when it takes too long */
export async function until<T>(
  what: string,
  look: () => Promise<T>,
  isReached: (seen: T) => boolean,
  withinMs: number,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const seen = await look().catch((error: unknown) => {
      if (error instanceof StoreUnavailableError) return error;
      throw error;
    });
    if (!(seen instanceof StoreUnavailableError) && isReached(seen)) return seen;
    if (performance.now() > deadline) {
      throw new Error(`after ${withinMs / 1000} s still not: ${what}; last seen: ${describe(seen)}`);
    }
    await wait(1_000);
  }
}

function describe(seen: unknown): string {
  return seen instanceof Error ? seen.message : JSON.stringify(seen).slice(0, 500);
}

function parseLine(message: string): Record<string, unknown>[] {
  if (!message.startsWith('{')) return []; // START, END, REPORT
  try {
    return [JSON.parse(message) as Record<string, unknown>];
  } catch {
    return []; // cut by the emulator's limit
  }
}
