/** The function that runs tasks: your task definitions and our handler in one bundle. */
import { hash } from 'node:crypto';
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Duration } from 'aws-cdk-lib';
import type { IRole } from 'aws-cdk-lib/aws-iam';
import { Policy, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { BundlingOptions } from 'aws-cdk-lib/aws-lambda-nodejs';
import { Construct } from 'constructs';
import { ENV, variablesOf, withoutDefaults } from '../functions/env.ts';
import { ConfigurationError } from '../shared/core/errors.ts';
import { workAccess } from './access.ts';
import type { NetworkPlacement } from './handler-function.ts';
import { acknowledge } from './cdk-version.ts';
import { HandlerFunction, handlerModule } from './handler-function.ts';
import type { CoordinationTable } from './table.ts';
import type { WorkerSettings } from './validate.ts';

/** A start that is delayed for long is useless, because the next tick counts the backlog again and starts workers again. */
const MAX_EVENT_AGE = Duration.minutes(1);

export interface WorkerProps {
  /** The module that exports the tasks, or a function that runs them. */
  readonly source: { readonly entry: string } | { readonly own: LambdaFunction };
  readonly settings: WorkerSettings;
  readonly table: CoordinationTable;
  readonly production: boolean;
  readonly bundling: BundlingOptions | undefined;
  readonly network: NetworkPlacement | undefined;
}

export class WorkerFunction extends Construct {
  /** Absent if the function is the user's own. */
  readonly handler?: HandlerFunction;
  readonly function: LambdaFunction;
  readonly role: IRole;

  constructor(scope: Construct, id: string, props: WorkerProps) {
    super(scope, id);
    const { settings, table, source } = props;
    if ('own' in source) this.function = adopted(source.own, settings, table.tableName);
    else {
      this.handler = this.createHandler(source.entry, props);
      this.function = this.handler.function;
    }
    this.role = roleOf(this.function);
    // The platform must not retry the event, because the next worker takes over the tasks of a crashed worker anyway.
    this.function.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: MAX_EVENT_AGE });
    acknowledge(this.function, {
      id: 'Serverless::Serverless-LambdaAsyncFailureDestination',
      reason: 'The table holds the tasks, and an alarm watches the errors: a failed event would say nothing more.',
    });
    table.grant(this.function, workAccess(settings.queue));
    if (settings.continuation) this.allowContinuation();
  }

  private createHandler(entry: string, { settings, table, ...props }: WorkerProps): HandlerFunction {
    return new HandlerFunction(this, 'Handler', {
      entry: writeEntry(entry),
      tasks: entry,
      description: `Runs tasks of the queue ${settings.queue}`,
      timeout: Duration.millis(settings.workerTimeoutMs),
      memorySize: settings.workerMemoryMb,
      network: props.network,
      tracing: settings.tracing,
      production: props.production,
      bundling: props.bundling,
      environment: { ...settings.environment, ...workerEnvironment(settings, table.tableName) },
    });
  }

  /** A separate policy: the function depends on its role's default policy, so that policy cannot name the function. */
  private allowContinuation(): void {
    const statement = new PolicyStatement({
      actions: ['lambda:InvokeFunction'],
      resources: [this.function.functionArn],
    });
    new Policy(this, 'Continuation', { roles: [this.role], statements: [statement] });
  }
}

/** Configures the user's own function with the same variables as ours. */
function adopted(own: LambdaFunction, settings: WorkerSettings, tableName: string): LambdaFunction {
  for (const [name, value] of Object.entries(workerEnvironment(settings, tableName))) own.addEnvironment(name, value);
  return own;
}

/** @throws ConfigurationError for a function that was imported without its role */
function roleOf({ role }: LambdaFunction): IRole {
  if (role === undefined)
    throw new ConfigurationError(
      'workerFunction has no role that the stack knows: pass a Function that the stack makes',
    );
  return role;
}

/**
 * Writes the module that Lambda loads. It passes all exports of the user's module to our handler, which selects the task definitions.
 * Its text depends only on the two paths, and its name only on its text, so an unchanged program keeps its asset hash.
 * It is in the project, because the bundler accepts no entry from outside, and there in a folder for generated files.
 */
function writeEntry(tasks: string): string {
  const directory = path.join(projectOf(tasks), 'node_modules', '.cache', 'leasehold');
  const from = (module: string): string =>
    JSON.stringify(path.relative(directory, realpathSync(module)).split(path.sep).join('/'));
  const text = [
    `import * as tasks from ${from(tasks)};`,
    `import { createWorkHandler } from ${from(handlerModule('work'))};`,
    `export const handler = createWorkHandler(tasks);`,
    '',
  ].join('\n');
  const file = path.join(directory, `work-${hash('sha256', text).slice(0, 16)}.mjs`);
  mkdirSync(directory, { recursive: true });
  writeFileSync(file, text);
  return file;
}

/** Returns the nearest folder above the tasks with installed packages. */
function projectOf(tasks: string): string {
  let folder = path.dirname(realpathSync(tasks));
  while (!existsSync(path.join(folder, 'node_modules')) && folder !== path.dirname(folder))
    folder = path.dirname(folder);
  return folder === path.dirname(folder) ? process.cwd() : folder;
}

/** Returns the variables that the handler's `parseWorkEnv` reads. */
export function workerEnvironment(settings: WorkerSettings, tableName: string): Record<string, string> {
  const { queue, shards, maxWorkers, concurrency, sessionTtlMs, heartbeatMs, lockDelayMs, maxClockSkewMs } = settings;
  const { deadlineMarginMs, lingerMs, startWithinMs, continuation, logEnds, codeVersion, attemptSpans } = settings;
  const { timedNames } = settings;
  const sessions = { sessionTtlMs, heartbeatMs, lockDelayMs, maxClockSkewMs };
  return {
    ...variablesOf({ table: tableName, queue, shards, maxWorkers, concurrency, ...sessions, deadlineMarginMs }),
    ...variablesOf(withoutDefaults({ lingerMs, startWithinMs })),
    ...variablesOf({ continuation: Number(continuation), attemptSpans }),
    ...(codeVersion === undefined ? {} : variablesOf({ codeVersion })),
    ...(logEnds ? variablesOf({ logEnds: 1 }) : {}),
    ...(timedNames.length === 0 ? {} : { [ENV.timedNames]: JSON.stringify(timedNames) }),
  };
}
