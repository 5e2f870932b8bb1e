/** The store ports, with every write recorded: the request, its session, and the caller's response. */
import { ConfigurationError, StoreUnavailableError } from '../../shared/core/errors.ts';
import {
  batchKey,
  checkKey,
  failureKey,
  lockKey,
  payloadKey,
  taskConcurrencyKey,
  taskKey,
} from '../../shared/dynamo/engine/keys.ts';
import type { LockClaim } from '../../shared/coordination/lock/lock-record.ts';
import type { LockStore } from '../../shared/coordination/lock/lock-store.ts';
import type { CheckStore } from '../../shared/session/check-store.ts';
import type { CheckKey } from '../../shared/session/health.ts';
import type { SessionStore } from '../../shared/session/session-store.ts';
import type { TaskOperatorStore } from '../../shared/tasks/task/task-operator-store.ts';
import type { Stamp } from '../../shared/core/lease/stamp.ts';
import type { TaskStore } from '../../shared/tasks/task/task-store.ts';
import type { Claim, TaskKey } from '../../shared/tasks/task/task.ts';
import type { SimulatedProcess } from '../../test/support/machines/process.ts';
import type { Returned } from './history.ts';
import type { Call, Recorder } from './recorder.ts';
import { sessionRow } from './recorder.ts';

type Answer =
  | { readonly kind: 'applied' }
  | { readonly kind: 'canceled' }
  | { readonly kind: 'refused'; readonly earlierAttempt: 'none' | 'unknown'; readonly full?: object };

export function observeSessions(store: SessionStore, process: SimulatedProcess, recorder: Recorder): SessionStore {
  const write = writerOf(process, recorder);
  return {
    ...store,
    create: (session, limits) =>
      write({ verb: 'session.create', row: sessionRow(session.id), nonce: session.nonce, now: session.now }, () =>
        store.create(session, limits),
      ),
    renew: (renewal, limits) =>
      write(
        {
          verb: 'session.renew',
          row: sessionRow(renewal.id),
          nonce: renewal.nonce,
          now: renewal.now,
          session: renewal.id,
        },
        () => store.renew(renewal, limits),
      ),
    expire: (expiry) =>
      write({ verb: 'session.expire', row: sessionRow(expiry.observed.id), nonce: expiry.nonce }, () =>
        store.expire(expiry),
      ),
    invalidate: (invalidation) =>
      write({ verb: 'session.invalidate', row: sessionRow(invalidation.id), nonce: invalidation.nonce }, () =>
        store.invalidate(invalidation),
      ),
  };
}

export function observeChecks(store: CheckStore, process: SimulatedProcess, recorder: Recorder): CheckStore {
  const write = writerOf(process, recorder);
  const call = (verb: string, { node, id }: CheckKey, { nonce }: Stamp): Call => ({
    verb: `check.${verb}`,
    row: checkKey(node, id).pk,
    nonce,
  });
  return {
    ...store,
    register: (observed, check, stamp) =>
      write(call('register', check, stamp), () => store.register(observed, check, stamp)),
    report: (observed, report, stamp) =>
      write(call('report', observed, stamp), () => store.report(observed, report, stamp)),
    deregister: (observed, stamp) =>
      write(call('deregister', observed, stamp), () => store.deregister(observed, stamp)),
  };
}

export function observeTasks(store: TaskStore, process: SimulatedProcess, recorder: Recorder): TaskStore {
  const write = writerOf(process, recorder);
  const take = (verb: string, key: TaskKey, session: string, { nonce }: Stamp): Call => ({
    verb,
    row: taskRow(key),
    nonce,
    session,
  });
  const settle = (verb: string, claim: Claim, { nonce }: Stamp): Call => ({
    verb,
    row: taskRow(claim),
    nonce,
    claim: { row: taskRow(claim), token: claim.leaseCounter, session: claim.session },
  });
  return {
    ...store,
    enqueue: (task, stamp) =>
      write({ verb: 'task.enqueue', row: taskRow(task), nonce: stamp.nonce }, () => store.enqueue(task, stamp)),
    replace: (observed, task, stamp) =>
      write(byOthers('task.replace', observed, stamp), () => store.replace(observed, task, stamp)),
    follow: (observed, task, stamp) =>
      write(byOthers('task.follow', observed, stamp), () => store.follow(observed, task, stamp)),
    renew: (observed, task, stamp) =>
      write(byOthers('task.renew', observed, stamp), () => store.renew(observed, task, stamp)),
    deletePayload: async (key, payload, limits) => {
      // The payload's nonce comes from its own write, so this call has a separate name.
      const call = { verb: 'payload.delete', row: payloadRow(key), nonce: `drop ${payload.nonce} ${process.now}` };
      await write(call, async () => {
        await store.deletePayload(key, payload, limits);
        return { kind: 'applied' };
      });
    },
    keepFailure: (claim, stack, stamp, limits) => {
      const call = { verb: 'failure.keep', row: failureKey(claim.queue, claim.id).pk, nonce: stamp.nonce };
      return write(call, () => store.keepFailure(claim, stack, stamp, limits));
    },
    claim: (observed, session, stamp, limits) =>
      write(take('task.claim', observed, session, stamp), () => store.claim(observed, session, stamp, limits)),
    takeOver: (observed, session, stamp, limits) =>
      write(take('task.takeOver', observed, session, stamp), () => store.takeOver(observed, session, stamp, limits)),
    bury: (observed, error, stamp) =>
      write({ verb: 'task.bury', row: taskRow(observed), nonce: stamp.nonce }, () =>
        store.bury(observed, error, stamp),
      ),
    complete: (claim, result, stamp, limits) =>
      write(settle('task.complete', claim, stamp), () => store.complete(claim, result, stamp, limits)),
    commit: (claim, result, effects, stamp, limits) =>
      write(settle('task.commit', claim, stamp), () => store.commit(claim, result, effects, stamp, limits)),
    retry: (claim, failure, stamp, limits) =>
      write(settle('task.retry', claim, stamp), () => store.retry(claim, failure, stamp, limits)),
    discard: (claim, error, stamp, limits) =>
      write(settle('task.discard', claim, stamp), () => store.discard(claim, error, stamp, limits)),
    release: (claim, stamp, limits) =>
      write(settle('task.release', claim, stamp), () => store.release(claim, stamp, limits)),
    waitForChildren: (claim, batch, children, stamp, limits) =>
      write(settle('task.wait', claim, stamp), () => store.waitForChildren(claim, batch, children, stamp, limits)),
    giveUp: (claim, reason, stamp, limits) =>
      write(settle('task.giveUp', claim, stamp), () => store.giveUp(claim, reason, stamp, limits)),
    cancel: (observed, cancellation, stamp) =>
      write(byOthers('task.cancel', observed, stamp), () => store.cancel(observed, cancellation, stamp)),
    expire: (observed, stamp) => write(byOthers('task.expire', observed, stamp), () => store.expire(observed, stamp)),
    join: (observed, stamp, limits) =>
      write(byOthers('task.join', observed, stamp), () => store.join(observed, stamp, limits)),
    passTurn: (observed, stamp, limits) =>
      write(byOthers('task.leaveLine', observed, stamp), () => store.passTurn(observed, stamp, limits)),
    createBatch: (batch, callback, stamp) =>
      write({ verb: 'batch.create', row: batchKey(batch.queue, batch.id).pk, nonce: stamp.nonce }, () =>
        store.createBatch(batch, callback, stamp),
      ),
    snooze: (claim, readyAt, stamp, limits) =>
      write(settle('task.snooze', claim, stamp), () => store.snooze(claim, readyAt, stamp, limits)),
    bar: (claim, stamp, limits) => write(settle('task.bar', claim, stamp), () => store.bar(claim, stamp, limits)),
    progress: (claim, progress, stamp, limits) =>
      write(settle('task.progress', claim, stamp), () => store.progress(claim, progress, stamp, limits)),
  };
}

export function observeOperations(
  store: TaskOperatorStore,
  process: SimulatedProcess,
  recorder: Recorder,
): TaskOperatorStore {
  const write = writerOf(process, recorder);
  return {
    ...store,
    requestCancel: async (observed, cancellation, stamp) => {
      const call = byOthers('task.requestCancel', observed, stamp);
      const { kind } = await write(call, async () => ({
        ...(await store.requestCancel(observed, cancellation, stamp)),
        earlierAttempt: 'unknown' as const,
      }));
      return { kind };
    },
    reschedule: (observed, to, stamp) =>
      write(byOthers('task.reschedule', observed, stamp), () => store.reschedule(observed, to, stamp)),
    revive: (observed, runAt, stamp) =>
      write(byOthers('task.revive', observed, stamp), () => store.revive(observed, runAt, stamp)),
    recountKey: (queue, key, to, stamp) =>
      write({ verb: 'key.recount', row: taskConcurrencyKey(queue, key).pk, nonce: stamp.nonce }, () =>
        store.recountKey(queue, key, to, stamp),
      ),
  };
}

/** A write by a process that does not hold the task. */
function byOthers(verb: string, task: TaskKey, { nonce }: Stamp): Call {
  return { verb, row: taskRow(task), nonce };
}

export function observeLocks(store: LockStore, process: SimulatedProcess, recorder: Recorder): LockStore {
  const write = writerOf(process, recorder);
  const row = (key: string): string => lockKey(key).pk;
  const held = (verb: string, { key, leaseCounter, session }: LockClaim, { nonce }: Stamp): Call => ({
    verb,
    row: row(key),
    nonce,
    claim: { row: row(key), token: leaseCounter, session },
  });
  const take = (verb: string, key: string, session: string, { nonce }: Stamp): Call => ({
    verb,
    row: row(key),
    nonce,
    session,
  });
  return {
    ...store,
    acquire: (request, stamp, limits) =>
      write(take('lock.acquire', request.key, request.session, stamp), () => store.acquire(request, stamp, limits)),
    takeOver: (observed, request, options, stamp, limits) =>
      write(take('lock.takeOver', observed.key, request.session, stamp), () =>
        store.takeOver(observed, request, options, stamp, limits),
      ),
    update: (observed, content, stamp, limits) =>
      write(held('lock.update', observed, stamp), () => store.update(observed, content, stamp, limits)),
    release: (claim, options, stamp, limits) =>
      write(held('lock.release', claim, stamp), () => store.release(claim, options, stamp, limits)),
    settle: (claim, disposition, sweepable, stamp, limits) =>
      write({ ...held('lock.settle', claim, stamp), isHolders: false }, () =>
        store.settle(claim, disposition, sweepable, stamp, limits),
      ),
    disown: (observed, late, stamp, limits) =>
      write({ ...held('lock.disown', observed, stamp), isHolders: false }, () =>
        store.disown(observed, late, stamp, limits),
      ),
    barLate: (late, stamp, limits) =>
      write({ verb: 'lock.bar', row: row(late.key), nonce: stamp.nonce }, () => store.barLate(late, stamp, limits)),
    acquireAll: (observed, request, stamp, limits) =>
      write(take('lock.acquireAll', observed[0]?.key ?? '', request.session, stamp), () =>
        store.acquireAll(observed, request, stamp, limits),
      ),
    put: (key, observed, content, stamp) =>
      write({ verb: 'lock.put', row: row(key), nonce: stamp.nonce }, () => store.put(key, observed, content, stamp)),
    remove: (observed, options, stamp) =>
      write({ verb: 'lock.remove', row: row(observed.key), nonce: stamp.nonce }, () =>
        store.remove(observed, options, stamp),
      ),
    forceRelease: (observed, force, stamp) =>
      write({ verb: 'lock.force', row: row(observed.key), nonce: stamp.nonce }, async () => ({
        ...(await store.forceRelease(observed, force, stamp)),
        earlierAttempt: 'unknown' as const,
      })),
  };
}

export function taskRow({ queue, id }: TaskKey): string {
  return taskKey(queue, id).pk;
}

function payloadRow({ queue, id }: TaskKey): string {
  return payloadKey(queue, id).pk;
}

/** Calls through it are on record. */
export function writerOf(process: SimulatedProcess, recorder: Recorder) {
  return <T extends Answer>(call: Call, send: () => Promise<T>): Promise<T> =>
    recorder.write(process, call, send, outcomeOf, outcomeOfError);
}

function outcomeOf(answer: Answer): Returned['outcome'] {
  if (answer.kind !== 'refused') return answer.kind;
  // A claim is not sent if the check of its key has shown that it would fail.
  if (answer.full !== undefined) return 'unavailable';
  return answer.earlierAttempt === 'none' ? 'refused' : 'refusedUnsure';
}

function outcomeOfError(error: unknown): Returned['outcome'] {
  if (error instanceof StoreUnavailableError) return error.applied === 'no' ? 'unavailable' : 'unknown';
  return error instanceof ConfigurationError ? 'unavailable' : 'unknown';
}
