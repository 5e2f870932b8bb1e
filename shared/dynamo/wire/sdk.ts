/** Loads the AWS SDK on first use. A worker that does not need it starts in a fraction of the time. */
import { createRequire } from 'node:module';
import type * as sdk from '@aws-sdk/client-dynamodb';
import type { DynamoDBClient, DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { ConfigurationError } from '../../core/errors.ts';

export type Sdk = typeof sdk;

let loaded: Promise<Sdk> | undefined;

/** @throws ConfigurationError if the SDK is not installed */
export function loadSdk(): Promise<Sdk> {
  loaded ??= importSdk();
  return loaded;
}

async function importSdk(): Promise<Sdk> {
  try {
    return await import('@aws-sdk/client-dynamodb');
  } catch (error) {
    // Only `require` finds Lambda's own copy.
    const require = createRequire(import.meta.url);
    try {
      return require('@aws-sdk/client-dynamodb') as Sdk;
    } catch {
      throw new ConfigurationError(
        'the AWS SDK is needed to find credentials and endpoint here, and is not installed: install @aws-sdk/client-dynamodb',
        { cause: error },
      );
    }
  }
}

/** A `DynamoDBClient` or a `DynamoDBDocumentClient`, from any copy of the SDK. */
export interface SdkClient {
  readonly config: { readonly serviceId: string };
  readonly middlewareStack: { identify(): string[] };
  send(command: never, options?: { readonly abortSignal?: AbortSignal }): Promise<unknown>;
}

/** @throws ConfigurationError unless it is a client of DynamoDB and can send our commands */
export function validClient(client: Partial<SdkClient> | null): void {
  const { config, middlewareStack, send } = client ?? {};
  // lib-dynamodb checks the same: older clients leave serialization to their own commands.
  const isRecent = middlewareStack?.identify().some((name) => name.startsWith('serializerMiddleware'));
  if (typeof send !== 'function' || config?.serviceId !== 'DynamoDB' || isRecent !== true)
    throw new ConfigurationError(
      'client must be a DynamoDBClient or a DynamoDBDocumentClient of a current AWS SDK, version 3: update @aws-sdk/client-dynamodb',
    );
}

/** For clients that we create. The sender handles timeouts and retries. */
export const clientSettings = { maxAttempts: 1 } as const;

export async function openClient(config: DynamoDBClientConfig): Promise<DynamoDBClient> {
  const { DynamoDBClient } = await loadSdk();
  return new DynamoDBClient({ ...config, ...clientSettings });
}
