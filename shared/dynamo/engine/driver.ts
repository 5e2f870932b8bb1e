/**
 * One attempt at one DynamoDB request: the port below everything.
 *
 * Requests and replies are in the document form of `@aws-sdk/lib-dynamodb` (native values).
 * A driver never retries and never waits longer than its signal allows.
 * It either returns the service's reply or throws a `DynamoFault` that says whether the request may have been applied.
 */
import type {
  BatchGetCommandInput,
  BatchGetCommandOutput,
  DeleteCommandInput,
  DeleteCommandOutput,
  GetCommandInput,
  GetCommandOutput,
  PutCommandInput,
  PutCommandOutput,
  QueryCommandInput,
  QueryCommandOutput,
  TransactWriteCommandInput,
  TransactWriteCommandOutput,
  UpdateCommandInput,
  UpdateCommandOutput,
} from '@aws-sdk/lib-dynamodb';
import type { Connections } from './connections.ts';

/** The parts of a reply that the protocol needs, without the SDK's metadata. */
type Reply<Output> = Omit<Output, '$metadata'>;

export interface DynamoCalls {
  get: { input: GetCommandInput; output: Reply<GetCommandOutput> };
  batchGet: { input: BatchGetCommandInput; output: Reply<BatchGetCommandOutput> };
  query: { input: QueryCommandInput; output: Reply<QueryCommandOutput> };
  put: { input: PutCommandInput; output: Reply<PutCommandOutput> };
  update: { input: UpdateCommandInput; output: Reply<UpdateCommandOutput> };
  delete: { input: DeleteCommandInput; output: Reply<DeleteCommandOutput> };
  transactWrite: { input: TransactWriteCommandInput; output: Reply<TransactWriteCommandOutput> };
}

export type DynamoKind = keyof DynamoCalls;
export type DynamoItem = Record<string, unknown>;

export interface DynamoDriver {
  /** The connections that its requests share; one for each attempt. Absent: unlimited. */
  readonly connections?: Connections | undefined;
  /** @throws DynamoFault */
  attempt<K extends DynamoKind>(
    kind: K,
    input: DynamoCalls[K]['input'],
    signal: AbortSignal,
  ): Promise<DynamoCalls[K]['output']>;
}

/**
 * Why an attempt failed.
 *
 * | kind | meaning | applied |
 * | --- | --- | --- |
 * | `conditionFailed` | the guard of a single write was false; `item` is the row that blocked it | no |
 * | `transactionCanceled` | a transaction was refused; `reasons` in the order of its actions | no |
 * | `conflict` | another transaction holds the row | no |
 * | `throttled` | capacity or request rate exceeded | no |
 * | `rejected` | the request is wrong (validation, access, missing table): never retried | no |
 * | `unverified` | its credentials or its time were refused before it was carried out, and the next attempt signs with others | no |
 * | `unsent` | no address to send it to, or no credentials: it never left | no |
 * | `unanswered` | time-out, reset connection, or a server error: it may have been applied | unknown |
 */
export type DynamoFaultKind =
  | 'conditionFailed'
  | 'transactionCanceled'
  | 'conflict'
  | 'throttled'
  | 'rejected'
  | 'unverified'
  | 'unsent'
  | 'unanswered';

export interface CancellationReason {
  /** `None`, `ConditionalCheckFailed`, `TransactionConflict`, `ThrottlingError`, `ProvisionedThroughputExceeded`, `ValidationError`, … */
  readonly code: string;
  readonly message?: string | undefined;
  /** The row that refused this action, if the action requested it. */
  readonly item?: DynamoItem | undefined;
}

export class DynamoFault extends Error {
  override readonly name = 'DynamoFault';
  readonly kind: DynamoFaultKind;
  /** The service's exception name, or the system's error code. */
  readonly code: string;
  readonly item: DynamoItem | undefined;
  readonly reasons: readonly CancellationReason[];

  constructor(
    kind: DynamoFaultKind,
    details: {
      readonly code: string;
      readonly message: string;
      readonly item?: DynamoItem | undefined;
      readonly reasons?: readonly CancellationReason[];
      readonly cause?: unknown;
    },
  ) {
    super(details.message, { cause: details.cause });
    this.kind = kind;
    this.code = details.code;
    this.item = details.item;
    this.reasons = details.reasons ?? [];
  }

  get applied(): 'no' | 'unknown' {
    return this.kind === 'unanswered' ? 'unknown' : 'no';
  }
}

/** The fault's code if a request contains a value that DynamoDB cannot represent. Nothing was sent. */
export const UNSTORABLE = 'UnstorableValue';
