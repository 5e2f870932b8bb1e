/**
 * `leasehold/edge`: the same leases for isolates at the edge, which have `fetch` and WebCrypto only.
 *
 * `createLeasehold` has everything.
 * For a small bundle, import `connect` and only the parts that you need: `lockSession`, `enqueuer`, `callbacks`, `getTask`.
 * @see docs/edge.md
 */
export { EdgeLeasehold, createLeasehold } from '../shared/client/edge/edge-leasehold.ts';
export { connect } from '../shared/client/edge/edge-connection.ts';
export type { EdgeConnection, EdgeOptions } from '../shared/client/edge/edge-connection.ts';
export { Enqueuer, callbacks, enqueuer, getTask } from '../shared/client/edge/enqueuer.ts';
export type { AddOptions } from '../shared/client/edge/enqueuer.ts';
export { lockSession } from '../shared/client/edge/edge-sessions.ts';
export type { EdgeSessionSettings } from '../shared/client/edge/edge-sessions.ts';
export type { CredentialProvider, TemporaryCredentials } from '../shared/dynamo/wire/kept-credentials.ts';

export {
  ClockSkewError,
  ConfigurationError,
  CorruptItemError,
  InvariantError,
  LeaseLostError,
  MismatchError,
  StoreUnavailableError,
} from '../shared/core/errors.ts';
export { CommitRefusedError, InvalidInputError } from '../shared/tasks/task/control.ts';
export type { WriteRefusal } from '../shared/tasks/task/control.ts';
export type { OwnWrites } from '../shared/tasks/task/user-writes.ts';
export type { UserWrite } from '../shared/tasks/task/task-store.ts';
export { LockUnavailableError } from '../shared/coordination/lock/lock-record.ts';
export { SemaphoreFullError } from '../shared/coordination/semaphore/semaphore-contender.ts';
export { Fence } from '../shared/core/lease/fence.ts';
export type { FenceStamp, Fencing } from '../shared/core/lease/fence.ts';
export { dynamoFence } from '../shared/dynamo/dynamo-fence.ts';
export type { DynamoFence } from '../shared/dynamo/dynamo-fence.ts';
export type { Session } from '../shared/client/session.ts';
export type { LockSession } from '../shared/coordination/lock/lock-session.ts';
export type { Lock } from '../shared/coordination/lock/lock.ts';
export type { Enqueued } from '../shared/tasks/queue/task-adder.ts';
export type { Callbacks } from '../shared/tasks/durable/callbacks.ts';
export type { TaskClient } from '../shared/client/task-client.ts';
export type { RateLimiter, Take } from '../shared/coordination/ratelimit/rate-limiter.ts';
export type { Verification } from '../shared/session/session-contender.ts';
