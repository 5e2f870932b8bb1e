/** Which items a step may change. */
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import { keyNames } from '../../../shared/testing/simulated-dynamo/table-definition.ts';
import type { Step } from './requests.ts';
import { PROGRAM_TABLES } from './tables.ts';

interface Write {
  readonly TableName: string;
  readonly Key: DynamoItem;
  /** Only an update has one. */
  readonly expression: string | undefined;
}

/** None for a read. */
export function writesOf(step: Step): Write[] {
  if (step.kind === 'get' || step.kind === 'batchGet' || step.kind === 'query') return [];
  const { TransactItems } = step.input as { readonly TransactItems?: readonly object[] };
  const actions = TransactItems?.flatMap((action) => Object.values(action) as object[]) ?? [step.input];
  return actions.map((action) => {
    const { TableName, Key, Item, UpdateExpression } = action as {
      readonly TableName: string;
      readonly Key?: DynamoItem;
      readonly Item?: DynamoItem;
      readonly UpdateExpression?: string;
    };
    return { TableName, Key: Key ?? keyOf(TableName, Item ?? {}), expression: UpdateExpression };
  });
}

/** @param table under the name of any lane */
export function keyOf(table: string, item: DynamoItem): DynamoItem {
  const definition = PROGRAM_TABLES.find((known) => table.endsWith(`-${known.definition.name}`))?.definition;
  const names = definition === undefined ? [] : keyNames(definition);
  return Object.fromEntries(names.filter((name) => name in item).map((name) => [name, item[name]]));
}
