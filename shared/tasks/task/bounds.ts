/** Limits on the attempts of a task and on the duration of each. Set in its definition, or when it is enqueued. */
import { ConfigurationError } from '../../core/errors.ts';
import type { Duration } from '../../core/validate/duration.ts';
import { durationMs } from '../../core/validate/duration.ts';
import { validWholeNumber } from '../../core/validate/options.ts';

export const MAX_ATTEMPTS_LIMIT = 1_000;

/** @throws ConfigurationError */
export function validMaxAttempts(what: string, maxAttempts: unknown): number {
  return validWholeNumber(what, maxAttempts, { min: 1, max: MAX_ATTEMPTS_LIMIT });
}

/** @throws ConfigurationError */
export function validTimeoutMs(what: string, timeout: Duration): number {
  const timeoutMs = durationMs(what, timeout);
  if (timeoutMs === 0) throw new ConfigurationError(`${what} = 0: must be a time longer than zero`);
  return timeoutMs;
}
