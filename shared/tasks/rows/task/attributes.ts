/** The task row, continued: attributes that are maps, or come in pairs. */
import { defined } from '../../../core/defined.ts';
import type { KeyLimit } from '../../task/key-limit.ts';
import type { NewPayload, NewTask } from '../../task/task-store.ts';
import type { SlotOfTask, TaskKey, TaskPolicy, TaskRecord } from '../../task/task.ts';
import { taskConcurrencyKey } from '../../../dynamo/engine/keys.ts';
import { groupPlace } from './index-places.ts';

type Attribute = Readonly<Record<string, unknown>>;

/** @throws ConfigurationError for a key that cannot have a row or an index entry. Without this check, only a worker would get the error */
export function keyAttribute({ queue, tenant }: Pick<NewTask, 'queue' | 'tenant'>, ofKey: KeyLimit): Attribute {
  const { key, limit, rate } = ofKey;
  taskConcurrencyKey(queue, key);
  groupPlace({ tenant, limit: ofKey }, 0, '');
  return rate === undefined ? { key, limit } : { key, limit, count: rate.count, perMs: rate.perMs };
}

export type OptionAttributes = Readonly<Record<'expiresAt' | 'key' | 'payload' | 'traceparent' | 'policy', unknown>>;

/** The attributes of a request's options. Enqueue writes the given ones. Other work for a task also removes the rest. */
export function optionAttributes(
  {
    queue,
    tenant,
    expiresAt,
    links,
    payload,
    traceparent,
    policy,
  }: Omit<NewTask, 'id' | 'name' | 'input' | 'priority' | 'runAt'>,
  nonce: string,
  { isApart }: { readonly isApart: boolean },
): OptionAttributes {
  return {
    expiresAt,
    key: links?.concurrency && keyAttribute({ queue, tenant }, links.concurrency),
    payload: payload && payloadAttribute(payload, nonce, { isApart }),
    traceparent,
    policy: policy && policyAttribute(policy),
  };
}

/** Follows a `REMOVE` clause of a write that gives a task other work: its journal, if it has one. */
export function andForget(journal: TaskRecord['journal']): string {
  return journal === undefined ? '' : ', #journal, #journalParts, #journalLife, #open, #beats';
}

/** The first of the tasks that a commit has spawned, and how many there are. Those of its own queue without its name. */
export function spawnedAttribute(own: string, children: readonly TaskKey[]): Attribute {
  const first = children.slice(0, SPAWNED_SHOWN).map(({ queue, id }) => (queue === own ? { id } : { queue, id }));
  return { count: children.length, first };
}

const SPAWNED_SHOWN = 10;

export function policyAttribute({ maxAttempts, timeoutMs }: TaskPolicy): Attribute {
  return defined({ maxAttempts, timeoutMs });
}

export function slotAttribute({ name, at, since }: SlotOfTask): Attribute {
  return since === undefined ? { name, at } : { name, at, since };
}

function payloadAttribute(
  { bytes, digest, reference }: NewPayload,
  nonce: string,
  { isApart }: { readonly isApart: boolean },
): Attribute {
  if (reference !== undefined) return { bytes, digest, reference };
  return isApart ? { bytes, digest, nonce, isApart } : { bytes, digest, nonce };
}
