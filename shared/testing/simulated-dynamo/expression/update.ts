/**
 * Applies an update to an item.
 *
 * All values are computed from the item before the update; then all changes are made at once.
 * The result shares everything unchanged with the item before.
 */
import type { StoredItem, StoredMap, StoredSet, StoredValue } from '../attribute-value.ts';
import { hasElement, isList, isNumber, isSet, typeOf } from '../attribute-value.ts';
import { addNumbers, subtractNumbers } from '../exact-number.ts';
import { validationFault } from '../fault.ts';
import type { Edit, Edits } from './edit.ts';
import { applyEdits, KEEP, plantEdit, REMOVE, withEdits } from './edit.ts';
import { isNested, nameOf, resolvedSteps, valueAt } from './path.ts';
import type { Bindings, Path, UpdateAction, UpdateOperand, UpdateValue } from './syntax.ts';

/**
 * @param before nothing if the item does not exist
 * @param key the attributes that a new item starts with
 * @returns nothing if there was no item and only removals were asked for: those create none
 * @throws DynamoFault for a missing operand, a wrong type, or a path that leads nowhere
 */
export function updated(
  before: StoredItem | undefined,
  key: StoredItem,
  actions: readonly UpdateAction[],
  bindings: Bindings,
): StoredItem | undefined {
  const onlyRemoves = actions.length > 0 && actions.every(({ kind }) => kind === 'remove' || kind === 'delete');
  if (before === undefined && onlyRemoves) return undefined;
  const subject: Subject = { item: before ?? key, bindings };
  const changes = actions.map((action): Change => ({ path: action.path, edit: editOf(action, subject) }));
  const { names } = bindings;
  if (!changes.some(({ path }) => isNested(path))) {
    // The usual update, of whole attributes, needs no tree.
    return withEdits(
      subject.item,
      changes.map(({ path, edit }) => [nameOf(path.steps[0], names), edit] as const),
    );
  }
  const tree: Edits = new Map();
  for (const { path, edit } of changes) plantEdit(tree, resolvedSteps(path, names), edit);
  return applyEdits(subject.item, tree) as StoredMap;
}

interface Change {
  readonly path: Path;
  readonly edit: Edit;
}

/** The item that values are computed from: the stored item, or the bare key of an item about to be created. */
interface Subject {
  readonly item: StoredItem;
  readonly bindings: Bindings;
}

function editOf(action: UpdateAction, subject: Subject): Edit {
  switch (action.kind) {
    case 'set':
      return valueOf(action.value, subject);
    case 'remove':
      return REMOVE;
    case 'add':
      return sumOrUnion(currentValue(action.path, subject), brought(action.value.placeholder, subject));
    case 'delete':
      return difference(currentValue(action.path, subject), brought(action.value.placeholder, subject));
  }
}

function valueOf(value: UpdateValue, subject: Subject): StoredValue {
  if (value.kind !== 'sum') return operandOf(value, subject);
  const left = operandOf(value.left, subject);
  const right = operandOf(value.right, subject);
  if (!isNumber(left) || !isNumber(right)) throw incorrectType();
  return value.sign === '+' ? addNumbers(left, right) : subtractNumbers(left, right);
}

function operandOf(operand: UpdateOperand, subject: Subject): StoredValue {
  switch (operand.kind) {
    case 'value':
      return brought(operand.placeholder, subject);
    case 'path': {
      const value = currentValue(operand, subject);
      if (value !== undefined) return value;
      throw validationFault('The provided expression refers to an attribute that does not exist in the item');
    }
    case 'ifNotExists': {
      // The other operand is always computed, and may fail even if it is not needed.
      const otherwise = operandOf(operand.otherwise, subject);
      return orElse(currentValue(operand.path, subject), otherwise);
    }
    case 'listAppend': {
      const first = operandOf(operand.first, subject);
      const second = operandOf(operand.second, subject);
      if (!isList(first) || !isList(second)) throw incorrectType();
      return [...first, ...second];
    }
  }
}

function currentValue(path: Path, { item, bindings }: Subject): StoredValue | undefined {
  return valueAt(item, path, bindings.names);
}

function sumOrUnion(value: StoredValue | undefined, addition: StoredValue): Edit {
  if (value === undefined) return addition;
  if (isNumber(value) && isNumber(addition)) return addNumbers(value, addition);
  if (!isSet(value) || !isSet(addition) || typeOf(value) !== typeOf(addition)) throw incorrectType();
  return new Set([...value, ...[...addition].filter((element) => !hasElement(value, element))]);
}

function difference(value: StoredValue | undefined, removal: StoredValue): Edit {
  if (value === undefined) return KEEP;
  if (!isSet(value) || !isSet(removal) || typeOf(value) !== typeOf(removal)) throw incorrectType();
  const rest: StoredSet = new Set([...value].filter((element) => !hasElement(removal, element)));
  return rest.size === 0 ? REMOVE : rest;
}

/** The bindings were checked against the expression before. */
function brought(placeholder: string, { bindings }: Subject): StoredValue {
  return orElse(bindings.values[placeholder], null);
}

/** Unlike `??`, takes null for the value that it is. */
function orElse(value: StoredValue | undefined, otherwise: StoredValue): StoredValue {
  return value === undefined ? otherwise : value;
}

function incorrectType(): Error {
  return validationFault('An operand in the update expression has an incorrect data type');
}
