/**
 * Finds endpoint, region and credentials as the SDK does.
 *
 * If the result is certain without the SDK, we do not load it:
 * keys in the environment, a known region, and no setting that could change either.
 * This covers every Lambda function, and every emulator on this machine.
 * Otherwise we create an SDK client, send nothing through it,
 * and ask it for profiles, roles, containers, instance metadata, FIPS, dual-stack and account endpoints.
 */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { messageOf } from '../../core/errors.ts';
import { DynamoFault } from '../engine/driver.ts';
import type { HttpEndpoint } from './http.ts';
import { placeOf } from './http.ts';
import type { CredentialSource, Credentials } from './credentials.ts';
import type { Environment } from './aws-environment.ts';
import { keysIn } from './aws-environment.ts';
import type { Sdk } from './sdk.ts';

export interface Destination {
  /** The current destination. A promise only if it is not available yet. @throws DynamoFault */
  readonly current: () => Target | Promise<Target>;
  readonly credentials: CredentialSource;
}

export interface Target {
  readonly place: HttpEndpoint;
  readonly region: string;
  readonly credentials: Credentials;
}

export interface DestinationOptions {
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /** Region and credentials for emulators on this machine. */
  readonly local?: { readonly region: string; readonly credentials: Credentials } | undefined;
}

/** @returns undefined if only the SDK can find it */
export function certainDestination(
  { endpoint, region, local }: DestinationOptions,
  environment: () => Environment,
): Destination | undefined {
  if (local !== undefined && endpoint !== undefined)
    return fixed(endpoint, region ?? local.region, () => local.credentials);
  const variables = environment();
  const where = region ?? variables.AWS_REGION ?? '';
  if (!USUAL_REGION.test(where) || keysIn(variables) === undefined || isUnusual(variables)) return undefined;
  const credentials = (): Credentials | undefined => keysIn(environment());
  return fixed(endpoint ?? `https://dynamodb.${where}.amazonaws.com`, where, credentials);
}

/** Regions of AWS's largest partition. Other partitions have other domains. */
const USUAL_REGION = /^(us|eu|ap|sa|ca|me|af|il|mx)-[a-z]+-\d+$/;

/** Whether a setting may change the endpoint or credentials. */
function isUnusual(variables: Environment): boolean {
  if (CHANGES.some((name) => (variables[name] ?? '') !== '')) return true;
  const home = variables.HOME ?? homedir();
  return existsSync(variables.AWS_CONFIG_FILE ?? path.join(home, '.aws', 'config'));
}

const CHANGES = [
  'AWS_PROFILE',
  'AWS_ENDPOINT_URL',
  'AWS_ENDPOINT_URL_DYNAMODB',
  'AWS_USE_FIPS_ENDPOINT',
  'AWS_USE_DUALSTACK_ENDPOINT',
  'AWS_ACCOUNT_ID',
  'AWS_ACCOUNT_ID_ENDPOINT_MODE',
  'AWS_CREDENTIAL_EXPIRATION',
] as const;

/** Credentials are kept until they are refused. */
function fixed(endpoint: string, region: string, read: () => Credentials | undefined): Destination {
  const place = placeOf(endpoint);
  let target: Target | undefined;
  const renewed = (): Target => {
    const credentials = read();
    if (credentials === undefined)
      throw new DynamoFault('unsent', { code: 'NoCredentials', message: 'the keys have left the environment' });
    target = { place, region, credentials };
    return target;
  };
  return {
    current: () => target ?? renewed(),
    credentials: async (options) => (options?.forceRefresh === true ? renewed() : (target ?? renewed())).credentials,
  };
}

/** Finds the destination of an SDK client. @throws DynamoFault */
export async function sdkDestination(client: DynamoDBClient, sdk: Sdk): Promise<Destination> {
  const region = await client.config.region().catch((error: unknown) => {
    throw settingFault(error);
  });
  let account: string | undefined;
  let at: Promise<Omit<Target, 'credentials'>> | undefined;
  return {
    current: async () => {
      const credentials = await client.config.credentials().catch((error: unknown) => {
        const { name, message } = error as Error;
        throw new DynamoFault('unsent', { code: name, message, cause: error });
      });
      // The host may depend on the account, so credentials of another account may need another host.
      if (credentials.accountId !== account) at = undefined;
      account = credentials.accountId;
      at ??= endpointOf(client, sdk, region);
      at.catch(() => {
        at = undefined;
      });
      return { ...(await at), credentials };
    },
    credentials: (options) => client.config.credentials(options),
  };
}

interface ResolvedRequest {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
}

interface ResolvedEndpoint {
  readonly properties?: { readonly authSchemes?: readonly { readonly signingRegion?: string }[] };
}

/** Lets the client build a request, and intercepts it before it is signed. Only this respects all settings that affect the endpoint. */
async function endpointOf(client: DynamoDBClient, sdk: Sdk, region: string): Promise<Omit<Target, 'credentials'>> {
  const command = new sdk.GetItemCommand({ TableName: 'table', Key: { pk: { S: 'key' } } });
  let found: Omit<Target, 'credentials'> | undefined;
  command.middlewareStack.add(
    (_next, context) => (args) => {
      const { protocol, hostname, port, path: at } = args.request as ResolvedRequest;
      const { properties } = (context as { readonly endpointV2?: ResolvedEndpoint }).endpointV2 ?? {};
      found = {
        place: placeOf(`${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${at}`),
        region: properties?.authSchemes?.[0]?.signingRegion ?? region,
      };
      return Promise.reject(new Error('that is all that was asked'));
    },
    { step: 'build', name: 'leaseholdEndpoint' },
  );
  const error = await client.send(command).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (found === undefined) throw settingFault(error);
  return found;
}

/** A fault that no further attempt can fix. */
function settingFault(error: unknown): DynamoFault {
  const message = messageOf(error);
  return new DynamoFault('rejected', {
    code: error instanceof Error ? error.name : 'Error',
    message:
      message === 'Region is missing'
        ? 'no AWS region is known: set AWS_REGION, or give a region or an endpoint'
        : message,
    cause: error,
  });
}
