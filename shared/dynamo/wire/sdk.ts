/** The AWS SDK, loaded when it is first needed: a worker that does not need it starts in a fraction of the time. */
import { createRequire } from 'node:module';
import type * as sdk from '@aws-sdk/client-dynamodb';
import type { DynamoDBClient, DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { ConfigurationError } from '../../core/errors.ts';

export type Sdk = typeof sdk;

let loaded: Promise<Sdk> | undefined;

/** @throws ConfigurationError where there is none */
export function loadSdk(): Promise<Sdk> {
  loaded ??= importSdk();
  return loaded;
}

async function importSdk(): Promise<Sdk> {
  try {
    return await import('@aws-sdk/client-dynamodb');
  } catch (error) {
    // Lambda's own copy is where only `require` looks.
    const require = createRequire(import.meta.url);
    try {
      return require('@aws-sdk/client-dynamodb') as Sdk;
    } catch {
      throw new ConfigurationError(
        'the AWS SDK is needed to find credentials and endpoint here, and there is none: install @aws-sdk/client-dynamodb',
        { cause: error },
      );
    }
  }
}

/** One attempt per call; the sender above owns time-outs and retries. */
export const clientSettings = { maxAttempts: 1 } as const;

/** Its signer is the SDK's own: the wire driver hands over to this client when the service refuses ours. */
export async function openClient(config: DynamoDBClientConfig): Promise<DynamoDBClient> {
  const { DynamoDBClient } = await loadSdk();
  return new DynamoDBClient({ ...config, ...clientSettings });
}
