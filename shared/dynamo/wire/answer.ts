/**
 * Interprets an HTTP response as a reply or a fault, for all drivers.
 * Only a 200 with a complete body that matches its checksum and is one JSON object counts as success.
 * The SDK accepts a 200 without content, so a put would seem applied, and a lock's row would seem missing.
 * Any other response that could follow an applied write is `unanswered`, unless the request was refused before it was carried out.
 */
import { messageOf } from '../../core/errors.ts';
import type { CancellationReason, DynamoCalls, DynamoFaultKind, DynamoItem, DynamoKind } from '../engine/driver.ts';
import { DynamoFault } from '../engine/driver.ts';
import { decodeMap } from './attribute-value.ts';
import { decodeOutput } from './documents.ts';

export interface Answer {
  readonly status: number;
  /** In lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
}

/** Maximum size of a response in memory. A batch has at most 16 MB, which is more as JSON. */
export const MAX_ANSWER_BYTES = 64 * 2 ** 20;

/** Returns the text of a complete body. @throws Error with the reason if it is incomplete */
type TextOfBody = (answer: Answer) => string;

/** @throws DynamoFault */
export function readAnswer<K extends DynamoKind>(
  kind: K,
  answer: Answer,
  textOf: TextOfBody,
): DynamoCalls[K]['output'] {
  if (answer.status !== 200) throw faultOf(answer, textOf);
  try {
    const output = parsed(answer, textOf);
    if ('__type' in output) throw new Error('it is an error by its content');
    return decodeOutput(kind, output);
  } catch (error) {
    throw unreadable(`the answer of DynamoDB cannot be read: ${messageOf(error)}`, error);
  }
}

/** The service's time in milliseconds since 1970. Undefined if the response does not state it, or is older than stated. */
export function dateOf({ headers }: Pick<Answer, 'headers'>): number | undefined {
  const date = Date.parse(headers.date ?? '');
  return Number.isFinite(date) && headers.age === undefined ? date : undefined;
}

/** Kinds by exception name, at any status. Other names are judged by their status. */
const KINDS: Readonly<Record<string, DynamoFaultKind>> = {
  ConditionalCheckFailedException: 'conditionFailed',
  TransactionCanceledException: 'transactionCanceled',
  TransactionConflictException: 'conflict',
  TransactionInProgressException: 'conflict',
  // For global tables with strong consistency: another region is writing the row.
  ReplicatedWriteConflictException: 'conflict',
  ProvisionedThroughputExceededException: 'throttled',
  RequestLimitExceeded: 'throttled',
  ThrottlingException: 'throttled',
  Throttling: 'throttled',
  ThrottledException: 'throttled',
  RequestThrottled: 'throttled',
  RequestThrottledException: 'throttled',
  RequestThrottlingException: 'throttled',
  TooManyRequestsException: 'throttled',
  SlowDown: 'throttled',
};

function faultOf(answer: Answer, textOf: TextOfBody): DynamoFault {
  const { status, headers } = answer;
  const content = jsonOf(answer, textOf);
  const code = codeOf(content, headers);
  const kind = (code === undefined ? undefined : KINDS[code]) ?? kindOfStatus(status);
  const details = {
    code: code ?? (content === undefined ? `HTTP ${status}` : 'Unknown'),
    message:
      code === undefined ? explanation(answer, content) : (messageIn(content) ?? `HTTP ${status}`) + limits(content),
  };
  try {
    return new DynamoFault(kind, {
      ...details,
      item: itemOf(content?.Item),
      reasons: reasonsOf(content?.CancellationReasons),
    });
  } catch (error) {
    return unreadable(`the row in a refusal (${details.code}) cannot be read: ${messageOf(error)}`, error);
  }
}

function kindOfStatus(status: number): DynamoFaultKind {
  if (status === 429) return 'throttled';
  // 408: a proxy gave up waiting for the response. A server error may come after the write was applied.
  if (status === 408 || status < 300 || status === 304 || status >= 500) return 'unanswered';
  return 'rejected';
}

/** Describes a response that does not name a DynamoDB error. */
function explanation({ status, headers, body }: Answer, content: object | undefined): string {
  if (status >= 300 && status < 400)
    return `HTTP ${status} leads to ${headers.location ?? 'nowhere'}: redirects are not followed, use the endpoint itself`;
  const start = new TextDecoder().decode(body.subarray(0, SHOWN_BYTES));
  const who = content === undefined && status < 500 ? 'not DynamoDB, but a proxy perhaps, answered ' : '';
  return `${who}HTTP ${status}: ${start === '' ? 'nothing' : start}`;
}

const SHOWN_BYTES = 200;

function unreadable(message: string, cause: unknown): DynamoFault {
  return new DynamoFault('unanswered', { code: 'UnreadableAnswer', message, cause });
}

type Content = Readonly<Record<string, unknown>>;

/** @throws Error */
function parsed(answer: Answer, textOf: TextOfBody): Content {
  const content: unknown = JSON.parse(textOf(answer));
  if (typeof content !== 'object' || content === null || Array.isArray(content)) throw new Error('it is not an object');
  return content as Content;
}

function jsonOf(answer: Answer, textOf: TextOfBody): Content | undefined {
  try {
    return parsed(answer, textOf);
  } catch {
    return undefined; // Pages of proxies are no JSON; the status says enough.
  }
}

/** The body's `__type`, otherwise its `code`, otherwise the header. A namespace may precede it, and an address may follow. */
function codeOf(content: Content | undefined, headers: Answer['headers']): string | undefined {
  const raw = [content?.__type, content?.code, headers['x-amzn-errortype']].find(
    (name): name is string | number => (typeof name === 'string' && name !== '') || typeof name === 'number',
  );
  return raw === undefined ? undefined : /^([^,:]*#)?([^,:#]*)/.exec(String(raw))?.[2];
}

function messageIn(content: Content | undefined): string | undefined {
  const text = content?.message ?? content?.Message;
  return typeof text === 'string' ? text : undefined;
}

/** The reason for throttling: the limit, and its table or index. */
function limits(content: Content | undefined): string {
  const reasons = content?.ThrottlingReasons;
  if (!Array.isArray(reasons)) return '';
  return ` (${reasons.map(({ reason, resource }: Content) => `${String(reason)} ${String(resource)}`).join(', ')})`;
}

function itemOf(item: unknown): DynamoItem | undefined {
  return item === undefined || item === null ? undefined : decodeMap(item);
}

function reasonsOf(reasons: unknown): CancellationReason[] {
  if (!Array.isArray(reasons)) return [];
  return (reasons as readonly Content[]).map((reason) => ({
    code: typeof reason.Code === 'string' ? reason.Code : 'None',
    message: typeof reason.Message === 'string' ? reason.Message : undefined,
    item: itemOf(reason.Item),
  }));
}
