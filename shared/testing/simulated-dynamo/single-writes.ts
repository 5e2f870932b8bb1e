/** Put, update and delete, one item each. */
import { writeUnits } from '../../dynamo/engine/capacity.ts';
import type { DynamoCalls, DynamoItem } from '../../dynamo/engine/driver.ts';
import type { StoredItem } from './attribute-value.ts';
import { reportDetail, writeReport } from './capacity-reports.ts';
import { project } from './expression/projection.ts';
import { validationFault } from './fault.ts';
import { copyItemOut } from './item-copy.ts';
import type { Decision, PlannedWrite } from './planned-write.ts';
import { decide, planDelete, planPut, planUpdate } from './planned-write.ts';
import { oneOf, refuseLegacy } from './request.ts';
import type { Store } from './store.ts';
import { tableOf } from './store.ts';

export function put(store: Store, input: DynamoCalls['put']['input']): DynamoCalls['put']['output'] {
  refuseLegacy(input);
  const returned = oneOf('returnValues', input.ReturnValues, ['NONE', 'ALL_OLD']);
  const plan = planPut(tableOf(store, input.TableName), input);
  return perform(plan, input, ({ before }) => (returned === 'ALL_OLD' ? before?.item : undefined));
}

export function remove(store: Store, input: DynamoCalls['delete']['input']): DynamoCalls['delete']['output'] {
  refuseLegacy(input);
  const returned = oneOf('returnValues', input.ReturnValues, ['NONE', 'ALL_OLD']);
  const plan = planDelete(tableOf(store, input.TableName), input);
  return perform(plan, input, ({ before }) => (returned === 'ALL_OLD' ? before?.item : undefined));
}

const RETURNED_BY_UPDATE = ['NONE', 'ALL_OLD', 'UPDATED_OLD', 'ALL_NEW', 'UPDATED_NEW'] as const;

export function update(store: Store, input: DynamoCalls['update']['input']): DynamoCalls['update']['output'] {
  refuseLegacy(input);
  const returned = oneOf('returnValues', input.ReturnValues, RETURNED_BY_UPDATE);
  const plan = planUpdate(tableOf(store, input.TableName), input);
  return perform(plan, input, ({ before, after }) => {
    switch (returned) {
      case 'ALL_OLD':
        return before?.item;
      case 'ALL_NEW':
        return after?.item;
      case 'UPDATED_OLD':
        return changedPart(plan, before?.item);
      case 'UPDATED_NEW':
        return changedPart(plan, after?.item);
      case 'NONE':
      case undefined:
        return undefined;
    }
  });
}

interface Reporting {
  readonly ReturnConsumedCapacity?: string | undefined;
}

type WriteReply = DynamoCalls['put']['output'];

function perform(
  plan: PlannedWrite,
  request: Reporting,
  returned: (decision: Decision) => StoredItem | undefined,
): WriteReply {
  const detail = reportDetail(request.ReturnConsumedCapacity);
  if (plan.problem !== undefined) throw validationFault(plan.problem);
  const { table } = plan;
  const decision = decide(plan);
  table.write(decision.before, decision.after);
  const units = writeUnits(table.shape, decision.before, decision.after);
  return reply(returned(decision), writeReport(detail, table.definition.name, units));
}

/** The part of an item that an update's paths name: nested attributes without their siblings, lists closed up. */
function changedPart(plan: PlannedWrite, item: StoredItem | undefined): StoredItem | undefined {
  if (item === undefined || plan.changes === undefined) return undefined;
  const { actions, bindings } = plan.changes;
  const paths = actions.map((action) => action.path);
  const part = project(item, paths, bindings.names);
  return Object.keys(part).length === 0 ? undefined : part;
}

function reply(attributes: StoredItem | undefined, capacity: WriteReply['ConsumedCapacity']): WriteReply {
  const output: WriteReply = {};
  if (attributes !== undefined) output.Attributes = copyItemOut(attributes) as Record<string, never> & DynamoItem;
  if (capacity !== undefined) output.ConsumedCapacity = capacity;
  return output;
}
