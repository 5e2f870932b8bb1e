/** Maps network errors of the operating system to faults. */
import { DynamoFault } from '../engine/driver.ts';

export interface SystemError extends Error {
  readonly code?: string;
  readonly syscall?: string;
  /** The error of each address, for a host with several. */
  readonly errors?: readonly SystemError[];
}

export function systemFault(kind: 'unsent' | 'unanswered', error: SystemError): DynamoFault {
  const { code = error.name, message, errors = [] } = error;
  return new DynamoFault(kind, {
    code,
    message: message === '' ? errors.map((each) => each.message).join(', ') : message,
    cause: error,
  });
}
