/** The task row, continued: attributes that are maps. */
import type { KeyLimit } from '../../task/key-limit.ts';
import type { NewPayload } from '../../task/store.ts';
import type { TaskPolicy } from '../../task/task.ts';

type Attribute = Readonly<Record<string, unknown>>;

export function keyAttribute({ key, limit, rate }: KeyLimit): Attribute {
  return rate === undefined ? { key, limit } : { key, limit, count: rate.count, perMs: rate.perMs };
}

export function policyAttribute({ maxAttempts, timeoutMs }: TaskPolicy): Attribute {
  return {
    ...(maxAttempts === undefined ? {} : { maxAttempts }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  };
}

export function payloadAttribute({ bytes, digest, reference }: NewPayload, nonce: string): Attribute {
  return reference === undefined ? { bytes, digest, nonce } : { bytes, digest, reference };
}
