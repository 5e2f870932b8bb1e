/** Checks of an update before any item is read: the types of its values. */
import type { AttributeType } from '../attribute-value.ts';
import { typedOperands } from './condition-rules.ts';
import type { Rule, UpdateAction, UpdateOperand } from './syntax.ts';

const ADDABLE: ReadonlySet<AttributeType> = new Set(['N', 'SS', 'NS', 'BS']);
const DELETABLE: ReadonlySet<AttributeType> = new Set(['SS', 'NS', 'BS']);
const NUMBER: ReadonlySet<AttributeType> = new Set(['N']);
const LIST: ReadonlySet<AttributeType> = new Set(['L']);

export function actionRules(action: UpdateAction): Rule[] {
  switch (action.kind) {
    case 'add':
      return valueTypes('ADD', ADDABLE, [action.value]);
    case 'delete':
      return valueTypes('DELETE', DELETABLE, [action.value]);
    case 'set':
      return action.value.kind === 'sum'
        ? valueTypes(action.value.sign, NUMBER, [action.value.left, action.value.right])
        : [];
    case 'remove':
      return [];
  }
}

export function appendRules(first: UpdateOperand, second: UpdateOperand): Rule[] {
  return valueTypes('list_append', LIST, [first, second]);
}

function valueTypes(operator: string, allowed: ReadonlySet<AttributeType>, operands: readonly UpdateOperand[]): Rule[] {
  return typedOperands('UpdateExpression', operator, allowed, operands);
}
