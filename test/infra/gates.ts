/** The roles of a stack, each behind a gate that enforces its policies on a real engine; and the shipped handlers there. */
import type { Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import type { IRole } from 'aws-cdk-lib/aws-iam';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { Context } from 'aws-lambda';
import { inject, vi } from 'vitest';
import { ENV } from '../../functions/env.ts';
import type { TaskWorkers } from '../../infra/task-workers.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { statementsOf } from './policy.ts';
import type { PolicyGate } from './policy-gate.ts';
import { openPolicyGate } from './policy-gate.ts';

export const upstream = inject('embeddedEndpoint') ?? inject('dynamodbLocalEndpoint');

type Construct = { readonly node: { readonly defaultChild?: unknown } };

export function newRole(stack: Stack, id: string, grant: (role: Role) => unknown): Role {
  const role = new Role(stack, id, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
  grant(role);
  return role;
}

/** Ends the construction of the stack. */
export class Gates {
  readonly template: Template;
  readonly #stack: Stack;
  readonly #table: string;
  readonly #workers: TaskWorkers;
  readonly #open: PolicyGate[] = [];

  constructor(stack: Stack, workers: TaskWorkers, table: string) {
    this.#stack = stack;
    this.#workers = workers;
    this.#table = table;
    this.template = Template.fromStack(stack);
  }

  logicalIdOf(resource: Construct): string {
    return this.#stack.getLogicalId(resource.node.defaultChild as Parameters<Stack['getLogicalId']>[0]);
  }

  /** @param without the number of a statement that the role does not have */
  async for(role: IRole, without?: number): Promise<PolicyGate> {
    const all = statementsOf(this.template, this.logicalIdOf(role));
    const gate = await openPolicyGate({
      upstream: upstream ?? '',
      table: this.#table,
      statements: all.filter((_, nth) => nth !== without),
      logicalId: this.logicalIdOf(this.#workers.table.table),
    });
    this.#open.push(gate);
    return gate;
  }

  async close(): Promise<void> {
    await Promise.all(this.#open.splice(0).map((gate) => gate[Symbol.asyncDispose]()));
  }
}

/** The environment of a handler that is loaded from now on. */
export function stubHandler(
  { endpoint }: PolicyGate,
  { table, queue, shards }: { readonly table: string; readonly queue: string; readonly shards: number },
  more: Readonly<Record<string, string>> = {},
): void {
  vi.unstubAllEnvs();
  vi.resetModules();
  const variables = {
    [ENV.table]: table,
    [ENV.queue]: queue,
    [ENV.shards]: String(shards),
    [ENV.deadlineMarginMs]: '500',
    [ENV.endpoint]: endpoint,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    POWERTOOLS_LOG_LEVEL: 'SILENT',
    POWERTOOLS_METRICS_DISABLED: 'true',
    ...more,
  };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
}

/** Longer than any task needs, so that a busy machine does not make one hand back its work. */
export function lambdaContext(): Context {
  const deadline = performance.now() + 600_000;
  return {
    awsRequestId: systemRuntime.ids.unique(),
    functionName: 'test',
    logStreamName: 'test',
    getRemainingTimeInMillis: () => deadline - performance.now(),
  } as Context;
}
