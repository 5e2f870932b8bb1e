/** Describes values that DynamoDB cannot represent: the path to the value, and the reason. */
import { messageOf, shown } from '../../core/errors.ts';
import { DynamoFault, UNSTORABLE } from '../engine/driver.ts';

/** Its message begins with the path to the value. Each enclosing object or list adds one step. */
class UnstorableError extends Error {}

/**
 * Returns the error with one more step in front of its path, for the object or list that contains the value.
 * @param error thrown for the value itself, or for a part of it, whose path it then contains
 */
export function within(step: string, value: unknown, error: unknown): UnstorableError {
  const inner =
    error instanceof UnstorableError
      ? error
      : new UnstorableError(` = ${shown(value)} cannot be stored: ${messageOf(error)}`);
  inner.message = `${step}${inner.message}`;
  return inner;
}

/** Returns the fault of a request that could not be encoded. It was never sent, and never can be. */
export function unstorableFault(error: unknown): DynamoFault {
  const message =
    error instanceof UnstorableError ? error.message : `the request cannot be written down: ${messageOf(error)}`;
  return new DynamoFault('rejected', { code: UNSTORABLE, message, cause: error });
}
