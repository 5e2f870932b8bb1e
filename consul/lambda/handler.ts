/**
 * Consul's HTTP API behind a function URL. AWS has authenticated its callers.
 * A blocking query ends within the function's own time, and its poll ends with it.
 */
import { Logger } from '@aws-lambda-powertools/logger';
import { createConsulApp } from '../http/app.ts';
import { DEFAULT_SETTINGS } from '../http/gateway.ts';
import { parseTokens } from '../http/tokens.ts';
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { Remote } from '../remote/remote.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { parseConsulEnv } from './env.ts';
import { CONSUL_ENV } from './env-names.ts';
import { METRICS_SERVICE } from '../../functions/metric-names.ts';
import type { UrlAnswer, UrlEvent } from './function-url.ts';
import { answerUrlEvent } from './function-url.ts';

type Handler = (event: UrlEvent) => Promise<UrlAnswer>;

export const handler: Handler = createConsulHandler();

function createConsulHandler(): Handler {
  const { table, endpoint, node, maxWaitMs, maxClockSkewMs, tokens } = parseConsulEnv();
  const runtime = systemRuntime;
  const connection = connectDynamo({ endpoint }, runtime, undefined, { gathers: true });
  const remote = Remote.over({ ...connection, runtime }, { table, maxClockSkewMs });
  const logger = new Logger({ serviceName: METRICS_SERVICE });
  const app = createConsulApp({
    remote,
    runtime,
    settings: { ...DEFAULT_SETTINGS, node, maxWaitMs, maxClockSkewMs },
    tokens: tokens === undefined ? undefined : parseTokens(tokens, CONSUL_ENV.tokens),
    closing: new AbortController().signal,
    onFailure: ({ method, path, error }) =>
      logger.error('request failed', { method, path, error: error instanceof Error ? error : String(error) }),
  });
  return (event) => {
    const target = `${event.rawPath}${event.rawQueryString === '' ? '' : `?${event.rawQueryString}`}`;
    return answerUrlEvent((request) => app.fetch(request, { target }), event);
  };
}
