/**
 * Whether a condition holds for an item.
 *
 * The traps, all of them the service's own:
 * a missing attribute makes every comparison false except `<>`, which it makes true, and `NOT` turns that around;
 * values of different types are never equal and never ordered;
 * an item that does not exist is an item without attributes.
 */
import type { StoredElement, StoredItem, StoredValue } from '../attribute-value.ts';
import { compareValues, hasElement, isEqual, isList, isMap, isSet, typeOf } from '../attribute-value.ts';
import { valueAt } from './path.ts';
import type { Bindings, Comparator, Condition, Operand } from './syntax.ts';

export function holds(condition: Condition, item: StoredItem | undefined, bindings: Bindings): boolean {
  switch (condition.kind) {
    case 'and':
      return holds(condition.left, item, bindings) && holds(condition.right, item, bindings);
    case 'or':
      return holds(condition.left, item, bindings) || holds(condition.right, item, bindings);
    case 'not':
      return !holds(condition.condition, item, bindings);
    case 'compare': {
      const left = evaluate(condition.left, item, bindings);
      const right = evaluate(condition.right, item, bindings);
      return compares(condition.comparator, left, right);
    }
    case 'between': {
      const value = evaluate(condition.operand, item, bindings);
      const low = evaluate(condition.low, item, bindings);
      const high = evaluate(condition.high, item, bindings);
      return compares('>=', value, low) && compares('<=', value, high);
    }
    case 'in': {
      const value = evaluate(condition.operand, item, bindings);
      return condition.list.some((operand) => compares('=', value, evaluate(operand, item, bindings)));
    }
    case 'predicate':
      return holdsPredicate(condition, item, bindings);
  }
}

function holdsPredicate(
  { predicate, operands }: Condition & { kind: 'predicate' },
  item: StoredItem | undefined,
  bindings: Bindings,
): boolean {
  const value = evaluate(operands[0], item, bindings);
  const second = operands[1] === undefined ? undefined : evaluate(operands[1], item, bindings);
  switch (predicate) {
    case 'attribute_exists':
      return value !== undefined;
    case 'attribute_not_exists':
      return value === undefined;
    case 'attribute_type':
      return value !== undefined && typeOf(value) === second;
    case 'begins_with':
      return beginsWith(value, second);
    case 'contains':
      return value !== undefined && second !== undefined && contains(value, second);
  }
}

/** Returns undefined for an attribute that does not exist, and for the size of a value without a size. */
function evaluate(operand: Operand, item: StoredItem | undefined, bindings: Bindings): StoredValue | undefined {
  switch (operand.kind) {
    case 'path':
      return valueAt(item, operand, bindings.names);
    case 'value':
      return bindings.values[operand.placeholder];
    case 'size':
      return sizeOf(evaluate(operand.of, item, bindings));
  }
}

function compares(comparator: Comparator, left: StoredValue | undefined, right: StoredValue | undefined): boolean {
  const areBothThere = left !== undefined && right !== undefined;
  if (comparator === '=') return areBothThere && isEqual(left, right);
  if (comparator === '<>') return !areBothThere || !isEqual(left, right);
  const order = areBothThere ? compareValues(left, right) : undefined;
  if (order === undefined) return false;
  switch (comparator) {
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    case '>=':
      return order >= 0;
  }
}

/** UTF-16 units of a string, bytes of a binary, members of the rest. */
function sizeOf(value: StoredValue | undefined): number | undefined {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return undefined;
  if (value instanceof Uint8Array || isList(value)) return value.length;
  if (isSet(value)) return value.size;
  return isMap(value) ? Object.keys(value).length : undefined;
}

function beginsWith(value: StoredValue | undefined, prefix: StoredValue | undefined): boolean {
  if (typeof value === 'string') return typeof prefix === 'string' && value.startsWith(prefix);
  if (!(value instanceof Uint8Array) || !(prefix instanceof Uint8Array)) return false;
  return prefix.every((byte, at) => value[at] === byte);
}

function contains(value: StoredValue, wanted: StoredValue): boolean {
  if (typeof value === 'string') return typeof wanted === 'string' && value.includes(wanted);
  if (value instanceof Uint8Array)
    return wanted instanceof Uint8Array && Buffer.from(value).includes(Buffer.from(wanted));
  if (isList(value)) return value.some((element) => isEqual(element, wanted));
  return isSet(value) && isElement(wanted) && hasElement(value, wanted);
}

function isElement(value: StoredValue): value is StoredElement {
  const type = typeOf(value);
  return type === 'S' || type === 'N' || type === 'B';
}
