/**
 * Admission without tokens: programs on this machine may enter, and pages in a browser may not.
 *
 *   - `Host` must name loopback. A foreign name that resolves to this address (DNS rebinding) is refused.
 *   - `Origin`, if present, must be this address, and `Sec-Fetch-Site` must not name another site: there are no pages here,
 *     so no person meant a request that a page sent.
 *
 * With tokens, the tokens decide.
 */
import { isLoopbackHost } from '../../shared/dynamo/wire/endpoint.ts';

/** Programs send none of these; `none` is a person who typed an address. */
const OWN_SITES: readonly (string | null)[] = [null, 'none', 'same-origin'];

/** Why a request is refused, or undefined. */
export function refusalOf({ headers }: Request): string | undefined {
  const host = headers.get('host') ?? '';
  const name = host.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1');
  if (!isLoopbackHost(name))
    return `host ${JSON.stringify(host)} is not this machine: without tokens only loopback is served`;
  const origin = headers.get('origin');
  const isOwn = (origin === null || origin === `http://${host}`) && OWN_SITES.includes(headers.get('sec-fetch-site'));
  return isOwn ? undefined : 'a page of another origin asked for this: without tokens no page is served';
}
