/** Values that DynamoDB has no form for: where such a one stands, and why it cannot be sent. */
import { messageOf, shown } from '../../core/errors.ts';
import { DynamoFault, UNSTORABLE } from '../engine/driver.ts';

/** Its message begins with the path to the value, which grows while the error leaves what holds it. */
class UnstorableError extends Error {}

/**
 * For what holds a value whose translation failed: the same error, with one more step in front of its path.
 * @param error thrown for the value itself, or for a part of it, which has said then which one
 */
export function within(step: string, value: unknown, error: unknown): UnstorableError {
  const inner =
    error instanceof UnstorableError
      ? error
      : new UnstorableError(` = ${shown(value)} cannot be stored: ${messageOf(error)}`);
  inner.message = `${step}${inner.message}`;
  return inner;
}

/** The fault of a request that could not be translated: it was never sent, and never can be. */
export function unstorableFault(error: unknown): DynamoFault {
  const message =
    error instanceof UnstorableError ? error.message : `the request cannot be written down: ${messageOf(error)}`;
  return new DynamoFault('rejected', { code: UNSTORABLE, message, cause: error });
}
