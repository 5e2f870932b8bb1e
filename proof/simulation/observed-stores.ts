/** The store ports, with every write recorded: the request, its session, and the caller's response. */
import { ConfigurationError, StoreUnavailableError } from '../../shared/core/errors.ts';
import * as keys from '../../shared/dynamo/engine/keys.ts';
import type { LockClaim } from '../../shared/coordination/lock/lock-record.ts';
import type { LockStore } from '../../shared/coordination/lock/lock-store.ts';
import type { SessionStore } from '../../shared/session/session-store.ts';
import type { TaskOperatorStore } from '../../shared/tasks/task/task-operator-store.ts';
import type { Stamp } from '../../shared/core/lease/write.ts';
import type { AnsweringStore, JournalStore } from '../../shared/tasks/durable/journal-store.ts';
import type { Claim, TaskKey } from '../../shared/tasks/task/task.ts';
import type { SimulatedProcess } from '../../test/support/machines/process.ts';
import type { Returned } from './history.ts';
import type { Call, Recorder } from './recorder.ts';
import { sessionRow } from './recorder.ts';
import { rowName } from './rows.ts';

/** Some writes do not report their earlier attempts. */
interface Answer {
  readonly kind: 'applied' | 'canceled' | 'refused';
  readonly earlierAttempt?: 'none' | 'unknown';
  readonly full?: object;
}

/** By write of a store: the call that is recorded. */
type Calls<Store> = {
  readonly [Verb in keyof Store]?: Store[Verb] extends (...given: infer Given) => Promise<Answer>
    ? (...given: Given) => Call
    : never;
};

type Watch<Store> = (store: Store, process: SimulatedProcess, recorder: Recorder) => Store;

/** Records these calls; the others of the store are as before. */
export function recording<Store extends object>(calls: Calls<Store>): Watch<Store> {
  return (store, process, recorder) => {
    const write = writerOf(process, recorder);
    const send = store as Readonly<Record<string, (...given: unknown[]) => Promise<Answer>>>;
    const recorded = Object.entries(calls as Readonly<Record<string, (...given: unknown[]) => Call>>).map(
      ([verb, callOf]) =>
        [verb, (...given: unknown[]) => write(callOf(...given), () => send[verb]!(...given))] as const,
    );
    return { ...store, ...Object.fromEntries(recorded) };
  };
}

export const observeSessions = recording<SessionStore>({
  create: ({ id, nonce, now }) => ({ verb: 'session.create', row: sessionRow(id), nonce, now }),
  renew: ({ id, nonce, now }) => ({ verb: 'session.renew', row: sessionRow(id), nonce, now, session: id }),
  expire: ({ observed, nonce }) => ({ verb: 'session.expire', row: sessionRow(observed.id), nonce }),
  invalidate: ({ id, nonce }) => ({ verb: 'session.invalidate', row: sessionRow(id), nonce }),
});

const observeWrites = recording<AnsweringStore>({
  enqueue: (task, stamp) => ofTask('task.enqueue', task, stamp),
  enqueueWith: (task, _writes, stamp) => ofTask('task.enqueue', task, stamp),
  replace: (observed, _task, stamp) => ofTask('task.replace', observed, stamp),
  follow: (observed, _task, stamp) => ofTask('task.follow', observed, stamp),
  renew: (observed, _task, stamp) => ofTask('task.renew', observed, stamp),
  createBatch: ({ queue, id }, _callback, { nonce }) => ({
    verb: 'batch.create',
    row: keys.batchKey(queue, id).pk,
    nonce,
  }),
  keepFailure: ({ queue, id }, _stack, { nonce }) => ({
    verb: 'failure.keep',
    row: keys.failureKey(queue, id).pk,
    nonce,
  }),
  claim: (observed, session, stamp) => ({ ...ofTask('task.claim', observed, stamp), session }),
  takeOver: (observed, session, stamp) => ({ ...ofTask('task.takeOver', observed, stamp), session }),
  markDead: (observed, _error, stamp) => ofTask('task.markDead', observed, stamp),
  complete: (claim, _result, stamp) => byHolder('task.complete', claim, stamp),
  commit: (claim, _result, _effects, stamp) => byHolder('task.commit', claim, stamp),
  retry: (claim, _failure, stamp) => byHolder('task.retry', claim, stamp),
  discard: (claim, _error, stamp) => byHolder('task.discard', claim, stamp),
  release: (claim, stamp) => byHolder('task.release', claim, stamp),
  waitForChildren: (claim, _batch, _children, stamp) => byHolder('task.wait', claim, stamp),
  giveUp: (claim, _reason, stamp) => byHolder('task.giveUp', claim, stamp),
  snooze: (claim, _readyAt, stamp) => byHolder('task.snooze', claim, stamp),
  bar: (claim, stamp) => byHolder('task.bar', claim, stamp),
  progress: (claim, _progress, stamp) => byHolder('task.progress', claim, stamp),
  cancel: (observed, _cancellation, stamp) => ofTask('task.cancel', observed, stamp),
  expire: (observed, stamp) => ofTask('task.expire', observed, stamp),
  join: (observed, stamp) => ofTask('task.join', observed, stamp),
  passTurn: (observed, stamp) => ofTask('task.leaveLine', observed, stamp),
  arrive: (task, _arrival, stamp) => ofTask('task.arrive', task, stamp),
});

export const observeJournals = recording<JournalStore>({
  checkpoint: (claim, { seen }, stamp) => ({ ...byHolder('task.checkpoint', claim, stamp), seen }),
  suspend: (claim, { seen }, stamp) => ({ ...byHolder('task.suspend', claim, stamp), seen }),
  end: (claim, _elements, { error }, stamp) =>
    byHolder(error === undefined ? 'task.complete' : 'task.discard', claim, stamp),
});

export const observeTasks: Watch<AnsweringStore> = (store, process, recorder) => ({
  ...observeWrites(store, process, recorder),
  async putPayload(task, payload, nonce) {
    const row = rowName({ ...keys.payloadKey(task.queue, task.id, nonce) });
    await writerOf(process, recorder)({ verb: 'payload.put', row, nonce }, async () => {
      await store.putPayload(task, payload, nonce);
      return { kind: 'applied' };
    });
  },
  async deletePayload(key, payload, limits) {
    // The payload's nonce comes from its own write, so this call has a separate name.
    const nonce = `drop ${payload.nonce} ${process.now}`;
    const row = rowName({ ...keys.payloadKey(key.queue, key.id, payload.nonce ?? '') });
    const call = { verb: 'payload.delete', row, nonce };
    await writerOf(process, recorder)(call, async () => {
      await store.deletePayload(key, payload, limits);
      return { kind: 'applied' };
    });
  },
});

export const observeOperations = recording<TaskOperatorStore>({
  requestCancel: (observed, _cancellation, stamp) => ofTask('task.requestCancel', observed, stamp),
  reschedule: (observed, _to, stamp) => ofTask('task.reschedule', observed, stamp),
  revive: (observed, _runAt, stamp) => ofTask('task.revive', observed, stamp),
  recountKey: (queue, key, _to, { nonce }) => ({
    verb: 'key.recount',
    row: keys.taskConcurrencyKey(queue, key).pk,
    nonce,
  }),
});

export function ofTask(verb: string, task: TaskKey, { nonce }: Stamp): Call {
  return { verb, row: taskRow(task), nonce };
}

export function byHolder(verb: string, claim: Claim, stamp: Stamp): Call {
  const { leaseCounter, session } = claim;
  return { ...ofTask(verb, claim, stamp), claim: { row: taskRow(claim), token: leaseCounter, session } };
}

export const observeLocks = recording<LockStore>({
  acquire: ({ key, session }, stamp) => ({ ...ofLock('lock.acquire', key, stamp), session }),
  takeOver: ({ key }, { session }, _options, stamp) => ({ ...ofLock('lock.takeOver', key, stamp), session }),
  acquireAll: ([first], { session }, stamp) => ({ ...ofLock('lock.acquireAll', first?.key ?? '', stamp), session }),
  update: (observed, _content, stamp) => byHolderOf('lock.update', observed, stamp),
  release: (claim, _options, stamp) => byHolderOf('lock.release', claim, stamp),
  settle: (claim, _disposition, _sweepable, stamp) => ({
    ...byHolderOf('lock.settle', claim, stamp),
    isHolders: false,
  }),
  disown: (observed, _late, stamp) => ({ ...byHolderOf('lock.disown', observed, stamp), isHolders: false }),
  barLate: (late, stamp) => ofLock('lock.bar', late.key, stamp),
  put: (key, _observed, _content, stamp) => ofLock('lock.put', key, stamp),
  remove: (observed, _options, stamp) => ofLock('lock.remove', observed.key, stamp),
  forceRelease: (observed, _force, stamp) => ofLock('lock.force', observed.key, stamp),
});

function ofLock(verb: string, key: string, { nonce }: Stamp): Call {
  return { verb, row: keys.lockKey(key).pk, nonce };
}

function byHolderOf(verb: string, { key, leaseCounter, session }: LockClaim, stamp: Stamp): Call {
  const call = ofLock(verb, key, stamp);
  return { ...call, claim: { row: call.row, token: leaseCounter, session } };
}

export function taskRow({ queue, id }: TaskKey): string {
  return keys.taskKey(queue, id).pk;
}

/** Calls through it are on record. */
export function writerOf(process: SimulatedProcess, recorder: Recorder) {
  return <T extends Answer>(call: Call, send: () => Promise<T>): Promise<T> =>
    recorder.write(process, call, send, outcomeOf, outcomeOfError);
}

function outcomeOf({ kind, earlierAttempt, full }: Answer): Returned['outcome'] {
  if (kind !== 'refused') return kind;
  // A claim is not sent if the check of its key has shown that it would fail.
  if (full !== undefined) return 'unavailable';
  return earlierAttempt === 'none' ? 'refused' : 'refusedUnsure';
}

function outcomeOfError(error: unknown): Returned['outcome'] {
  if (error instanceof StoreUnavailableError) return error.applied === 'no' ? 'unavailable' : 'unknown';
  return error instanceof ConfigurationError ? 'unavailable' : 'unknown';
}
