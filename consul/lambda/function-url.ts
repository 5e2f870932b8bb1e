/** A request as a function URL hands it over, for a handler that speaks `fetch`. */

/** The parts of a function URL's event, version 2.0, that make a request. */
export interface UrlEvent {
  readonly rawPath: string;
  readonly rawQueryString: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly requestContext: { readonly domainName: string; readonly http: { readonly method: string } };
  readonly body?: string | undefined;
  readonly isBase64Encoded: boolean;
}

export interface UrlAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly isBase64Encoded: true;
}

type Fetch = (request: Request) => Response | Promise<Response>;

export async function answerUrlEvent(fetch: Fetch, event: UrlEvent): Promise<UrlAnswer> {
  const response = await fetch(requestOf(event));
  const body = Buffer.from(await response.arrayBuffer());
  return {
    statusCode: response.status,
    headers: Object.fromEntries(response.headers),
    // Bodies are bytes, whatever they say of themselves.
    body: body.toString('base64'),
    isBase64Encoded: true,
  };
}

function requestOf({ rawPath, rawQueryString, headers, requestContext, ...event }: UrlEvent): Request {
  const { method } = requestContext.http;
  const query = rawQueryString === '' ? '' : `?${rawQueryString}`;
  const given = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const body =
    event.body === undefined ? undefined : Buffer.from(event.body, event.isBase64Encoded ? 'base64' : 'utf8');
  const hasBody = body !== undefined && method !== 'GET' && method !== 'HEAD';
  return new Request(`https://${requestContext.domainName}${rawPath}${query}`, {
    method,
    headers: given,
    ...(hasBody ? { body } : {}),
  });
}
