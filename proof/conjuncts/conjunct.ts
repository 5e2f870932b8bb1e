/** The conjuncts of every guard, as statements send them; and writes that a conjunct decided, because all others held. */
import type { DynamoItem } from '../../shared/dynamo/engine/driver.ts';
import type { Statement } from '../../shared/dynamo/engine/statement.ts';
import type { StoredItem } from '../../shared/testing/simulated-dynamo/attribute-value.ts';
import { bind } from '../../shared/testing/simulated-dynamo/expression/bindings.ts';
import { holds } from '../../shared/testing/simulated-dynamo/expression/condition.ts';
import { parsed } from '../../shared/testing/simulated-dynamo/expression/parsed-expressions.ts';

export interface Write {
  readonly TableName: string;
  readonly Key?: DynamoItem;
  readonly Item?: DynamoItem;
  readonly ConditionExpression?: string;
  readonly UpdateExpression?: string;
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>>;
  readonly ExpressionAttributeValues?: DynamoItem;
}

interface Input extends Partial<Write> {
  readonly TransactItems?: readonly Readonly<Record<string, Write>>[];
}

/** At those ANDs that stand in no parentheses; a condition with an OR outside of them is one conjunct. */
export function splitAtAnd(condition: string): readonly string[] {
  let parts = splits.get(condition);
  if (parts === undefined) splits.set(condition, (parts = split(condition)));
  return parts;
}

/** The texts of the protocol are few. */
const splits = new Map<string, readonly string[]>();

function split(condition: string): readonly string[] {
  const parts: string[] = [''];
  let depth = 0;
  for (const token of condition.split(/(\(|\)| AND | OR )/)) {
    if (token === '(') depth++;
    if (token === ')') depth--;
    if (depth === 0 && token === ' OR ') return [condition];
    if (depth === 0 && token === ' AND ') parts.push('');
    else parts.push(`${parts.pop() ?? ''}${token}`);
  }
  return parts;
}

/**
 * Returns the names of all conjuncts: `verb: conjunct`.
 * For the further actions of a transaction, whatever its verb: `row, first clause: conjunct`.
 * The users' own rows have none.
 */
export function conjunctsOf({ verb, input }: Statement): readonly string[] {
  return writesOf(input).flatMap((write, at) =>
    splitAtAnd(write.ConditionExpression ?? '').flatMap((conjunct) => nameOf(verb, at, write, conjunct) ?? []),
  );
}

function nameOf(verb: string, at: number, write: Write, conjunct: string): string | undefined {
  const { pk } = write.Key ?? write.Item ?? {};
  if (typeof pk !== 'string' || pk.startsWith('user#') || conjunct === '') return undefined;
  if (at === 0) return `${verb}: ${conjunct}`;
  const kind = write.Item === undefined ? 'check' : 'put';
  const [clause = kind] = write.UpdateExpression?.replace(/(#past)\d/g, '$1N').split(',') ?? [];
  return `${pk.split('#')[0]}, ${clause}: ${conjunct}`;
}

/** The writes and condition checks of a request. */
export function writesOf(input: object): readonly Write[] {
  const { TransactItems, ...request } = input as Input;
  return TransactItems === undefined ? [request as Write] : TransactItems.flatMap((item) => Object.values(item));
}

/**
 * The one conjunct for which a store would refuse a request, if its rows were these. Undefined: there is none, or more than one:
 * what two of them refuse would be refused without either.
 */
export function decisiveConjunct(
  verb: string,
  writes: readonly Write[],
  rowOf: (write: Write) => DynamoItem | undefined,
): string | undefined {
  const failing: (string | undefined)[] = [];
  for (const [at, write] of writes.entries()) {
    if (write.ConditionExpression === undefined) continue;
    const row = rowOf(write) as StoredItem | undefined;
    const bindings = bind(write, [parsed.condition(write.ConditionExpression), parsed.update(write.UpdateExpression)]);
    for (const conjunct of splitAtAnd(write.ConditionExpression)) {
      const condition = parsed.condition(conjunct);
      if (condition !== undefined && !holds(condition.root, row, bindings))
        failing.push(nameOf(verb, at, write, conjunct));
    }
  }
  return failing.length === 1 ? failing[0] : undefined;
}

/** The key of the row that it writes or checks; the user's own go by `id`. */
export function keyOf({ Key, Item = {} }: Write): DynamoItem {
  const { pk, sk, id } = Item;
  return Key ?? (pk === undefined ? { id } : { pk, sk });
}
