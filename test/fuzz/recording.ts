/** Notes every expression and every placeholder's name on its way to the store. */
import type { DynamoCalls, DynamoDriver, DynamoKind } from '../../shared/dynamo/engine/driver.ts';

export interface Recording {
  /** Distinct texts, whatever request they came with. */
  readonly expressions: Set<string>;
  /** The names behind placeholders. */
  readonly names: Set<string>;
}

const EXPRESSIONS = [
  'ConditionExpression',
  'UpdateExpression',
  'KeyConditionExpression',
  'FilterExpression',
  'ProjectionExpression',
] as const;

/** A driver that records, and lets the other one work. */
export function recordingDriver(driver: DynamoDriver, recording: Recording): DynamoDriver {
  return {
    attempt<K extends DynamoKind>(
      kind: K,
      input: DynamoCalls[K]['input'],
      signal: AbortSignal,
    ): Promise<DynamoCalls[K]['output']> {
      record(input, recording);
      return driver.attempt(kind, input, signal);
    },
  };
}

type Parts = Readonly<Partial<Record<(typeof EXPRESSIONS)[number], string>>> & {
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>>;
};

function record(input: object, { expressions, names }: Recording): void {
  const { TransactItems = [] } = input as { readonly TransactItems?: readonly object[] };
  for (const parts of [input, ...TransactItems.flatMap((action) => Object.values(action) as object[])] as Parts[]) {
    for (const place of EXPRESSIONS) if (parts[place] !== undefined) expressions.add(`${place} ${parts[place]}`);
    for (const name of Object.values(parts.ExpressionAttributeNames ?? {})) names.add(name);
  }
}
