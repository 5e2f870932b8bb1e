/** The ports of semaphores, wait groups and rate limits, with every write on record. */
import { defined } from '../../shared/core/defined.ts';
import { rateLimitKey, semaphoreKey, waitGroupKey, waitGroupMemberKey } from '../../shared/dynamo/engine/keys.ts';
import type { Stamp } from '../../shared/core/lease/stamp.ts';
import type { RateLimitStore } from '../../shared/coordination/ratelimit/ratelimit-store.ts';
import type { PermitRecord } from '../../shared/coordination/semaphore/semaphore.ts';
import type { SemaphoreStore } from '../../shared/coordination/semaphore/semaphore-store.ts';
import type { WaitGroupStore } from '../../shared/coordination/waitgroup/waitgroup-store.ts';
import type { GroupKey } from '../../shared/coordination/waitgroup/waitgroup.ts';
import type { SimulatedProcess } from '../../test/support/machines/process.ts';
import { writerOf } from './observed-stores.ts';
import type { Call, Recorder } from './recorder.ts';
import { rowName } from './rows.ts';

export function observeSemaphores(
  store: SemaphoreStore,
  process: SimulatedProcess,
  recorder: Recorder,
): SemaphoreStore {
  const write = writerOf(process, recorder);
  const call = (verb: string, name: string, { nonce }: Stamp, session?: string): Call => ({
    verb: `semaphore.${verb}`,
    row: semaphoreRow(name),
    nonce,
    ...defined({ session }),
  });
  const permit = (verb: string, name: string, { session, token }: PermitRecord, stamp: Stamp): Call => ({
    ...call(verb, name, stamp),
    claim: { row: semaphoreRow(name), token, session },
    isHolders: false,
  });
  return {
    ...store,
    create: (semaphore, first, stamp, limits) =>
      write(call('create', semaphore.name, stamp, first?.session), () => store.create(semaphore, first, stamp, limits)),
    admit: (semaphore, claim, stamp, limits) =>
      write(call('admit', semaphore.name, stamp, claim.session), () => store.admit(semaphore, claim, stamp, limits)),
    queue: (name, ticket, stamp, limits) =>
      write(call('queue', name, stamp, ticket.session), () => store.queue(name, ticket, stamp, limits)),
    replace: (observed, next, stamp, limits) =>
      write(call('replace', observed.name, stamp), () => store.replace(observed, next, stamp, limits)),
    release: (name, given, stamp, limits) =>
      write(permit('release', name, given.permit, stamp), () => store.release(name, given, stamp, limits)),
    forgo: (name, claim, stamp, limits) =>
      write(call('forgo', name, stamp, claim.session), () => store.forgo(name, claim, stamp, limits)),
    evict: (name, holder, eviction, stamp) =>
      write(permit('evict', name, holder, stamp), async () => ({
        ...(await store.evict(name, holder, eviction, stamp)),
        earlierAttempt: 'unknown' as const,
      })),
  };
}

export function observeGroups(store: WaitGroupStore, process: SimulatedProcess, recorder: Recorder): WaitGroupStore {
  const write = writerOf(process, recorder);
  const group = (verb: string, name: string, { nonce }: Stamp): Call => ({
    verb: `waitgroup.${verb}`,
    row: groupRow(name),
    nonce,
  });
  const member = (verb: string, key: GroupKey, id: string, { nonce }: Stamp): Call => ({
    verb: `waitgroup.${verb}`,
    row: memberRow(key, id),
    nonce,
  });
  return {
    ...store,
    create: (name, stamp) => write(group('create', name, stamp), () => store.create(name, stamp)),
    seal: (key, stamp) => write(group('seal', key.name, stamp), () => store.seal(key, stamp)),
    complete: (key, counts, stamp) =>
      write(group('complete', key.name, stamp), () => store.complete(key, counts, stamp)),
    begin: (key, stamp) => write(group('begin', key.name, stamp), () => store.begin(key, stamp)),
    // It writes several member rows at once, and existing members stay: judged by their later states.
    addMembers: (key, members, stamp) =>
      write(group('add', key.name, stamp), () => store.addMembers(key, members, stamp)),
    leaseMember: (key, holder, stamp, limits) =>
      write({ ...member('lease', key, holder.id, stamp), session: holder.session }, () =>
        store.leaseMember(key, holder, stamp, limits),
      ),
    finishMember: (key, id, stamp) => write(member('done', key, id, stamp), () => store.finishMember(key, id, stamp)),
    loseMember: (key, lost, stamp) =>
      write(member('lose', key, lost.id, stamp), () => store.loseMember(key, lost, stamp)),
  };
}

export function observeBuckets(store: RateLimitStore, process: SimulatedProcess, recorder: Recorder): RateLimitStore {
  const write = writerOf(process, recorder);
  const call = (
    verb: string,
    { name, key }: { readonly name: string; readonly key: string },
    { nonce, now }: Stamp,
  ) => ({
    verb: `ratelimit.${verb}`,
    row: rateLimitKey(name, key).pk,
    nonce,
    now,
  });
  return {
    ...store,
    take: (bucket, draw, stamp) => write(call('take', bucket, stamp), () => store.take(bucket, draw, stamp)),
    takeFromFull: (bucket, draw, stamp) =>
      write(call('takeFromFull', bucket, stamp), () => store.takeFromFull(bucket, draw, stamp)),
  };
}

export function semaphoreRow(name: string): string {
  return semaphoreKey(name).pk;
}

export function groupRow(name: string): string {
  return waitGroupKey(name).pk;
}

function memberRow(group: GroupKey, id: string): string {
  return rowName({ ...waitGroupMemberKey(group, id) });
}
