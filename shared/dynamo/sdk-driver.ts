/** The driver over the AWS SDK: one call, one attempt, every exception mapped to a `DynamoFault`. */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  BatchGetCommand,
  DeleteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { Clock } from '../runtime/clock.ts';
import type { ResponseTiming } from './skew-gauge.ts';
import type {
  CancellationReason,
  DynamoCalls,
  DynamoDriver,
  DynamoFaultKind,
  DynamoItem,
  DynamoKind,
} from './driver.ts';
import { DynamoFault } from './driver.ts';

/**
 * @param client made with `clientSettings`, so that it neither retries nor waits by itself
 * @param observers.onResponse learns the service's own time with each response
 */
export function createSdkDriver(
  client: DynamoDBClient,
  observers?: { readonly clock: Clock; readonly onResponse: (timing: ResponseTiming) => void },
): DynamoDriver {
  if (observers !== undefined) observeDates(client, observers.clock, observers.onResponse);
  const documents = DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });
  return {
    async attempt<K extends DynamoKind>(
      kind: K,
      input: DynamoCalls[K]['input'],
      signal: AbortSignal,
    ): Promise<DynamoCalls[K]['output']> {
      try {
        return await documents.send(commandOf(kind, input) as GetCommand, {
          abortSignal: signal,
        });
      } catch (error) {
        throw faultOf(error);
      }
    },
  };
}

/** One attempt per call; the sender above owns time-outs and retries. */
export const clientSettings = { maxAttempts: 1 } as const;

function observeDates(client: DynamoDBClient, clock: Clock, onResponse: (timing: ResponseTiming) => void): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      const sentAt = clock.now();
      const result = await next(args);
      const { headers } = result.response as { readonly headers?: Readonly<Record<string, string>> };
      const serverDate = Date.parse(headers?.date ?? '');
      if (Number.isFinite(serverDate)) onResponse({ serverDate, sentAt, receivedAt: clock.now() });
      return result;
    },
    { step: 'deserialize', name: 'leaseholdDates', priority: 'low' },
  );
}

function commandOf<K extends DynamoKind>(kind: K, input: DynamoCalls[K]['input']): unknown {
  return commands[kind](input);
}

const commands: { readonly [K in DynamoKind]: (input: DynamoCalls[K]['input']) => unknown } = {
  get: (input) => new GetCommand(input),
  batchGet: (input) => new BatchGetCommand(input),
  query: (input) => new QueryCommand(input),
  put: (input) => new PutCommand(input),
  update: (input) => new UpdateCommand(input),
  delete: (input) => new DeleteCommand(input),
  transactWrite: (input) => new TransactWriteCommand(input),
};

/** Kinds by exception name; whatever is not here is judged by its HTTP status. */
const KINDS: Readonly<Record<string, DynamoFaultKind>> = {
  ConditionalCheckFailedException: 'conditionFailed',
  TransactionCanceledException: 'transactionCanceled',
  TransactionConflictException: 'conflict',
  TransactionInProgressException: 'conflict',
  ProvisionedThroughputExceededException: 'throttled',
  RequestLimitExceeded: 'throttled',
  ThrottlingException: 'throttled',
};

interface ServiceError extends Error {
  readonly Item?: Record<string, never>;
  readonly CancellationReasons?: readonly { Code?: string; Message?: string; Item?: Record<string, never> }[];
  readonly $metadata?: { readonly httpStatusCode?: number };
}

function faultOf(thrown: unknown): DynamoFault {
  const error = thrown as ServiceError;
  const status = error.$metadata?.httpStatusCode;
  // No status: the answer never came. A server error may come after the write.
  const kind = KINDS[error.name] ?? (status !== undefined && status >= 400 && status < 500 ? 'rejected' : 'unanswered');
  return new DynamoFault(kind, {
    code: error.name,
    message: error.message,
    item: decode(error.Item),
    reasons: error.CancellationReasons?.map(reasonOf) ?? [],
    cause: thrown,
  });
}

function reasonOf(reason: { Code?: string; Message?: string; Item?: Record<string, never> }): CancellationReason {
  return { code: reason.Code ?? 'None', message: reason.Message, item: decode(reason.Item) };
}

/** The document client translates answers, not exceptions. */
function decode(item: Record<string, never> | undefined): DynamoItem | undefined {
  return item === undefined ? undefined : unmarshall(item);
}
