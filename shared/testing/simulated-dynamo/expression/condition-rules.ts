/**
 * Checks of a condition before any item is read: operand types, distinct operands, ordered bounds.
 * The parser collects the rules once; they run with every request, because only a request has the values.
 */
import type { AttributeType, StoredValue } from '../attribute-value.ts';
import { compareValues, typeOf } from '../attribute-value.ts';
import { isSamePath } from './path.ts';
import type { Bindings, Condition, Operand, Rule, SizeOf, UpdateOperand } from './syntax.ts';
import type { ExpressionKind } from './token.ts';
import { expressionFault } from './token.ts';

const ORDERED: ReadonlySet<AttributeType> = new Set(['S', 'N', 'B']);
const PREFIXES: ReadonlySet<AttributeType> = new Set(['S', 'B']);
const SIZED: ReadonlySet<AttributeType> = new Set(['S', 'B', 'L', 'M', 'SS', 'NS', 'BS']);
const TEXT: ReadonlySet<AttributeType> = new Set(['S']);
const TYPE_NAMES = ['N', 'BS', 'L', 'B', 'NULL', 'M', 'S', 'SS', 'NS', 'BOOL'];

/** The rules of one node; its parts have theirs. */
export function conditionRules(kind: ExpressionKind, node: Condition | SizeOf): Rule[] {
  switch (node.kind) {
    case 'compare': {
      const distinct = distinctOperands(kind, node.comparator, [node.left, node.right]);
      if (node.comparator === '=' || node.comparator === '<>') return distinct;
      return [...distinct, ...typedOperands(kind, node.comparator, ORDERED, [node.left, node.right])];
    }
    case 'between': {
      const operands = [node.operand, node.low, node.high];
      return [
        ...distinctOperands(kind, 'BETWEEN', operands),
        ...typedOperands(kind, 'BETWEEN', ORDERED, operands),
        ...orderedBounds(kind, node.low, node.high),
      ];
    }
    case 'in':
      return distinctOperands(kind, 'IN', [node.operand, ...node.list]);
    case 'size':
      return typedOperands(kind, 'size', SIZED, [node.of]);
    case 'predicate':
      return predicateRules(kind, node);
    case 'and':
    case 'or':
    case 'not':
      return [];
  }
}

function predicateRules(kind: ExpressionKind, node: Condition & { kind: 'predicate' }): Rule[] {
  const { predicate, operands } = node;
  const [first, second] = operands;
  switch (predicate) {
    case 'attribute_exists':
    case 'attribute_not_exists': {
      if (first.kind === 'path') return [];
      const message = `Operator or function requires a document path; operator or function: ${predicate}`;
      throw expressionFault(kind, message);
    }
    case 'begins_with':
      return [...distinctOperands(kind, predicate, operands), ...typedOperands(kind, predicate, PREFIXES, operands)];
    case 'attribute_type':
      return [
        ...distinctOperands(kind, predicate, operands),
        ...typedOperands(kind, predicate, TEXT, operands.slice(1)),
        ...(second === undefined ? [] : [typeName(kind, second)]),
      ];
    case 'contains':
      return distinctOperands(kind, predicate, operands);
  }
}

/** The first operand must not be among the others. Two equal placeholders for values may be. */
function distinctOperands(kind: ExpressionKind, operator: string, operands: readonly Operand[]): Rule[] {
  const [first, ...others] = operands;
  if (first?.kind !== 'path') return [];
  const paths = others.filter((operand) => operand.kind === 'path');
  if (paths.length === 0) return [];
  return [
    ({ names }) => {
      if (!paths.some((path) => isSamePath(first, path, names))) return;
      throw expressionFault(
        kind,
        'The first operand must be distinct from the remaining operands for this operator or function; ' +
          `operator: ${operator}, first operand: [${first.steps.join('.')}]`,
      );
    },
  ];
}

/** Only what is known before an item is read has a type: values, and sizes, which are numbers. */
export function typedOperands(
  kind: ExpressionKind,
  operator: string,
  allowed: ReadonlySet<AttributeType>,
  operands: readonly (Operand | UpdateOperand)[],
): Rule[] {
  const fault = (type: AttributeType): Error =>
    expressionFault(
      kind,
      'Incorrect operand type for operator or function; ' + `operator or function: ${operator}, operand type: ${type}`,
    );
  if (!allowed.has('N') && operands.some((operand) => operand.kind === 'size')) throw fault('N');
  return operands
    .filter((operand) => operand.kind === 'value')
    .map(({ placeholder }) => ({ values }: Bindings) => {
      const value = values[placeholder];
      if (value !== undefined && !allowed.has(typeOf(value))) throw fault(typeOf(value));
    });
}

function orderedBounds(kind: ExpressionKind, low: Operand, high: Operand): Rule[] {
  if (low.kind !== 'value' || high.kind !== 'value') return [];
  return [
    ({ values }) => {
      const [least, greatest] = [values[low.placeholder], values[high.placeholder]];
      if (least === undefined || greatest === undefined) return;
      const order = compareValues(least, greatest);
      if (order !== undefined && order <= 0) return;
      const requirement =
        order === undefined
          ? 'same data type for lower and upper bounds'
          : 'upper bound to be greater than or equal to lower bound';
      throw expressionFault(
        kind,
        `The BETWEEN operator requires ${requirement}; ` +
          `lower bound operand: ${shown(least)}, upper bound operand: ${shown(greatest)}`,
      );
    },
  ];
}

function typeName(kind: ExpressionKind, operand: Operand): Rule {
  return ({ values }) => {
    const type = operand.kind === 'value' ? values[operand.placeholder] : undefined;
    if (typeof type !== 'string' || TYPE_NAMES.includes(type)) return;
    throw expressionFault(
      kind,
      `Invalid attribute type name found; type: ${type}, valid types: {${TYPE_NAMES.join(',')}}`,
    );
  };
}

function shown(value: StoredValue): string {
  return `AttributeValue: {${typeOf(value)}:${typeof value === 'object' ? '…' : value}}`;
}
