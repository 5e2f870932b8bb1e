/** Starts workers: hands Lambda an event for each, and waits no longer than until it is taken. */
import type * as LambdaSdk from '@aws-sdk/client-lambda';
import type { WorkEvent } from '../shared/tasks/dispatch/dispatcher.ts';
import { sideBySide } from '../shared/core/runtime/in-flight.ts';

export interface Starter extends Disposable {
  /** @throws what Lambda answered, or that it did not answer in time */
  readonly start: (functionName: string, event: WorkEvent) => Promise<void>;
}

export interface StarterSettings {
  readonly attempts: number;
  /** The limit of each attempt. The SDK's own default is to wait for as long as the function lives. */
  readonly requestTimeoutMs: number;
}

const CONNECTION_TIMEOUT_MS = 1_000;
/** As many as the SDK has connections: a start that waits for one would use up its time before it is sent. */
const STARTS_AT_A_TIME = 50;

/** @param sdk is given, because not everybody who starts workers loads it before there is one to start */
export function createStarter(
  { InvokeCommand, LambdaClient }: Pick<typeof LambdaSdk, 'InvokeCommand' | 'LambdaClient'>,
  { attempts, requestTimeoutMs }: StarterSettings,
): Starter {
  const lambda = new LambdaClient({
    maxAttempts: attempts,
    requestHandler: {
      connectionTimeout: CONNECTION_TIMEOUT_MS,
      requestTimeout: requestTimeoutMs,
      // Without it, the SDK only warns.
      throwOnRequestTimeout: true,
    },
  });
  // One that fails does not stop the others.
  const limit = sideBySide(STARTS_AT_A_TIME);
  return {
    start: (FunctionName, event) =>
      limit(async () => {
        await lambda.send(new InvokeCommand({ FunctionName, InvocationType: 'Event', Payload: JSON.stringify(event) }));
      }),
    [Symbol.dispose]() {
      lambda.destroy();
    },
  };
}
