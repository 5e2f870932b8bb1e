/**
 * Lists the Lambda functions that read a table's stream, by one call of Lambda's API.
 * AWS's client for Lambda would be a dependency of every installation just for this call.
 */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { lambdaEndpoint } from '../../functions/lambda-endpoint.ts';
import type { Clock } from '../../shared/core/runtime/clock.ts';
import type { Environment } from '../../shared/dynamo/wire/aws-environment.ts';
import { signedHeaders } from '../../shared/dynamo/wire/signature.ts';

/** Lambda's description, without the fields that we do not use. */
export interface Mapping {
  readonly UUID: string;
  readonly EventSourceArn?: string;
  readonly FunctionArn?: string;
  readonly State?: string;
  readonly LastProcessingResult?: string;
}

export interface LambdaCaller {
  /** Its region and credentials. */
  readonly client: DynamoDBClient;
  readonly variables: Environment;
  readonly clock: Pick<Clock, 'now' | 'after'>;
}

const PATH = '/2015-03-31/event-source-mappings';
/** Pages of a hundred mappings each. */
const MAX_PAGES = 20;
const REQUEST_TIMEOUT_MS = 5_000;

interface Page {
  readonly EventSourceMappings?: readonly Mapping[];
  readonly NextMarker?: string | null;
}

/**
 * Lists mappings, at most 2,000.
 * @param filter limits the list to one stream. Default: all of the region
 * @throws Error with Lambda's response
 */
export async function listMappings(
  caller: LambdaCaller,
  filter: { readonly EventSourceArn?: string },
): Promise<readonly Mapping[]> {
  const found: Mapping[] = [];
  let marker = '';
  for (let page = 0; page < MAX_PAGES; page++) {
    const query = { ...filter, MaxItems: '100', ...(marker === '' ? {} : { Marker: marker }) };
    const { EventSourceMappings = [], NextMarker } = await readPage(caller, query);
    found.push(...EventSourceMappings);
    marker = NextMarker ?? '';
    if (marker === '') break;
  }
  return found;
}

async function readPage(
  { client, variables, clock }: LambdaCaller,
  query: Readonly<Record<string, string>>,
): Promise<Page> {
  const { region, url } = lambdaEndpoint({ ...variables, AWS_REGION: await client.config.region() });
  const path = `${url.pathname.replace(/\/$/, '')}${PATH}`;
  const credentials = await client.config.credentials();
  const unsigned = { method: 'GET', host: url.host, path, query, headers: {}, body: '' } as const;
  const headers = signedHeaders(unsigned, { service: 'lambda', region, credentials }, clock.now());
  const time = new AbortController();
  const cancel = clock.after(REQUEST_TIMEOUT_MS, () => {
    time.abort(new Error(`Lambda did not answer within ${REQUEST_TIMEOUT_MS / 1_000} s`));
  });
  try {
    const address = new URL(`${path}?${new URLSearchParams(query).toString()}`, url);
    const response = await fetch(address, { headers, signal: time.signal });
    const text = await response.text();
    if (!response.ok) throw new Error(`Lambda answered ${response.status}: ${text}`);
    return JSON.parse(text) as Page;
  } finally {
    cancel();
  }
}
