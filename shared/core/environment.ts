/**
 * The environment variables that the library, the command and the deployed functions share.
 *
 * `createLeasehold()` uses them as defaults, so that a program and the command next to it use the same table.
 * No other file of the library reads the environment,
 * except `dynamo/wire/aws-environment.ts`, which reads the variables of AWS's own clients.
 */
import { defined } from './defined.ts';
import { ConfigurationError } from './errors.ts';

/** Names of the variables; the deployed functions have the same. */
export const ENVIRONMENT = {
  table: 'LEASEHOLD_TABLE',
  endpoint: 'LEASEHOLD_ENDPOINT',
  queue: 'LEASEHOLD_QUEUE',
  shards: 'LEASEHOLD_SHARDS',
  maxClockSkew: 'LEASEHOLD_MAX_CLOCK_SKEW_MS',
} as const;

/** `require` of ES modules without a flag, and `Map.groupBy`. */
export const OLDEST_NODE = '22.12';

/** The table, if no argument and no variable names one. */
export const DEFAULT_TABLE = 'leasehold';

/** Settings from the environment. A missing field means an unset variable. */
interface EnvironmentSettings {
  readonly table: string;
  readonly endpoint?: string;
  readonly queue?: string;
  readonly shards?: number;
  /** Milliseconds. */
  readonly maxClockSkew?: number;
}

/**
 * An empty variable counts as absent.
 * @throws ConfigurationError naming a variable that must be a whole number and is not, and on a Node that is too old
 */
export function readEnvironment(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): EnvironmentSettings {
  ensureNode();
  const text = (name: keyof typeof ENVIRONMENT): string | undefined => {
    const given = environment[ENVIRONMENT[name]];
    return given === '' ? undefined : given;
  };
  const number = (name: keyof typeof ENVIRONMENT): number | undefined => {
    const given = text(name);
    if (given === undefined || /^\d+$/.test(given)) return given === undefined ? undefined : Number(given);
    throw new ConfigurationError(`${ENVIRONMENT[name]} = "${given}" is not a whole number`);
  };
  return defined({
    table: text('table') ?? DEFAULT_TABLE,
    endpoint: text('endpoint'),
    queue: text('queue'),
    shards: number('shards'),
    maxClockSkew: number('maxClockSkew'),
  });
}

/** @throws ConfigurationError on a Node that would fail later with a syntax error or a missing function */
export function ensureNode(version: string = process.versions.node): void {
  const [wantedMajor = 0, wantedMinor = 0] = OLDEST_NODE.split('.').map(Number);
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)) return;
  throw new ConfigurationError(
    `leasehold needs Node ${OLDEST_NODE} or later, and this is ${version}: install a current one from https://nodejs.org`,
  );
}
