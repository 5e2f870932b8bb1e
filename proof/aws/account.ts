/** Calls of AWS that have no client here: who calls, another role's credentials, and stacks. All are of the Query protocol. */
import type { Credentials } from '../../shared/dynamo/wire/credentials.ts';
import type { Target } from '../../shared/dynamo/wire/destination.ts';
import { signedHeaders } from '../../shared/dynamo/wire/signature.ts';

const VERSIONS = { sts: '2011-06-15', cloudformation: '2010-05-15' } as const;
type Service = keyof typeof VERSIONS;

/** Where requests go, and who signs them. */
export type Caller = Pick<Target, 'region' | 'credentials'> & {
  /** URL of an emulator, which serves all services. */
  readonly endpoint?: string | undefined;
};

/** @returns the answer's XML. @throws Error with the service's own words */
export async function query(
  caller: Caller,
  service: Service,
  parameters: Readonly<Record<string, string>>,
): Promise<string> {
  const { region, credentials } = caller;
  const url = new URL(caller.endpoint ?? `https://${service}.${region}.amazonaws.com`);
  const body = new URLSearchParams({ Version: VERSIONS[service], ...parameters }).toString();
  const request = { host: url.host, path: '/', headers: { 'content-type': 'application/x-www-form-urlencoded' }, body };
  const { host: _host, ...headers } = signedHeaders(request, { service, region, credentials }, Date.now());
  const response = await fetch(url, { method: 'POST', headers, body });
  const xml = await response.text();
  if (response.ok) return xml;
  throw new Error(`${service} refused ${parameters.Action}: ${tag(xml, 'Message') ?? `HTTP ${response.status}`}`);
}

export async function accountOf(caller: Caller): Promise<string> {
  const xml = await query(caller, 'sts', { Action: 'GetCallerIdentity' });
  return tag(xml, 'Account') ?? '';
}

export async function assumeRole({ region, credentials, place }: Target, role: string): Promise<Credentials> {
  const endpoint = place.isTls ? undefined : `http://${place.host}`;
  const xml = await query({ region, credentials, endpoint }, 'sts', {
    Action: 'AssumeRole',
    RoleArn: role,
    RoleSessionName: 'evidence',
  });
  const [accessKeyId, secretAccessKey, sessionToken] = ['AccessKeyId', 'SecretAccessKey', 'SessionToken'].map(
    (name) => tag(xml, name) ?? '',
  ) as [string, string, string];
  return { accessKeyId, secretAccessKey, sessionToken };
}

export interface StackState {
  readonly name: string;
  readonly status: string;
}

/** Returns the stacks whose names begin with the prefix, including stacks in deletion. */
export async function stacksNamed(caller: Caller, prefix: string): Promise<readonly StackState[]> {
  const found: StackState[] = [];
  for (let token: string | undefined = ''; token !== undefined;) {
    const xml: string = await query(caller, 'cloudformation', {
      Action: 'DescribeStacks',
      ...(token === '' ? {} : { NextToken: token }),
    });
    for (const [, name = '', status = ''] of xml.matchAll(
      /<StackName>([^<]+)<\/StackName>.*?<StackStatus>([^<]+)<\/StackStatus>/gs,
    ))
      if (name.startsWith(prefix) && status !== 'DELETE_COMPLETE') found.push({ name, status });
    token = tag(xml, 'NextToken');
  }
  return found;
}

export async function deleteStack(caller: Caller, name: string): Promise<void> {
  await query(caller, 'cloudformation', { Action: 'DeleteStack', StackName: name });
}

function tag(xml: string, name: string): string | undefined {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
}
