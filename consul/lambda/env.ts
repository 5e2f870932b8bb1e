/** The configuration of the gateway's function. */
import type { Environment } from '../../functions/env.ts';
import { ENV, endpointUrl, required, wholeNumber } from '../../functions/env.ts';
import { DEFAULT_MAX_CLOCK_SKEW_MS } from '../../shared/core/lease/timing.ts';
import { validName } from '../../shared/core/validate/options.ts';
import { CONSUL_ENV } from './env-names.ts';

interface ConsulEnv {
  readonly table: string;
  readonly node: string;
  readonly maxWaitMs: number;
  readonly maxClockSkewMs: number;
  readonly tokens: string | undefined;
  readonly endpoint: string | undefined;
}

/** A blocking query is answered well before its function is stopped. */
const DEFAULT_CONSUL_MAX_WAIT_MS = 50_000;

/** @throws ConfigurationError naming the variable and its value */
export function parseConsulEnv(env: Environment = process.env): ConsulEnv {
  return {
    table: required(env, ENV.table),
    node: validName(CONSUL_ENV.node, env[CONSUL_ENV.node] ?? 'leasehold'),
    maxWaitMs: wholeNumber(env, CONSUL_ENV.maxWaitMs, { min: 1, default: DEFAULT_CONSUL_MAX_WAIT_MS }),
    maxClockSkewMs: wholeNumber(env, ENV.maxClockSkewMs, { min: 0, default: DEFAULT_MAX_CLOCK_SKEW_MS }),
    tokens: env[CONSUL_ENV.tokens],
    endpoint: endpointUrl(env),
  };
}
