/**
 * `leasehold/edge`: the same leases where there is `fetch` and WebCrypto and nothing else: isolates at the edge.
 *
 * `createLeasehold` has everything.
 * A bundle that must be small takes `connect` and just what it needs: `lockSession`, `enqueuer`, `getTask`.
 * @see docs/edge.md
 */
export { EdgeLeasehold, createLeasehold } from '../shared/edge/leasehold.ts';
export { connect } from '../shared/edge/connection.ts';
export type { EdgeConnection, EdgeOptions } from '../shared/edge/connection.ts';
export { Enqueuer, enqueuer, getTask } from '../shared/edge/enqueuer.ts';
export type { AddOptions } from '../shared/edge/enqueuer.ts';
export { lockSession } from '../shared/edge/sessions.ts';
export type { EdgeSessionSettings } from '../shared/edge/sessions.ts';
export type { CredentialProvider, TemporaryCredentials } from '../shared/dynamo/wire/kept-credentials.ts';

export {
  ClockSkewError,
  ConfigurationError,
  CorruptItemError,
  InvariantError,
  LeaseLostError,
  MismatchError,
  StoreUnavailableError,
} from '../shared/errors.ts';
export { LockUnavailableError } from '../shared/lock/record.ts';
export { SemaphoreFullError } from '../shared/semaphore/contender.ts';
export { Fence, compareStamps } from '../shared/lease/fence.ts';
export type { FenceStamp, Fencing } from '../shared/lease/fence.ts';
export { FENCE_ATTRIBUTES, dynamoFence } from '../shared/dynamo/fence.ts';
export type { DynamoFence } from '../shared/dynamo/fence.ts';
export type { Session } from '../shared/session.ts';
export type { LockSession } from '../shared/lock/lock-session.ts';
export type { Lock } from '../shared/lock/lock.ts';
export type { Enqueued } from '../shared/queue/task-adder.ts';
export type { TaskClient } from '../shared/queue/client.ts';
export type { RateLimiter, Take } from '../shared/ratelimit/limiter.ts';
export type { Verification } from '../shared/session/verify.ts';
