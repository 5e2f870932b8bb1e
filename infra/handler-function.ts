/** One of our Lambda functions: its bundle, its role, its log group. */
import path from 'node:path';
import type { Duration } from 'aws-cdk-lib';
import { AssetStaging, RemovalPolicy } from 'aws-cdk-lib';
import type { ISecurityGroup, IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import { Effect, Grant, ManagedPolicy, Policy, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { CfnFunction, IFunction } from 'aws-cdk-lib/aws-lambda';
import { Architecture, LoggingFormat, SystemLogLevel, Tracing } from 'aws-cdk-lib/aws-lambda';
import type { BundlingOptions, ICommandHooks, NodejsFunctionProps } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogLevel, NodejsFunction, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { METRICS_NAMESPACE, METRICS_SERVICE } from '../functions/metric-names.ts';
import { ConfigurationError, messageOf } from '../shared/core/errors.ts';
import { packageModule } from '../shared/core/package-files.ts';
import { acknowledge, node24 } from './cdk-version.ts';

/** A CommonJS dependency inside an ES module bundle may call `require` for Node's own modules. */
const REQUIRE_BANNER =
  "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);";

/**
 * The runtime contains the SDK, and we load it only if the environment lacks region and credentials. In the bundle it would be half of
 * every cold start.
 * Task code that imports it gets the runtime's copy.
 */
const LOADED_WHEN_NEEDED = [
  '@aws-sdk/client-dynamodb',
  // The SDK of durable executions names it, and durable tasks never load it.
  '@aws-sdk/client-lambda',
];

const BUNDLING: BundlingOptions = {
  format: OutputFormat.ESM,
  mainFields: ['module', 'main'],
  target: 'node24',
  logLevel: LogLevel.WARNING,
  minify: true,
  // Logs and rows distinguish errors of task code by class name. Minified classes would all be called `a`.
  keepNames: true,
  sourceMap: true,
  sourcesContent: false,
  banner: REQUIRE_BANNER,
  // Uses the tested version of the SDK, and one file loads faster than the runtime's hundreds of files.
  bundleAwsSDK: true,
};

/** What a stack gives is added to ours. */
export function bundlingWith({ externalModules = [], commandHooks, ...given }: BundlingOptions = {}): BundlingOptions {
  const hooks: Partial<ICommandHooks> = commandHooks ?? {};
  return {
    ...BUNDLING,
    ...given,
    externalModules: [...LOADED_WHEN_NEEDED, ...externalModules],
    commandHooks: {
      beforeBundling: (...of) => hooks.beforeBundling?.(...of) ?? [],
      beforeInstall: (...of) => hooks.beforeInstall?.(...of) ?? [],
      // A bundling container has neither our Node nor our program, so the source map stays complete, and a cold start reads more.
      afterBundling: (input, output) => [
        ...(given.sourceMap === false || output === AssetStaging.BUNDLING_OUTPUT_DIR
          ? []
          : [trimCommand(path.join(output, 'index.mjs.map'))]),
        ...(hooks.afterBundling?.(input, output) ?? []),
      ],
    },
  };
}

/**
 * For functions without user code: our own errors contain their names as text, and minifying saves a tenth of the bundle.
 * A source map would be empty.
 */
export const WITHOUT_NAMES: BundlingOptions = { keepNames: false, sourceMap: false };

/** Affects only Lambda's own lines: the function's own logs and metrics are written as before. */
const WITHOUT_INVOCATION_LINES = { loggingFormat: LoggingFormat.JSON, systemLogLevelV2: SystemLogLevel.WARN } as const;

/** The network placement of a function that must reach private addresses. */
export interface NetworkPlacement {
  readonly vpc: IVpc;
  readonly vpcSubnets?: SubnetSelection | undefined;
  readonly securityGroups?: ISecurityGroup[] | undefined;
}

interface HandlerFunctionProps {
  /** The module that exports `handler`. */
  readonly entry: string;
  /** The user's file that it loads, which messages name in its place. */
  readonly tasks?: string;
  readonly description: string;
  readonly timeout: Duration;
  readonly memorySize: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly production: boolean;
  /** By X-Ray. Default: disabled. */
  readonly tracing?: Tracing | undefined;
  /** Leaves out the three lines that Lambda writes for each invocation. Default: false. */
  readonly omitsInvocationLines?: boolean | undefined;
  /** Default: outside your VPCs. */
  readonly network?: NetworkPlacement | undefined;
  /** Merged into our options, for tasks that need native modules or loaders. */
  readonly bundling?: BundlingOptions | undefined;
}

export class HandlerFunction extends Construct {
  readonly function: NodejsFunction;
  readonly role: Role;
  readonly logGroup: LogGroup;

  constructor(scope: Construct, id: string, props: HandlerFunctionProps) {
    super(scope, id);
    this.logGroup = new LogGroup(this, 'Logs', {
      retention: RetentionDays.ONE_MONTH,
      removalPolicy: props.production ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    });
    this.role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    this.logGroup.grantWrite(this.role);
    if (props.network !== undefined) this.allowNetwork();
    const bundled = {
      entry: props.entry,
      handler: 'handler',
      description: props.description,
      runtime: node24(),
      architecture: Architecture.ARM_64,
      timeout: props.timeout,
      memorySize: props.memorySize,
      role: this.role,
      logGroup: this.logGroup,
      environment: {
        NODE_OPTIONS: '--enable-source-maps',
        POWERTOOLS_METRICS_NAMESPACE: METRICS_NAMESPACE,
        POWERTOOLS_SERVICE_NAME: METRICS_SERVICE,
        ...props.environment,
      },
      bundling: bundlingWith(props.bundling),
      ...(props.network === undefined ? {} : placeIn(props.network)),
      tracing: Tracing.DISABLED, // switched on below
      ...(props.omitsInvocationLines === true ? WITHOUT_INVOCATION_LINES : {}),
    };
    this.function = ofProject(props.tasks ?? props.entry, () => new NodejsFunction(this, 'Function', bundled));
    if (props.tracing !== undefined && props.tracing !== Tracing.DISABLED) this.trace(props.tracing);
    else
      acknowledge(this.function, {
        id: 'Serverless::Serverless-LambdaTracing',
        reason: 'Off unless asked for: X-Ray bills each trace, and a busy waker alone makes millions a month.',
      });
    acknowledge(this.function, {
      id: 'Serverless::Serverless-LambdaDLQ',
      reason:
        'An event only says that there may be something to do, and the table says what: a lost one is made up for by the next ' +
        'tick, and failed invocations ring the alarms of the worker and the dispatcher.',
    });
  }

  /** The policies that the construct library adds to its own roles. */
  private allowNetwork(): void {
    this.role.addManagedPolicy(ManagedPolicy.fromAwsManagedPolicyName('service-role/AWSLambdaVPCAccessExecutionRole'));
    acknowledge(this.role, {
      id: 'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaVPCAccessExecutionRole]',
      reason:
        'Network interfaces have no names to allow before they are made: AWS keeps the list of what Lambda does with them.',
    });
  }

  /**
   * The construct library would mix X-Ray's wildcard into the role's other permissions, and accepting that finding would accept it for all
   * of them.
   */
  private trace(mode: Tracing): void {
    const resource = this.function.node.defaultChild as CfnFunction;
    resource.tracingConfig = { mode };
    const policy = new Policy(this, 'Tracing', {
      roles: [this.role],
      statements: [
        new PolicyStatement({
          effect: Effect.ALLOW,
          actions: ['xray:PutTraceSegments', 'xray:PutTelemetryRecords'],
          resources: ['*'],
        }),
      ],
    });
    acknowledge(policy, {
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason:
        'X-Ray has no resources to name: both actions only accept a wildcard, and this policy holds nothing else.',
    });
    // Lambda checks the permission when tracing is switched on.
    this.function.node.addDependency(policy);
  }
}

/** Not `grantInvoke`, which adds every version and alias by a wildcard. */
export function allowInvoking(grantee: IGrantable, invoked: IFunction): void {
  Grant.addToPrincipal({ grantee, actions: ['lambda:InvokeFunction'], resourceArns: [invoked.functionArn] });
}

/** @throws ConfigurationError when there is a network placement without a network */
export function networkOf({
  vpc,
  vpcSubnets,
  securityGroups,
}: Partial<NetworkPlacement>): NetworkPlacement | undefined {
  if (vpc !== undefined) return { vpc, vpcSubnets, securityGroups };
  if (vpcSubnets === undefined && securityGroups === undefined) return undefined;
  throw new ConfigurationError('vpcSubnets and securityGroups are of a network: pass vpc as well');
}

/** @throws ConfigurationError in cases where CDK's own error would name files that are not the user's, and no remedy */
function ofProject(entry: string, make: () => NodejsFunction): NodejsFunction {
  try {
    return make();
  } catch (error) {
    const [, root] = /should be under .*\((.+)\)/.exec(messageOf(error)) ?? [];
    if (root === undefined) throw error;
    throw new ConfigurationError(
      `${entry} is outside of ${root}, where the CDK has found a lock file: run it in a folder, such as a workspace's root, ` +
        'whose lock file is above the tasks and the packages that they use, and keep no second lock file between them',
      { cause: error },
    );
  }
}

function placeIn({ vpc, vpcSubnets, securityGroups }: NetworkPlacement): Partial<NodejsFunctionProps> {
  return {
    vpc,
    ...(vpcSubnets === undefined ? {} : { vpcSubnets }),
    ...(securityGroups === undefined ? {} : { securityGroups }),
  };
}

function trimCommand(file: string): string {
  return [process.execPath, packageModule('infra/source-map'), file]
    .map((argument) => JSON.stringify(argument))
    .join(' ');
}

/** A module of `functions/`. */
export function handlerModule(name: 'work' | 'dispatch' | 'wake'): string {
  return packageModule(`functions/${name}`);
}
