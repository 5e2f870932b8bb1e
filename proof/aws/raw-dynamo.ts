/** Sends signed requests exactly as given: with any date, twice, or with other credentials. */
import type { Credentials } from '../../shared/dynamo/wire/credentials.ts';
import type { Target } from '../../shared/dynamo/wire/destination.ts';
import { sdkDestination } from '../../shared/dynamo/wire/destination.ts';
import { loadSdk, openClient } from '../../shared/dynamo/wire/sdk.ts';
import { signedHeaders } from '../../shared/dynamo/wire/signature.ts';

export interface RawAnswer {
  readonly status: number;
  /** The name of the exception; `ok` for an answer with status 200. */
  readonly outcome: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly serverDate: number;
}

/** A request with its signature: each call sends the same bytes. */
export type SignedRequest = () => Promise<RawAnswer>;

export class RawDynamo {
  readonly target: Target;
  readonly #url: string;

  constructor(target: Target) {
    this.target = target;
    const { isTls, host, path } = target.place;
    this.#url = `${isTls ? 'https' : 'http'}://${host}${path}`;
  }

  static async open(): Promise<RawDynamo> {
    const destination = await sdkDestination(await openClient({}), await loadSdk());
    return new RawDynamo(await destination.current());
  }

  with(credentials: Credentials): RawDynamo {
    return new RawDynamo({ ...this.target, credentials });
  }

  /** @param at the date of the signature */
  async sign(operation: string, input: object, at = Date.now()): Promise<SignedRequest> {
    const { place, region, credentials } = this.target;
    const body = JSON.stringify(input);
    const named = {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': `DynamoDB_20120810.${operation}`,
    };
    const headers = signedHeaders({ ...place, headers: named, body }, { service: 'dynamodb', region, credentials }, at);
    const { host: _host, ...sent } = headers;
    return async () => answerOf(await fetch(this.#url, { method: 'POST', headers: sent, body }));
  }

  async send(operation: string, input: object): Promise<RawAnswer> {
    return (await this.sign(operation, input))();
  }
}

async function answerOf(response: Response): Promise<RawAnswer> {
  const text = await response.text();
  const body = text.startsWith('{') ? (JSON.parse(text) as Readonly<Record<string, unknown>>) : {};
  const exception = typeof body.__type === 'string' ? body.__type.split('#').at(-1) : undefined;
  return {
    status: response.status,
    outcome: response.status === 200 ? 'ok' : (exception ?? `HTTP ${response.status}`),
    body,
    serverDate: Date.parse(response.headers.get('date') ?? ''),
  };
}
