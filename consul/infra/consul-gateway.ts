/**
 * Consul's HTTP API for sessions and keys, on a coordination table: a function behind a URL that requires IAM credentials.
 *
 *     const consul = new ConsulGateway(this, 'Consul', { table: workers.table });
 *     consul.grantInvoke(role);
 *
 * Consul's own clients do not sign requests for AWS. They speak to `leasehold consul` on their own machine, which uses its credentials.
 */
import { CfnOutput, Duration, Token } from 'aws-cdk-lib';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import { Grant } from 'aws-cdk-lib/aws-iam';
import type { FunctionUrl } from 'aws-cdk-lib/aws-lambda';
import { FunctionUrlAuthType } from 'aws-cdk-lib/aws-lambda';
import type { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import { Construct } from 'constructs';
import { defined } from '../../shared/core/defined.ts';
import { ENV } from '../../functions/env.ts';
import { CONSUL_ENV } from '../lambda/env-names.ts';
import { ConfigurationError } from '../../shared/core/errors.ts';
import { packageModule } from '../../shared/core/package-files.ts';
import { DEFAULT_MAX_CLOCK_SKEW_MS } from '../../shared/core/lease/timing.ts';
import { validName, validOptions } from '../../shared/core/validate/options.ts';
import type { AccessRule } from '../../infra/access.ts';
import { HandlerFunction } from '../../infra/handler-function.ts';
import type { LeaseholdStack } from '../../infra/stack.ts';
import type { CoordinationTable } from '../../infra/table.ts';

export interface ConsulGatewayProps {
  readonly table: CoordinationTable;
  /** Name of its own node. Default: `leasehold`. */
  readonly node?: string;
  /** How long a request may take; blocking queries are answered ten seconds before. Default: a minute. */
  readonly timeout?: Duration;
  /** Largest difference between any two clocks, as everywhere on the table. Default: 1 s. */
  readonly maxClockSkew?: Duration;
  /**
   * Access rules as JSON, in addition to IAM: see consul/README.md.
   * Its secrets are readable in the template. Default: every caller that may invoke the function may do everything.
   */
  readonly tokens?: string;
  /** Keep the logs when the stack goes. Default: true. */
  readonly production?: boolean;
}

const PROPS = ['table', 'node', 'timeout', 'maxClockSkew', 'tokens', 'production'] as const;

const DEFAULT_TIMEOUT = Duration.minutes(1);
const LAMBDA_MAX_TIMEOUT_MS = 900_000;
/** Time between the end of a blocking query and the function's timeout. */
const MARGIN_MS = 10_000;
const MEMORY_MB = 512;

export class ConsulGateway extends Construct {
  readonly handler: HandlerFunction;
  readonly url: FunctionUrl;

  /** @throws ConfigurationError for what its function would refuse with each request */
  constructor(scope: Construct, id: string, props: ConsulGatewayProps) {
    super(scope, id);
    validOptions('the props of ConsulGateway', props, PROPS);
    if (props.node !== undefined && !Token.isUnresolved(props.node)) validName('node', props.node);
    ensureJson(props.tokens);
    const timeout = props.timeout ?? DEFAULT_TIMEOUT;
    const maxWaitMs = timeout.toMilliseconds() - MARGIN_MS;
    if (maxWaitMs <= 0)
      throw new ConfigurationError(`timeout = ${timeout.toString()}: must be more than ${MARGIN_MS / 1_000} seconds`);
    if (timeout.toMilliseconds() > LAMBDA_MAX_TIMEOUT_MS)
      throw new ConfigurationError(
        `timeout = ${timeout.toString()}: Lambda allows ${LAMBDA_MAX_TIMEOUT_MS / 1_000} seconds at most`,
      );
    const maxClockSkewMs = props.maxClockSkew?.toMilliseconds() ?? DEFAULT_MAX_CLOCK_SKEW_MS;
    this.handler = new HandlerFunction(this, 'Handler', {
      entry: packageModule('consul/lambda/handler'),
      description: `Consul's API for sessions and keys of ${props.table.tableName}`,
      timeout,
      memorySize: MEMORY_MB,
      production: props.production ?? true,
      environment: {
        [ENV.table]: props.table.tableName,
        [CONSUL_ENV.maxWaitMs]: String(maxWaitMs),
        [ENV.maxClockSkewMs]: String(maxClockSkewMs),
        ...defined({ [CONSUL_ENV.node]: props.node, [CONSUL_ENV.tokens]: props.tokens }),
      },
    });
    props.table.grant(this.function, consulAccess());
    this.url = this.function.addFunctionUrl({ authType: FunctionUrlAuthType.AWS_IAM });
  }

  get function(): NodejsFunction {
    return this.handler.function;
  }

  /** Call it through its URL, and no other way. */
  grantInvoke(grantee: IGrantable): Grant {
    const resourceArns = [this.function.functionArn];
    const byUrl = Grant.addToPrincipal({
      grantee,
      resourceArns,
      actions: ['lambda:InvokeFunctionUrl'],
      conditions: { StringEquals: { 'lambda:FunctionUrlAuthType': 'AWS_IAM' } },
    });
    const invoked = Grant.addToPrincipal({
      grantee,
      resourceArns,
      actions: ['lambda:InvokeFunction'],
      conditions: { Bool: { 'lambda:InvokedViaFunctionUrl': 'true' } },
    });
    return byUrl.combine(invoked);
  }
}

/** The handler checks the rules themselves. The message omits the text, because it contains secrets. */
function ensureJson(tokens: string | undefined): void {
  if (tokens === undefined || Token.isUnresolved(tokens)) return;
  try {
    JSON.parse(tokens);
  } catch {
    throw new ConfigurationError('tokens is not JSON: pass { "tokens": [ … ] }, as consul/README.md says');
  }
}

/** The Consul gateway: remote sessions, their checks, and the keys of locks. */
function consulAccess(): AccessRule[] {
  return [
    { on: 'table', actions: ['GetItem', 'BatchGetItem', 'UpdateItem'], keys: ['session#*', 'check#*', 'lock#*'] },
    { on: 'table', actions: ['PutItem'], keys: ['session#*'] },
    { on: 'table', actions: ['ConditionCheckItem'], keys: ['session#*', 'lock#*'] },
    { on: 'directory', actions: ['Query'], keys: ['session#*', 'check', 'lock#*'] },
  ];
}

/** Puts the gateway into the example deployment, on its table. */
export function addConsul(stack: LeaseholdStack, production: boolean): ConsulGateway {
  const gateway = new ConsulGateway(stack, 'Consul', { table: stack.workers.table, production });
  new CfnOutput(stack, 'ConsulUrl', { value: gateway.url.url, description: 'Sessions and keys as Consul has them' });
  return gateway;
}
