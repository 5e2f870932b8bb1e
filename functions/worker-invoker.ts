/**
 * Starts workers: hands Lambda an event for each, and waits only until Lambda has accepted it.
 *
 * The functions need only one call of Lambda's API, so the parts of the default driver sign and send it.
 * AWS's client would be half of the waker's bundle, and most of its cold start.
 */
import { defined } from '../shared/core/defined.ts';
import type { WorkEvent } from '../shared/tasks/dispatch/dispatcher.ts';
import { sideBySide } from '../shared/core/runtime/in-flight.ts';
import { fullJitterMs } from '../shared/core/runtime/random.ts';
import { systemRuntime } from '../shared/core/runtime/runtime.ts';
import { DynamoFault } from '../shared/dynamo/engine/driver.ts';
import type { Answer } from '../shared/dynamo/wire/answer.ts';
import { awsEnvironment, keysIn, traceHeader } from '../shared/dynamo/wire/aws-environment.ts';
import { HttpLine, placeOf } from '../shared/dynamo/wire/http.ts';
import { signedHeaders } from '../shared/dynamo/wire/signature.ts';
import { ConfigurationError } from '../shared/core/errors.ts';
import { lambdaEndpoint } from './lambda-endpoint.ts';

export interface WorkerInvoker extends Disposable {
  /** @throws Error with Lambda's response, or because there was none in time */
  readonly start: (functionName: string, event: WorkEvent) => Promise<void>;
}

export interface StarterSettings {
  readonly attempts: number;
  /** Limit of each attempt. */
  readonly requestTimeoutMs: number;
}

/** The number of connections: a start that waits for a connection would use up its time before it is sent. */
const STARTS_AT_A_TIME = 50;
const { clock, random } = systemRuntime;
const BACKOFF = { baseMs: 100, capMs: 1_000 };

export function createStarter({ attempts, requestTimeoutMs }: StarterSettings): WorkerInvoker {
  const line = new HttpLine();
  const invoke = async (functionName: string, body: string): Promise<Answer> => {
    const time = new AbortController();
    const cancel = clock.after(requestTimeoutMs, () => time.abort());
    try {
      return await line.exchange(invocation(functionName, body), time.signal);
    } finally {
      cancel();
    }
  };
  const start = async (functionName: string, body: string): Promise<void> => {
    for (let attempt = 1; ; attempt++) {
      const outcome = await invoke(functionName, body).catch((error: unknown) => error as Error);
      if (!(outcome instanceof Error) && outcome.status === ACCEPTED) return;
      // A worker that is started twice finds no work and exits.
      if (attempt >= attempts || !isPassing(outcome)) throw errorOf(outcome);
      await clock.sleep(fullJitterMs(random, BACKOFF, attempt));
    }
  };
  // A failed start does not stop the others.
  const limit = sideBySide(STARTS_AT_A_TIME);
  return {
    start: (functionName, event) => limit(() => start(functionName, JSON.stringify(event))),
    [Symbol.dispose]() {
      line.close();
    },
  };
}

const ACCEPTED = 202;

/** @throws ConfigurationError outside of a function */
function invocation(functionName: string, body: string) {
  const variables = awsEnvironment();
  const credentials = keysIn(variables);
  if (credentials === undefined)
    throw new ConfigurationError('AWS_ACCESS_KEY_ID is not set: Lambda sets it in each of its functions');
  const { region, url } = lambdaEndpoint(variables);
  const root = placeOf(url.href);
  const path = `${root.path}2015-03-31/functions/${encodeURIComponent(functionName)}/invocations`;
  const trace = traceHeader();
  const headers = {
    'content-type': 'application/octet-stream',
    'x-amz-invocation-type': 'Event',
    // Without it, Lambda cannot detect functions that invoke each other in a circle.
    ...defined({ 'x-amzn-trace-id': trace }),
  };
  const sign = (): Promise<Record<string, string>> =>
    Promise.resolve(
      signedHeaders({ ...root, path, headers, body }, { service: 'lambda', region, credentials }, clock.now()),
    );
  return { place: { ...root, path }, body, headers: sign };
}

/** Whether another attempt may succeed: the network failed, or Lambda is throttled or unwell. */
function isPassing(outcome: Answer | Error): boolean {
  if (outcome instanceof Error) return !(outcome instanceof ConfigurationError);
  return outcome.status === 429 || outcome.status >= 500;
}

function errorOf(outcome: Answer | Error): Error {
  if (outcome instanceof DynamoFault)
    return Object.assign(new Error(outcome.message, { cause: outcome }), { name: outcome.code });
  if (outcome instanceof Error) return outcome;
  const { status, headers, body } = outcome;
  const text = new TextDecoder().decode(body);
  const [name = `HTTP ${status}`] = headers['x-amzn-errortype']?.split(':') ?? [];
  return Object.assign(new Error(messageIn(text) ?? text), { name });
}

function messageIn(text: string): string | undefined {
  try {
    const { Message, message = Message } = JSON.parse(text) as { readonly message?: string; readonly Message?: string };
    return message;
  } catch {
    return undefined; // Not Lambda, but a proxy perhaps: its text says more than its form.
  }
}
