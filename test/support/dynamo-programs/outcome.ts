/** What came of a request, in a form in which two stores can be compared. */
import type { DynamoCalls, DynamoDriver, DynamoItem, DynamoKind } from '../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../shared/dynamo/engine/driver.ts';
import type { Step } from './requests.ts';
import { writesOf } from './writes.ts';

export type Outcome =
  | {
      readonly kind: 'reply';
      readonly output: object;
      /** The items that a write was about, as they were afterwards. */
      readonly rows: readonly (DynamoItem | undefined)[];
    }
  | { readonly kind: 'fault'; readonly fault: DynamoFault };

type Apply = <K extends DynamoKind>(kind: K, input: DynamoCalls[K]['input']) => Promise<DynamoCalls[K]['output']>;

/** @returns how a step went, followed to the last page if it reads an index page by page */
export async function outcomeOf(driver: DynamoDriver, step: Step): Promise<Outcome> {
  const apply: Apply = (kind, input) => driver.attempt(kind, input, new AbortController().signal);
  try {
    const output = isPaged(step) ? await allPages(apply, step.input) : await apply(step.kind, step.input);
    const reads = writesOf(step).map(({ TableName, Key }) => apply('get', { TableName, Key, ConsistentRead: true }));
    const rows = (await Promise.all(reads)).map(({ Item }) => Item);
    // The SDK's own bookkeeping is no part of the answer.
    return { kind: 'reply', output: { ...output, $metadata: undefined }, rows };
  } catch (fault) {
    if (fault instanceof DynamoFault && fault.kind !== 'unanswered') return { kind: 'fault', fault };
    throw fault;
  }
}

/** A connection may be closed just as it is used again, and a busy machine does so more often. */
const TRIES = 3;

/**
 * An engine that does not answer says nothing about what the answer is, so what had begun is begun again.
 * @param attempt may be repeated
 */
export async function answered<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (fault) {
      if (!(fault instanceof DynamoFault && fault.kind === 'unanswered') || tries === TRIES) throw fault;
    }
  }
}

/**
 * Equal texts mean equal outcomes.
 * Messages are left out, and so is the order where the service promises none: of a batch's items, of reports about
 * several tables, and of index entries with equal keys.
 * Which of these comes first also decides where a page ends, so paged reads of an index are compared as a whole.
 */
export function comparable(step: Step, outcome: Outcome): string {
  if (outcome.kind === 'fault') {
    const { kind, code, item, reasons } = outcome.fault;
    return canonical({ kind, code, item, reasons: reasons.map(({ code, item }) => ({ code, item })) });
  }
  const { output, rows } = outcome;
  switch (step.kind) {
    case 'query':
      return canonical('IndexName' in step.input ? unordered(output, 'Items') : output);
    case 'batchGet': {
      const { Responses = {} } = output as DynamoCalls['batchGet']['output'];
      const sorted = Object.entries(Responses).map(([table, items]) => [table, sortedTexts(items)] as const);
      return canonical({ ...unordered(output, 'ConsumedCapacity'), Responses: Object.fromEntries(sorted) });
    }
    case 'transactWrite':
      return canonical({ ...unordered(output, 'ConsumedCapacity'), rows });
    default:
      return canonical({ ...output, rows });
  }
}

export type AnswerPart = 'ConsumedCapacity' | 'Attributes' | 'LastEvaluatedKey';

/** The outcome without one part of its answer. */
export function without(outcome: Outcome, part: AnswerPart): Outcome {
  return outcome.kind === 'fault' ? outcome : { ...outcome, output: { ...outcome.output, [part]: undefined } };
}

function canonical(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'bigint') return `number:${value}`;
  if (typeof value !== 'object' || value === null) return `${typeof value}:${String(value)}`;
  if (value instanceof Uint8Array) return `bytes:${Buffer.from(value).toString('hex')}`;
  if (Array.isArray(value)) return `[${value.map(canonical).join(', ')}]`;
  if (value instanceof Set) return `set{${[...value].map(canonical).sort().join(', ')}}`;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members
    .map(([name, member]) => `${name}=${canonical(member)}`)
    .sort()
    .join(', ')}}`;
}

function isPaged(step: Step): step is Step<'query'> {
  return step.kind === 'query' && 'IndexName' in step.input && 'Limit' in step.input;
}

async function allPages(apply: Apply, input: DynamoCalls['query']['input']): Promise<object> {
  const Items: DynamoItem[] = [];
  const scanned: (number | undefined)[] = [];
  let ExclusiveStartKey: DynamoItem | undefined;
  do {
    const page = await apply('query', { ...input, ...(ExclusiveStartKey && { ExclusiveStartKey }) });
    Items.push(...(page.Items ?? []));
    scanned.push(page.ScannedCount);
    ExclusiveStartKey = page.LastEvaluatedKey;
  } while (ExclusiveStartKey !== undefined);
  // Visible where the index has a sort key and the query shows it.
  const order = input.IndexName === 'all' ? [] : Items.map(({ gsk }) => gsk);
  return { Items, scanned, order };
}

function unordered(output: object, list: string): object {
  const items = (output as Readonly<Record<string, unknown>>)[list];
  return Array.isArray(items) ? { ...output, [list]: sortedTexts(items) } : output;
}

function sortedTexts(values: readonly unknown[]): string[] {
  return values.map(canonical).sort();
}
