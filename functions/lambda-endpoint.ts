/** The address of Lambda's API in a region, as AWS's client finds it; a test compares the two. */
import { ConfigurationError } from '../shared/core/errors.ts';
import type { Environment } from '../shared/dynamo/wire/aws-environment.ts';

/** AWS's partitions by the beginning of their regions, with their domains for IPv4 and for both protocols; the last one fits all. */
const PARTITIONS = [
  ['cn-', 'amazonaws.com.cn', 'api.amazonwebservices.com.cn'],
  ['eusc-', 'amazonaws.eu', 'api.amazonwebservices.eu'],
  ['us-iso-', 'c2s.ic.gov', 'api.aws.ic.gov'],
  ['us-isob-', 'sc2s.sgov.gov', 'api.aws.scloud'],
  ['us-isof-', 'csp.hci.ic.gov', 'api.aws.hci.ic.gov'],
  ['eu-isoe-', 'cloud.adc-e.uk', 'api.cloud-aws.adc-e.uk'],
  ['', 'amazonaws.com', 'api.aws'],
] as const;

/** @throws ConfigurationError without a region */
export function lambdaEndpoint(variables: Environment): { readonly region: string; readonly url: URL } {
  const isSet = (name: string): boolean => variables[name] === 'true';
  const region = variables.AWS_REGION ?? '';
  if (region === '') throw new ConfigurationError('AWS_REGION is not set: Lambda sets it in each of its functions');
  const given = [variables.AWS_ENDPOINT_URL_LAMBDA, variables.AWS_ENDPOINT_URL].find((url = '') => url !== '');
  if (given !== undefined && !isSet('AWS_IGNORE_CONFIGURED_ENDPOINT_URLS')) return { region, url: new URL(given) };
  const [, single = '', dual = ''] = PARTITIONS.find(([start]) => region.startsWith(start)) ?? [];
  const host = isSet('AWS_USE_FIPS_ENDPOINT') ? 'lambda-fips' : 'lambda';
  const domain = isSet('AWS_USE_DUALSTACK_ENDPOINT') ? dual : single;
  return { region, url: new URL(`https://${host}.${region}.${domain}`) };
}
