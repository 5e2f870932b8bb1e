/**
 * The fence for your own DynamoDB items; `core/lease/fence.ts` explains its form.
 *
 * Two attributes of the item hold the last stamp that it accepted. Send every write through the fence: a single unfenced write makes all
 * of them unprotected.
 *
 *   const guard = dynamoFence(lock);
 *   const { Attributes } = await documents.send(new UpdateCommand(guard.advance({ TableName, Key })));  // the fence first, and the first
 *   read
 *   await documents.send(new UpdateCommand(guard.update({
 *     TableName, Key, UpdateExpression: 'SET balance = :balance',
 *     ExpressionAttributeValues: { ':balance': Attributes.balance - 10 },
 *   })));
 *
 * A refused condition (`ConditionalCheckFailedException`) means that the holder is superseded, or that an earlier attempt applied this
 * write.
 * `wasApplied` distinguishes them by the item in the exception.
 * Never delete an item while it is fenced, because the fence would go with it.
 */
import type { PutCommandInput, UpdateCommandInput } from '@aws-sdk/lib-dynamodb';
import { ConfigurationError } from '../core/errors.ts';
import type { FenceStamp, Fencing } from '../core/lease/fence.ts';
import { Fence } from '../core/lease/fence.ts';

/** The attributes of the fence. Do not use these names for other attributes. */
export const FENCE_ATTRIBUTES = { counter: 'leaseholdCounter', sequence: 'leaseholdSequence' } as const;

const NAMES = { '#leaseholdCounter': FENCE_ATTRIBUTES.counter, '#leaseholdSequence': FENCE_ATTRIBUTES.sequence };
const IS_NEWER =
  '(attribute_not_exists(#leaseholdCounter) OR #leaseholdCounter < :leaseholdCounter OR ' +
  '(#leaseholdCounter = :leaseholdCounter AND #leaseholdSequence < :leaseholdSequence))';
const STAMP = '#leaseholdCounter = :leaseholdCounter, #leaseholdSequence = :leaseholdSequence';

export interface DynamoFence {
  /** Advances the fence of an item, creates the item if necessary, and returns it. Do this first, and use no earlier read of the item. */
  advance(target: UpdateCommandInput): UpdateCommandInput;
  /** Your update, accepted only from the current holder, and only in the order of creation. */
  update(input: UpdateCommandInput): UpdateCommandInput;
  /** Your put. It replaces the whole item except the fence. */
  put(input: PutCommandInput): PutCommandInput;
  /** Whether the item that refused a write has that write's own stamp, which means that an earlier attempt was applied. */
  wasApplied(input: UpdateCommandInput | PutCommandInput, item: Readonly<Record<string, unknown>> | undefined): boolean;
}

/** @param right a lock, the leadership, a permit, or the context of a running task */
export function dynamoFence(right: Fencing): DynamoFence {
  const fence = new Fence(right);
  return {
    advance: (target) => ({
      ...guarded(target, fence.next()),
      UpdateExpression: `SET ${STAMP}`,
      ReturnValues: 'ALL_NEW',
    }),

    update: (input) => ({ ...guarded(input, fence.next()), UpdateExpression: withStamp(input.UpdateExpression) }),

    put(input) {
      const stamp = fence.next();
      const { counter, sequence } = FENCE_ATTRIBUTES;
      return {
        ...guarded(input, stamp),
        Item: { ...input.Item, [counter]: stamp.counter, [sequence]: stamp.sequence },
      };
    },

    wasApplied(input, item) {
      const { ':leaseholdCounter': counter, ':leaseholdSequence': sequence } = input.ExpressionAttributeValues ?? {};
      return item?.[FENCE_ATTRIBUTES.counter] === counter && item?.[FENCE_ATTRIBUTES.sequence] === sequence;
    },
  };
}

type Guardable = Pick<
  UpdateCommandInput,
  'ConditionExpression' | 'ExpressionAttributeNames' | 'ExpressionAttributeValues'
>;

function guarded<Input extends Guardable>(input: Input, stamp: FenceStamp) {
  const { ConditionExpression: own, ExpressionAttributeNames: names, ExpressionAttributeValues: values } = input;
  return {
    ...input,
    ConditionExpression: own === undefined ? IS_NEWER : `(${own}) AND ${IS_NEWER}`,
    ExpressionAttributeNames: { ...names, ...NAMES },
    ExpressionAttributeValues: { ...values, ':leaseholdCounter': stamp.counter, ':leaseholdSequence': stamp.sequence },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
  };
}

/** An update expression can have each clause only once, so the stamp is added to an existing SET. */
function withStamp(expression: string | undefined): string {
  if (expression === undefined || expression.trim() === '')
    throw new ConfigurationError('a fenced update has no UpdateExpression: use advance() to move the fence alone');
  const set = /(^|\s)SET\s/i;
  return set.test(expression) ? expression.replace(set, `$1SET ${STAMP}, `) : `${expression} SET ${STAMP}`;
}
