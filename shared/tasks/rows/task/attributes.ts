/**
 * The task row, continued: attributes that are maps, or come in pairs, and those of options that a task keeps:
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | label | S, at most 64 bytes | what its caller calls it; absent: nothing | enqueue; set or removed by replace, renew, promote |
 * | traceparent | S | the context of the span that enqueued it, or that its caller gave | enqueue; set or removed by replace, renew, promote |
 * | policy | M: maxAttempts, timeoutMs | overrides of its definition's policy; absent: none | enqueue; set or removed by replace, renew, promote |
 */
import { defined } from '../../../core/defined.ts';
import type { KeyLimit } from '../../task/key-limit.ts';
import { LABEL_LIMIT_BYTES, TRACEPARENT_LIMIT_CHARACTERS } from '../../task/task-request.ts';
import type { NewPayload, NewTask } from '../../task/task-store.ts';
import type { KeptOptions, Occurrence, TaskKey, TaskPolicy, TaskRecord } from '../../task/task.ts';
import type { ItemReader } from '../../../dynamo/engine/item-reader.ts';
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

export type OptionAttributes = Readonly<Record<'expiresAt' | 'key' | 'payload' | keyof KeptOptions, unknown>>;

/** The attributes of a request's options. Enqueue writes the given ones. Other work for a task also removes the rest. */
export function optionAttributes({
  queue,
  tenant,
  expiresAt,
  links,
  payload,
  label,
  traceparent,
  policy,
}: Omit<NewTask, 'id' | 'name' | 'input' | 'priority' | 'runAt' | 'payload'> & {
  readonly payload?: Omit<NewPayload, 'text'> | undefined;
}): OptionAttributes {
  return {
    expiresAt,
    key: links?.concurrency && keyAttribute({ queue, tenant }, links.concurrency),
    payload: payload && payloadAttribute(payload),
    label,
    traceparent,
    policy: policy && defined({ maxAttempts: policy.maxAttempts, timeoutMs: policy.timeoutMs }),
  };
}

/** Follows a `REMOVE` clause of a write that gives a task other work: its journal, if it has one. */
export function andForget(journal: TaskRecord['journal']): string {
  return journal === undefined ? '' : ', #journal, #journalPart, #open, #beats';
}

/** The first of the tasks that a commit has spawned, and how many there are. Those of its own queue without its name. */
export function spawnedAttribute(own: string, children: readonly TaskKey[]): Attribute {
  const first = children.slice(0, SPAWNED_SHOWN).map(({ queue, id }) => (queue === own ? { id } : { queue, id }));
  return { count: children.length, first };
}

const SPAWNED_SHOWN = 10;

/** @throws CorruptItemError */
export function keptOptionsIn(row: ItemReader): KeptOptions {
  return {
    ...(row.has('label') && { label: row.shortString('label', LABEL_LIMIT_BYTES) }),
    traceparent: row.optional('traceparent', (attribute) => row.shortString(attribute, TRACEPARENT_LIMIT_CHARACTERS)),
    policy: row.optional('policy', (attribute) => decodePolicy(row, attribute)),
  };
}

function decodePolicy(row: ItemReader, attribute: string): TaskPolicy {
  const { maxAttempts, timeoutMs } = row.map(attribute);
  const isCount = (value: unknown): boolean =>
    value === undefined || (Number.isSafeInteger(value) && Number(value) > 0);
  if (!isCount(maxAttempts) || !isCount(timeoutMs))
    throw row.corrupt(attribute, 'should hold a number of attempts, or the milliseconds of one');
  return {
    ...(maxAttempts === undefined ? {} : { maxAttempts: Number(maxAttempts) }),
    ...(timeoutMs === undefined ? {} : { timeoutMs: Number(timeoutMs) }),
  };
}

export function occurrenceAttribute({ name, at, since }: Occurrence): Attribute {
  return since === undefined ? { name, at } : { name, at, since };
}

function payloadAttribute({ bytes, digest, reference, nonce }: Omit<NewPayload, 'text'>): Attribute {
  return { bytes, digest, ...defined({ reference, nonce }) };
}
