/** Key conditions: the one partition that a query reads, and the part of its sort keys. */
import type { StoredValue } from '../attribute-value.ts';
import { compareValues, typeOf } from '../attribute-value.ts';
import { validationFault } from '../fault.ts';
import type { KeyAttribute, KeySchema } from '../table-definition.ts';
import { nameOf } from './path.ts';
import type { Bindings, Comparator, Condition, Operand, Path } from './syntax.ts';

/** Which sort keys a query takes: `from` and `to` bound a contiguous stretch of the partition. */
export interface SortRange {
  /** Negative for a sort key before the stretch, positive for one after it, zero inside. */
  locate(sortKey: StoredValue): number;
}

interface KeySelection {
  readonly partition: StoredValue;
  readonly range: SortRange | undefined;
}

/**
 * @param schema of the table or index that is queried
 * @throws DynamoFault unless the condition fixes the partition key and says at most one thing about the sort key
 */
export function selectKeys(condition: Condition, schema: KeySchema, bindings: Bindings): KeySelection {
  const terms = new Map<string, Term>();
  for (const part of conjuncts(condition)) {
    const term = termOf(part, bindings);
    if (terms.has(term.attribute)) {
      throw validationFault('KeyConditionExpressions must only contain one condition per key');
    }
    terms.set(term.attribute, term);
  }
  const partition = terms.get(schema.partition.name);
  const sort = schema.sort === undefined ? undefined : terms.get(schema.sort.name);
  const understood = (partition === undefined ? 0 : 1) + (sort === undefined ? 0 : 1);
  if (partition === undefined || understood < terms.size) {
    throw validationFault(`Query condition missed key schema element: ${schema.partition.name}`);
  }
  if (partition.operator !== '=') throw validationFault('Query key condition not supported');
  requireKeyValues(partition, schema.partition);
  if (sort !== undefined && schema.sort !== undefined) requireKeyValues(sort, schema.sort);
  return {
    partition: partition.values[0],
    range: sort === undefined ? undefined : rangeOf(sort),
  };
}

type Operator = Exclude<Comparator, '<>'> | 'BETWEEN' | 'begins_with';

/** One attribute against one value, or two for `BETWEEN`. */
interface Term {
  readonly attribute: string;
  readonly operator: Operator;
  readonly values: readonly [StoredValue, ...StoredValue[]];
}

function conjuncts(condition: Condition): Condition[] {
  return condition.kind === 'and' ? [...conjuncts(condition.left), ...conjuncts(condition.right)] : [condition];
}

const MIRRORED: Readonly<Record<Exclude<Comparator, '<>'>, Operator>> = {
  '=': '=',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
};

function termOf(condition: Condition, bindings: Bindings): Term {
  switch (condition.kind) {
    case 'compare': {
      const { comparator, left, right } = condition;
      if (comparator === '<>') throw invalidOperator('<>');
      return left.kind === 'value'
        ? term(right, MIRRORED[comparator], [left], bindings)
        : term(left, comparator, [right], bindings);
    }
    case 'between':
      return term(condition.operand, 'BETWEEN', [condition.low, condition.high], bindings);
    case 'predicate': {
      const [first, second] = condition.operands;
      if (condition.predicate !== 'begins_with' || second === undefined) throw invalidOperator(condition.predicate);
      return term(first, 'begins_with', [second], bindings);
    }
    case 'in':
    case 'or':
    case 'not':
    case 'and':
      throw invalidOperator(condition.kind.toUpperCase());
  }
}

function term(
  attribute: Operand,
  operator: Operator,
  operands: readonly [Operand, ...Operand[]],
  bindings: Bindings,
): Term {
  if (attribute.kind === 'size' || operands.some((operand) => operand.kind === 'size')) {
    throw validationFault('KeyConditionExpressions cannot contain nested operations');
  }
  if (attribute.kind !== 'path') throw validationFault('Invalid condition in KeyConditionExpression');
  const [first, ...others] = operands.map((operand) => valueOf(operand, bindings));
  if (first === undefined) throw validationFault('Invalid condition in KeyConditionExpression');
  return { attribute: attributeOf(attribute, bindings), operator, values: [first, ...others] };
}

function attributeOf(path: Path, { names }: Bindings): string {
  const name = nameOf(path.steps[0], names);
  if (path.steps.length === 1) return name;
  throw validationFault(
    `Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: ${name}`,
  );
}

function valueOf(operand: Operand, { values }: Bindings): StoredValue {
  const value = operand.kind === 'value' ? values[operand.placeholder] : undefined;
  if (value !== undefined) return value;
  throw validationFault('Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition');
}

function requireKeyValues({ values }: Term, key: KeyAttribute): void {
  for (const value of values) {
    if (typeOf(value) !== key.type) {
      throw validationFault(
        'One or more parameter values were invalid: Condition parameter type does not match schema type',
      );
    }
    if (value === '' || (value instanceof Uint8Array && value.length === 0)) {
      throw validationFault(
        'One or more parameter values are not valid. ' +
          `The AttributeValue for a key attribute cannot contain an empty string value. Key: ${key.name}`,
      );
    }
  }
}

function rangeOf({ operator, values }: Term): SortRange {
  const [first, last = first] = values;
  switch (operator) {
    case '=':
      return { locate: (key) => order(key, first) };
    case '<':
      return { locate: (key) => (order(key, first) < 0 ? 0 : 1) };
    case '<=':
      return { locate: (key) => (order(key, first) <= 0 ? 0 : 1) };
    case '>':
      return { locate: (key) => (order(key, first) > 0 ? 0 : -1) };
    case '>=':
      return { locate: (key) => (order(key, first) >= 0 ? 0 : -1) };
    case 'BETWEEN':
      return { locate: (key) => (order(key, first) < 0 ? -1 : order(key, last) > 0 ? 1 : 0) };
    case 'begins_with':
      return { locate: (key) => (startsWith(key, first) ? 0 : order(key, first)) };
  }
}

function invalidOperator(operator: string): Error {
  return validationFault(`Invalid operator used in KeyConditionExpression: ${operator}`);
}

/** Keys of one table have one type, so they always have an order. */
function order(left: StoredValue, right: StoredValue): number {
  return compareValues(left, right) ?? 0;
}

function startsWith(key: StoredValue, prefix: StoredValue): boolean {
  if (typeof key === 'string') return key.startsWith(prefix as string);
  return key instanceof Uint8Array && Buffer.from(key).indexOf(prefix as Uint8Array) === 0;
}
