/**
 * Who may come in where no token is asked for: programs on this machine, and no page in a browser.
 *
 *   - `Host` must name loopback: a foreign name that was made to point here (DNS rebinding) is refused.
 *   - `Origin`, where it is sent, must be this address, and `Sec-Fetch-Site` must not be of another one: there are no pages here,
 *     so whatever a page elsewhere asks for, a person did not mean it.
 *
 * With tokens, the tokens decide.
 */
import { isLoopbackHost } from '../../shared/dynamo/connect.ts';

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
