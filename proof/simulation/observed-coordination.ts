/** The ports of semaphores, wait groups and rate limits, with every write on record. */
import { rateLimitKey, semaphoreKey, waitGroupKey, waitGroupMemberKey } from '../../shared/dynamo/engine/keys.ts';
import type { Stamp } from '../../shared/core/lease/write.ts';
import type { RateLimitStore } from '../../shared/coordination/ratelimit/ratelimit-store.ts';
import type { PermitRecord } from '../../shared/coordination/semaphore/semaphore.ts';
import type { SemaphoreStore } from '../../shared/coordination/semaphore/semaphore-store.ts';
import type { WaitGroupStore } from '../../shared/coordination/waitgroup/waitgroup-store.ts';
import type { GroupKey } from '../../shared/coordination/waitgroup/waitgroup.ts';
import { recording } from './observed-stores.ts';
import type { Call } from './recorder.ts';
import { rowName } from './rows.ts';

export const observeSemaphores = recording<SemaphoreStore>({
  create: ({ name }, first, stamp) => ({
    ...ofSemaphore('semaphore.create', name, stamp),
    ...(first && { session: first.session }),
  }),
  admit: ({ name }, { session }, stamp) => ({ ...ofSemaphore('semaphore.admit', name, stamp), session }),
  queue: (name, { session }, stamp) => ({ ...ofSemaphore('semaphore.queue', name, stamp), session }),
  replace: ({ name }, _next, stamp) => ofSemaphore('semaphore.replace', name, stamp),
  release: (name, { permit }, stamp) => ofPermit('semaphore.release', name, permit, stamp),
  forgo: (name, { session }, stamp) => ({ ...ofSemaphore('semaphore.forgo', name, stamp), session }),
  evict: (name, holder, _eviction, stamp) => ofPermit('semaphore.evict', name, holder, stamp),
});

function ofSemaphore(verb: string, name: string, { nonce }: Stamp): Call {
  return { verb, row: semaphoreRow(name), nonce };
}

function ofPermit(verb: string, name: string, { session, token }: PermitRecord, stamp: Stamp): Call {
  return {
    ...ofSemaphore(verb, name, stamp),
    claim: { row: semaphoreRow(name), token, session },
    isHolders: false,
  };
}

export const observeGroups = recording<WaitGroupStore>({
  create: (name, stamp) => ofGroup('waitgroup.create', name, stamp),
  seal: ({ name }, stamp) => ofGroup('waitgroup.seal', name, stamp),
  complete: ({ name }, _counts, stamp) => ofGroup('waitgroup.complete', name, stamp),
  begin: ({ name }, stamp) => ofGroup('waitgroup.begin', name, stamp),
  // It writes several member rows at once, and existing members stay: judged by their later states.
  addMembers: ({ name }, _members, stamp) => ofGroup('waitgroup.add', name, stamp),
  leaseMember: (key, { id, session }, stamp) => ({ ...ofMember('waitgroup.lease', key, id, stamp), session }),
  finishMember: (key, id, stamp) => ofMember('waitgroup.done', key, id, stamp),
  loseMember: (key, { id }, stamp) => ofMember('waitgroup.lose', key, id, stamp),
});

function ofGroup(verb: string, name: string, { nonce }: Stamp): Call {
  return { verb, row: groupRow(name), nonce };
}

function ofMember(verb: string, group: GroupKey, id: string, { nonce }: Stamp): Call {
  return { verb, row: rowName({ ...waitGroupMemberKey(group, id) }), nonce };
}

export const observeBuckets = recording<RateLimitStore>({
  take: ({ name, key }, _draw, { nonce, now }) => ({
    verb: 'ratelimit.take',
    row: rateLimitKey(name, key).pk,
    nonce,
    now,
  }),
  takeFromFull: ({ name, key }, _draw, { nonce, now }) => ({
    verb: 'ratelimit.takeFromFull',
    row: rateLimitKey(name, key).pk,
    nonce,
    now,
  }),
});

export function semaphoreRow(name: string): string {
  return rowName({ ...semaphoreKey(name) });
}

export function groupRow(name: string): string {
  return waitGroupKey(name).pk;
}
