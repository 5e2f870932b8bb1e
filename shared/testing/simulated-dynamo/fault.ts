/** The service's error responses. Network errors belong to another layer. */
import { DynamoFault } from '../../dynamo/engine/driver.ts';
import type { CancellationReason, DynamoItem } from '../../dynamo/engine/driver.ts';

/** The request is wrong, whatever the table holds. */
export function validationFault(message: string): DynamoFault {
  return new DynamoFault('rejected', { code: 'ValidationException', message });
}

/** @param subject what is wrong and where, as the service names it: `Value at 'limit'` */
export function constraintFault(subject: string, requirement: string): DynamoFault {
  return validationFault(`1 validation error detected: ${subject} failed to satisfy constraint: ${requirement}`);
}

export function missingFault(parameter: string): DynamoFault {
  return constraintFault(`Value null at '${parameter}'`, 'Member must not be null');
}

/** A parameter that the service takes and we do not: an honest refusal instead of a wrong answer. */
export function notSimulated(what: string): DynamoFault {
  return new DynamoFault('rejected', { code: 'NotSimulated', message: `${what} is not simulated` });
}

export function tableNotFound(table: string): DynamoFault {
  return new DynamoFault('rejected', {
    code: 'ResourceNotFoundException',
    message: `Requested resource not found: Table: ${table} not found`,
  });
}

/** @param item the row that refused the write, if the request wanted it */
export function conditionFault(item: DynamoItem | undefined): DynamoFault {
  return new DynamoFault('conditionFailed', {
    code: 'ConditionalCheckFailedException',
    message: CONDITION_FAILED,
    item,
  });
}

export function canceledFault(reasons: readonly CancellationReason[]): DynamoFault {
  const codes = reasons.map((reason) => reason.code).join(', ');
  return new DynamoFault('transactionCanceled', {
    code: 'TransactionCanceledException',
    message: `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes}]`,
    reasons,
  });
}

export function tokenMismatchFault(): DynamoFault {
  return new DynamoFault('rejected', {
    code: 'IdempotentParameterMismatchException',
    message: 'The request uses the same client token as a previous, but non-identical request',
  });
}

const CONDITION_FAILED = 'The conditional request failed';
