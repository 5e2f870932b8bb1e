/** Accepted endpoints: a mistake is reported at once, and a secret in the URL is not repeated. */
import { ConfigurationError, shown } from '../../core/errors.ts';

/** The local engines require a key and do not check it. */
export const LOCAL_KEY = 'local';

/** @throws ConfigurationError unless it is an address on the web, without a user, a password, a query or a fragment in it */
export function ensureEndpoint(endpoint: string): void {
  const url = URL.parse(endpoint);
  if (!/^https?:$/.test(url?.protocol ?? ''))
    throw new ConfigurationError(`endpoint ${shown(endpoint)} is not a URL such as http://127.0.0.1:8000`);
  if (url?.username !== '' || url.password !== '')
    throw new ConfigurationError(
      `endpoint ${url?.protocol}//…@${url?.host} holds a user or a password: DynamoDB takes credentials, so leave them out`,
    );
  if (url.search !== '' || url.hash !== '')
    throw new ConfigurationError(
      `endpoint ${url.origin}… has a query or a fragment, which no request uses: leave it out`,
    );
}

/**
 * Plain `http:` sends what is stored in clear, and a session token with each request.
 * @param given.accessKeyId of credentials that are known already
 * @throws ConfigurationError for `http:` to another machine, unless it is allowed or the credentials belong to a local engine
 */
export function ensureSafe(
  endpoint: string,
  {
    allowHttp = false,
    accessKeyId,
  }: { readonly allowHttp?: boolean | undefined; readonly accessKeyId?: string | undefined },
): void {
  ensureEndpoint(endpoint);
  const isPlain = URL.parse(endpoint)?.protocol === 'http:';
  if (!isPlain || isLoopback(endpoint) || allowHttp || accessKeyId === LOCAL_KEY) return;
  throw new ConfigurationError(
    `endpoint ${endpoint} is http: to another machine: rows and session tokens could be read on the way; ` +
      'use https:, or allow it with allowHttp: true (--allow-http)',
  );
}

/** Whether a name, or an address without brackets, is a loopback name of this machine. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** Whether an endpoint is on this machine. */
export function isLoopback(endpoint: string | undefined): boolean {
  const host = URL.parse(endpoint ?? '')?.hostname ?? '';
  // In a URL, an IPv6 address is in brackets.
  return isLoopbackHost(host.replace(/^\[|\]$/g, ''));
}
