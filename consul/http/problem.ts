/** An error answer: Consul's status code, with a readable text as its body. */
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { ClockSkewError, ConfigurationError, StoreUnavailableError, messageOf } from '../../shared/core/errors.ts';

export class Problem extends Error {
  override readonly name = 'Problem';
  readonly status: ContentfulStatusCode;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: ContentfulStatusCode, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

export const badRequest = (message: string): Problem => new Problem(400, message);
export const denied = (): Problem => new Problem(403, 'Permission denied');
/** The answer of Consul's servers to a request that they cannot carry out. */
export const failed = (message: string): Problem => new Problem(500, message);
export const tooLarge = (message: string): Problem => new Problem(413, message);

/** Whether an operator should know: false for Consul's own answers and for refused input. */
export function isFailure(error: unknown): boolean {
  return !(error instanceof Problem || error instanceof ConfigurationError);
}

/** Any error as an answer. Clients try again after a 500, and after a 503 of a server that has no leader. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof ConfigurationError) return badRequest(error.message);
  if (error instanceof StoreUnavailableError || error instanceof ClockSkewError)
    return new Problem(500, `No cluster leader: ${error.message}`);
  return failed(messageOf(error));
}
