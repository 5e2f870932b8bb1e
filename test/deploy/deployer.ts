/** The real command lines of the CDK and of Leasehold, against the emulator. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Ended } from '../support/cdk-command.ts';
import { cdk, runNode } from '../support/cdk-command.ts';
import type { Emulator } from './emulator.ts';
import type { Revision } from './settings.ts';
import { ACCOUNT, QUEUE, REGION, STACK, stackId, WORKER_TIMEOUT_MS } from './settings.ts';

const root = path.resolve(import.meta.dirname, '../..');
const folder = path.join(root, '.leasehold', 'deploy');
const assembly = path.join(folder, 'cdk.out');
const outputsFile = path.join(folder, 'outputs.json');

interface Outputs {
  readonly TableName: string;
  readonly DispatcherFunctionName: string;
}

interface FunctionProperties {
  readonly Description: string;
  readonly Code: { readonly S3Key: string };
  readonly Environment: { readonly Variables: Readonly<Record<string, unknown>> };
}

export class Deployer {
  readonly #emulator: Emulator;

  constructor(emulator: Emulator) {
    this.#emulator = emulator;
  }

  /** Bundles all revisions into an assembly, which the CDK deploys as it is. */
  static async synthesize(): Promise<void> {
    rmSync(assembly, { recursive: true, force: true });
    const { code, said } = await runNode({}, [path.join(import.meta.dirname, 'app.ts'), assembly]);
    if (code !== 0) throw new Error(`the app ended with ${code}:\n${said}`);
  }

  bootstrap(): Promise<void> {
    return cdk(this.#emulator.environment, ['bootstrap', `aws://${ACCOUNT}/${REGION}`]);
  }

  deploy(revision: Revision): Promise<void> {
    const options = ['--require-approval', 'never', '--progress', 'events', '--outputs-file', outputsFile];
    return cdk(this.#emulator.environment, ['deploy', stackId(revision), '--app', assembly, ...options]);
  }

  destroy(revision: Revision): Promise<void> {
    return cdk(this.#emulator.environment, ['destroy', stackId(revision), '--force', '--app', assembly]);
  }

  outputs(): Outputs {
    const all = JSON.parse(readFileSync(outputsFile, 'utf8')) as Record<string, Outputs>;
    const own = all[STACK];
    if (own === undefined) throw new Error(`${outputsFile} says nothing about ${STACK}`);
    return own;
  }

  /**
   * Runs one invocation of a worker's bundle in a process of this test, as an environment that Lambda has not ended yet.
   * @throws Error if it does not end well
   */
  async work(revision: Revision): Promise<void> {
    const { file, variables } = workerBundle(revision);
    const script = `const { handler } = await import(${JSON.stringify(file)});
      const ends = Date.now() + ${WORKER_TIMEOUT_MS};
      const getRemainingTimeInMillis = () => ends - Date.now();
      const context = { awsRequestId: 'old', functionName: 'old', logStreamName: 'old', getRemainingTimeInMillis };
      await handler({ queue: ${JSON.stringify(QUEUE)}, homeShards: [] }, context);`;
    const env = { ...variables, LEASEHOLD_TABLE: this.outputs().TableName, ...this.#emulator.environment };
    const { code, said } = await runNode(env, ['--input-type=module', '--eval', script]);
    if (code !== 0) throw new Error(`the worker of revision ${revision} ended with ${code}:\n${said.slice(-2_000)}`);
  }

  /** The `leasehold` command, as an operator calls it. */
  leasehold(...args: readonly string[]): Promise<Ended> {
    return runNode(this.#emulator.environment, [path.join(root, 'api', 'command.ts'), ...args]);
  }
}

/** The worker bundle of `QUEUE`, and the variables of its function, as far as the template contains them. */
function workerBundle(revision: Revision): { readonly file: string; readonly variables: Record<string, string> } {
  const template = JSON.parse(readFileSync(path.join(assembly, `${stackId(revision)}.template.json`), 'utf8')) as {
    Resources: Record<string, { Type: string; Properties: FunctionProperties }>;
  };
  const functions = Object.values(template.Resources).filter(({ Type }) => Type === 'AWS::Lambda::Function');
  const found = functions.find(({ Properties }) => Properties.Description === `Runs tasks of the queue ${QUEUE}`);
  if (found === undefined) throw new Error(`the template has no worker of the queue ${QUEUE}`);
  const { Code, Environment } = found.Properties;
  const file = path.join(assembly, `asset.${path.basename(Code.S3Key, '.zip')}`, 'index.mjs');
  if (!existsSync(file)) throw new Error(`there is no bundle ${file}`);
  const literal = Object.entries(Environment.Variables).filter(([, value]) => typeof value === 'string');
  return { file, variables: Object.fromEntries(literal) as Record<string, string> };
}
