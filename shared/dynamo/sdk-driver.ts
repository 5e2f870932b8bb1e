/** The driver over the AWS SDK: one call, one attempt, every exception mapped to a `DynamoFault`. */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  BatchGetCommand,
  DeleteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  NumberValue,
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
import { UNSTORABLE, WRITABLE, unstorableIn } from './unstorable.ts';

/**
 * @param client made with `clientSettings`, so that it neither retries nor waits by itself
 * @param observers.onResponse learns the service's own time with each response
 */
export function createSdkDriver(
  client: DynamoDBClient,
  observers?: { readonly clock: Clock; readonly onResponse: (timing: ResponseTiming) => void },
): DynamoDriver {
  if (observers !== undefined) observeDates(client, observers.clock, observers.onResponse);
  const documents = DynamoDBDocumentClient.from(client, {
    marshallOptions: { ...WRITABLE }, // the client changes what it is given
    unmarshallOptions: { ...READABLE },
  });
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
        throw unsentValue(error as ServiceError, input) ?? faultOf(error);
      }
    },
  };
}

/**
 * Numbers as the SDK has them, save for one: at a fraction beyond what JavaScript holds it throws, and with it goes the whole answer.
 * One damaged row would hide all that were read with it; so it comes out as text, and its row's reader finds that it is no number of ours.
 */
const READABLE = {
  wrapNumbers(text: string): number | bigint | NumberValue {
    const nearest = Number(text);
    if (Math.abs(nearest) <= Number.MAX_SAFE_INTEGER) return nearest;
    return /^-?\d+$/.test(text) ? BigInt(text) : NumberValue.from(text);
  },
};

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

/** What fails before anything is sent, by the error's code or name; the next attempt may find more. */
const UNSENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'CredentialsProviderError', 'TokenProviderError']);
/** The SDK's words for a setting that no further attempt will find, and ours. */
const NO_REGION = 'Region is missing';
const NO_REGION_IS_KNOWN = 'no AWS region is known: set AWS_REGION, or give a region or an endpoint';

interface ServiceError extends Error {
  readonly code?: string;
  /** Of a host with several addresses: what became of each. */
  readonly errors?: readonly Error[];
  readonly Item?: Record<string, never>;
  readonly CancellationReasons?: readonly { Code?: string; Message?: string; Item?: Record<string, never> }[];
  readonly $metadata?: { readonly httpStatusCode?: number };
}

function faultOf(thrown: unknown): DynamoFault {
  const error = thrown as ServiceError;
  return new DynamoFault(kindOf(error), {
    code: error.code ?? error.name,
    message: messageOf(error),
    item: decode(error.Item),
    reasons: error.CancellationReasons?.map(reasonOf) ?? [],
    cause: thrown,
  });
}

/** A value that cannot be translated fails like an answer that never came, but was never sent. */
function unsentValue(error: ServiceError, input: DynamoCalls[DynamoKind]['input']): DynamoFault | undefined {
  if (error.$metadata !== undefined) return undefined;
  const message = unstorableIn(input);
  return message === undefined ? undefined : new DynamoFault('rejected', { code: UNSTORABLE, message, cause: error });
}

function messageOf({ message, errors = [] }: ServiceError): string {
  if (message === NO_REGION) return NO_REGION_IS_KNOWN;
  return message === '' ? errors.map((error) => error.message).join(', ') : message;
}

function kindOf({ name, code = name, message, $metadata }: ServiceError): DynamoFaultKind {
  if (UNSENT.has(code)) return 'unsent';
  const status = $metadata?.httpStatusCode;
  const isWrong = message === NO_REGION || (status !== undefined && 400 <= status && status < 500);
  // No status: the answer never came. A server error may come after the write.
  return KINDS[name] ?? (isWrong ? 'rejected' : 'unanswered');
}

function reasonOf(reason: { Code?: string; Message?: string; Item?: Record<string, never> }): CancellationReason {
  return { code: reason.Code ?? 'None', message: reason.Message, item: decode(reason.Item) };
}

/** The document client translates answers, not exceptions. */
function decode(item: Record<string, never> | undefined): DynamoItem | undefined {
  return item === undefined ? undefined : unmarshall(item, READABLE);
}
