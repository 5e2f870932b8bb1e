/**
 * The refusals of Lambda's Invoke API, with the names, statuses and bodies that its SDK clients expect.
 * A failing function is not among them: that is an answer with status 200.
 * @see https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html#API_Invoke_Errors
 */
import { functionArn } from './function-name.ts';

export const SYNCHRONOUS_PAYLOAD_LIMIT_BYTES = 6 * 1024 * 1024;
export const ASYNCHRONOUS_PAYLOAD_LIMIT_BYTES = 1024 * 1024;

export class InvokeFault extends Error {
  readonly status: number;
  /** The exception's name, sent as `X-Amzn-ErrorType`. */
  readonly code: string;
  readonly body: Readonly<Record<string, string>>;

  constructor(status: number, code: string, message: string, body: Readonly<Record<string, string>>) {
    super(message);
    this.name = code;
    this.status = status;
    this.code = code;
    this.body = body;
  }
}

export function functionNotFound(name: string): InvokeFault {
  const message = `Function not found: ${functionArn({ name, qualifier: undefined })}`;
  return new InvokeFault(404, 'ResourceNotFoundException', message, { Type: 'User', Message: message });
}

export function tooManyRequests(): InvokeFault {
  return new InvokeFault(429, 'TooManyRequestsException', 'Rate Exceeded.', {
    Reason: 'ReservedFunctionConcurrentInvocationLimitExceeded',
    Type: 'User',
    message: 'Rate Exceeded.',
  });
}

export function requestTooLarge(limitBytes: number): InvokeFault {
  const message = `Request must be smaller than ${limitBytes} bytes for the InvokeFunction operation`;
  return new InvokeFault(413, 'RequestTooLargeException', message, { Type: 'User', message });
}

export function invalidRequestContent(reason: string): InvokeFault {
  const message = `Could not parse request body into json: ${reason}`;
  return new InvokeFault(400, 'InvalidRequestContentException', message, { Type: 'User', message });
}

export function invalidParameter(message: string): InvokeFault {
  return new InvokeFault(400, 'InvalidParameterValueException', message, { Type: 'User', message });
}

export function notFromHere(message: string): InvokeFault {
  return new InvokeFault(403, 'AccessDeniedException', message, { Type: 'User', Message: message });
}

export function unknownOperation(operation: string): InvokeFault {
  const message = `the local Lambda knows only Invoke, not ${operation}`;
  return new InvokeFault(404, 'UnknownOperationException', message, { Type: 'User', message });
}

export function serviceStopped(): InvokeFault {
  const message = 'the local Lambda is stopping';
  return new InvokeFault(503, 'ServiceException', message, { Type: 'Service', Message: message });
}
