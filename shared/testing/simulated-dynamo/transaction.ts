/**
 * TransactWriteItems, atomically.
 *
 * An invalid request is a fault, as anywhere.
 * An invalid key or item of an action cancels the transaction, which names only the first such action,
 * because no guard has been evaluated yet.
 * Guards and effects are then evaluated for every action, and each failure is named.
 */
import type { ConsumedCapacity } from '@aws-sdk/client-dynamodb';
import { inTransaction, replayUnits, writeUnits } from '../../dynamo/engine/capacity.ts';
import type { WriteUnits } from '../../dynamo/engine/capacity.ts';
import type { CancellationReason, DynamoCalls } from '../../dynamo/engine/driver.ts';
import { DynamoFault } from '../../dynamo/engine/driver.ts';
import { reportDetail, transactionReport } from './capacity-reports.ts';
import type { ReportDetail } from './capacity-reports.ts';
import { canceledFault, constraintFault, missingFault, validationFault } from './fault.ts';
import type { CompletedTransaction } from './idempotency-tokens.ts';
import { keyProblem } from './keys.ts';
import type { Decision, PlannedWrite } from './planned-write.ts';
import { decide, planCheck, planDelete, planPut, planUpdate } from './planned-write.ts';
import type { Store } from './store.ts';
import { tableOf } from './store.ts';

type Input = DynamoCalls['transactWrite']['input'];
type Output = DynamoCalls['transactWrite']['output'];
type Action = NonNullable<Input['TransactItems']>[number];

const MOST_ACTIONS = 100;
const LARGEST_PAYLOAD_BYTES = 4 * 1024 * 1024;
const LONGEST_TOKEN = 36;

export function transactWrite(store: Store, input: Input): Output {
  const detail = reportDetail(input.ReturnConsumedCapacity);
  const { ClientRequestToken: token, TransactItems: actions = [] } = input;
  const plans = planAll(store, actions);
  requireToken(token);
  const earlier = token === undefined ? undefined : store.tokens.find(token, actions);
  if (earlier !== undefined) return replay(earlier, detail);

  cancelForProblem(plans);
  const decisions = decideAll(plans);
  for (const [at, plan] of plans.entries()) {
    const decision = decisions[at];
    if (decision !== undefined) plan.table.write(decision.before, decision.after);
  }
  if (token !== undefined) store.tokens.remember(token, actions, completed(plans, decisions));
  return charged(detail, 'WriteCapacityUnits', unitsByTable(plans, decisions));
}

function planAll(store: Store, actions: readonly Action[]): PlannedWrite[] {
  if (actions.length === 0 || actions.length > MOST_ACTIONS) {
    const bound = actions.length === 0 ? 'greater than or equal to 1' : `less than or equal to ${MOST_ACTIONS}`;
    throw constraintFault("Value at 'transactItems'", `Member must have length ${bound}`);
  }
  const plans = actions.map((action) => planAction(store, action));
  requireDistinct(plans);
  const payload = plans.reduce((sum, plan) => sum + plan.payloadBytes(), 0);
  if (payload > LARGEST_PAYLOAD_BYTES) {
    throw validationFault('Transaction payload size cannot exceed 4 MB');
  }
  return plans;
}

function planAction(store: Store, action: Action): PlannedWrite {
  const { Put, Update, Delete, ConditionCheck } = action;
  const given = [Put, Update, Delete, ConditionCheck].filter((part) => part !== undefined);
  if (given.length !== 1) {
    throw validationFault('TransactItems can only contain one of Check, Put, Update or Delete');
  }
  if (Put !== undefined) return planPut(tableOf(store, Put.TableName), Put);
  if (Update !== undefined) {
    if (Update.UpdateExpression === undefined) {
      throw missingFault('transactItems.member.update.updateExpression');
    }
    return planUpdate(tableOf(store, Update.TableName), Update);
  }
  if (Delete !== undefined) return planDelete(tableOf(store, Delete.TableName), Delete);
  return planCheck(tableOf(store, ConditionCheck?.TableName), ConditionCheck ?? {});
}

function requireDistinct(plans: readonly PlannedWrite[]): void {
  // An invalid key does not identify an item, and cancels later.
  const sound = plans.filter(
    ({ problem, table, key }) => problem === undefined || keyProblem(table.definition, key) === undefined,
  );
  const items = sound.map(({ table, key }) => `${table.definition.name}\u0000${table.rows.identityText(key)}`);
  if (new Set(items).size === sound.length) return;
  throw validationFault('Transaction request cannot include multiple operations on one item');
}

function requireToken(token: string | undefined): void {
  if (token === undefined || token.length <= LONGEST_TOKEN) return;
  throw constraintFault(
    `Value '${token}' at 'clientRequestToken'`,
    `Member must have length less than or equal to ${LONGEST_TOKEN}`,
  );
}

const NO_REASON: CancellationReason = { code: 'None' };

function cancelForProblem(plans: readonly PlannedWrite[]): void {
  const first = plans.findIndex((plan) => plan.problem !== undefined);
  if (first === -1) return;
  const reasons = plans.map(({ problem }, at) =>
    at === first ? { code: 'ValidationError', message: problem } : NO_REASON,
  );
  throw canceledFault(reasons);
}

/** @throws DynamoFault naming every action that cannot be done */
function decideAll(plans: readonly PlannedWrite[]): Decision[] {
  const decisions: Decision[] = [];
  const reasons = plans.map((plan) => {
    try {
      decisions.push(decide(plan));
      return NO_REASON;
    } catch (fault) {
      if (fault instanceof DynamoFault) return reasonOf(fault);
      throw fault;
    }
  });
  if (decisions.length === plans.length) return decisions;
  throw canceledFault(reasons);
}

function reasonOf({ kind, message, item }: DynamoFault): CancellationReason {
  return { code: kind === 'conditionFailed' ? 'ConditionalCheckFailed' : 'ValidationError', message, item };
}

function completed(plans: readonly PlannedWrite[], decisions: readonly Decision[]): CompletedTransaction {
  return {
    items: plans.map(({ table }, at) => ({
      table: table.definition.name,
      bytes: Math.max(decisions[at]?.before?.bytes ?? 0, decisions[at]?.after?.bytes ?? 0),
    })),
  };
}

function unitsByTable(plans: readonly PlannedWrite[], decisions: readonly Decision[]): Map<string, WriteUnits> {
  const byTable = new Map<string, WriteUnits>();
  for (const [at, { table }] of plans.entries()) {
    const units = inTransaction(writeUnits(table.shape, decisions[at]?.before, decisions[at]?.after));
    const sum = byTable.get(table.definition.name);
    byTable.set(table.definition.name, sum === undefined ? units : added(sum, units));
  }
  return byTable;
}

function added(left: WriteUnits, right: WriteUnits): WriteUnits {
  const indexes = { ...left.indexes };
  for (const [name, units] of Object.entries(right.indexes)) indexes[name] = (indexes[name] ?? 0) + units;
  return { table: left.table + right.table, indexes };
}

function replay({ items }: CompletedTransaction, detail: ReportDetail): Output {
  const reads = new Map<string, WriteUnits>();
  for (const { table, bytes } of items) {
    const units = (reads.get(table)?.table ?? 0) + replayUnits(bytes);
    reads.set(table, { table: units, indexes: {} });
  }
  return charged(detail, 'ReadCapacityUnits', reads);
}

function charged(
  detail: ReportDetail,
  capacity: 'WriteCapacityUnits' | 'ReadCapacityUnits',
  unitsOfTables: ReadonlyMap<string, WriteUnits>,
): Output {
  const reports: ConsumedCapacity[] = [];
  for (const [table, units] of unitsOfTables) {
    const report = transactionReport(detail, capacity, table, units);
    if (report !== undefined) reports.push(report);
  }
  return reports.length === 0 ? {} : { ConsumedCapacity: reports };
}
