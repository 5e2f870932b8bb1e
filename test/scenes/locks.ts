/** Sessions, locks, values without a session, and elections. */
import type { HeldLock, LockRecord } from '../../shared/coordination/lock/lock-record.ts';
import type { Session } from '../../shared/client/session.ts';
import { stampOf } from '../../shared/core/lease/write.ts';
import type { Party } from './scene.ts';
import { dies, scene } from './scene.ts';

export const BY = { by: 'ann', reason: 'it hangs' };
const renews = async (session: Session): Promise<void> => void (await session.renew());
const takes = ({ theirs }: Party) => theirs.tryLock('k');
const forces = async ({ there }: Party) => {
  const { leaseCounter = 0 } = (await there.leasehold.locks.get('k')) ?? {};
  return there.leasehold.locks.forceRelease('k', { ...BY, leaseCounter, lockDelay: '3s' });
};
const puts = ({ there }: Party) => there.leasehold.locks.put('k', 'theirs', { evenIfHeld: true });
const deletes = ({ there }: Party) => there.leasehold.locks.delete('k', { evenIfHeld: true });
const holdsLock = ({ mine }: Party) => mine.lock('k', { value: 'v' });
const theyHoldLock = ({ theirs }: Party) => theirs.lock('k', { value: 'v' });
const theirsExpires = async (party: Party) => {
  await theyHoldLock(party);
  await dies(party);
};
const rowOf = ({ here }: Party) => here.ports.locks.get('k');
const leads = ({ mine }: Party) => mine.campaign('e', { value: 'here' });

export const SESSIONS = [
  scene('session.create', 'open a session', {
    act: async ({ here }) => (await here.leasehold.session({ ttl: '2m', name: 'late' })).signal.aborted,
  }),
  scene('session.renew', 'renew a session', {
    act: ({ mine }) => renews(mine),
    rivals: { 'it is destroyed': ({ there, mine }) => there.leasehold.sessions.destroy(mine.id) },
  }),
  scene('session.renew', 'renew a session of which something was taken away', {
    before: async (party) => {
      await holdsLock(party);
      await forces(party);
      await party.mine.renew();
    },
    act: ({ mine }) => renews(mine),
  }),
  scene('session.invalidate', 'end a session', { before: holdsLock, act: ({ mine }) => mine.end() }),
  scene('session.invalidate', 'end a session that deletes', {
    before: async ({ here }) => {
      const session = await here.leasehold.session({ ttl: '2m', behavior: 'delete' });
      await session.lock('k', { value: 'v' });
      return session;
    },
    act: (_party, session) => session.end(),
    rivals: { 'it is released by force': forces },
  }),
  scene('session.invalidate', 'destroy a session', {
    before: theyHoldLock,
    act: ({ here, theirs }) => here.leasehold.sessions.destroy(theirs.id),
    rivals: { 'it ends': ({ theirs }) => theirs.end() },
  }),
  scene('session.expire', 'read a key of an expired session', {
    before: theirsExpires,
    act: ({ here }) => here.leasehold.locks.get('k'),
  }),
  scene('session.get', 'read a session', { act: ({ here, theirs }) => here.leasehold.sessions.get(theirs.id) }),
  scene('session.getMany', 'read sessions', {
    act: async ({ here, theirs }) => (await here.ports.sessions.getMany([theirs.id])).size,
  }),
  scene('session.page', 'list sessions', {
    act: async ({ here }) => (await Array.fromAsync(here.leasehold.sessions.list())).length,
  }),
];

export const LOCKS = [
  scene('lock.acquire', 'lock', {
    act: ({ mine }) => mine.tryLock('k', { value: 'v' }),
    rivals: { 'another takes it': takes },
  }),
  scene('lock.acquire', 'lock a key that is not listed', {
    act: ({ mine }) => mine.tryLock('k', { listed: false }),
    rivals: { 'another takes it': takes },
  }),
  scene('lock.acquire', 'lock a key that was held before', {
    before: async (party) => (await holdsLock(party)).release(),
    act: ({ mine }) => mine.tryLock('k'),
    rivals: { 'another takes it': takes },
  }),
  scene('lock.acquire', 'lock a key that was freed elsewhere', {
    before: async (party) => (await theyHoldLock(party)).release(),
    act: ({ mine }) => mine.tryLock('k'),
    rivals: { 'another takes it': takes },
  }),
  scene('lock.takeOver', 'take a lock over', {
    before: theirsExpires,
    act: ({ mine }) => mine.lock('k', { wait: '20s' }),
  }),
  scene('lock.update', 'lock again, reentrant', {
    before: holdsLock,
    act: ({ mine }) => mine.tryLock('k', { reentrant: true, value: 'w' }),
    rivals: { 'it is released by force': forces },
  }),
  scene('lock.update', 'update', {
    before: holdsLock,
    act: (_party, lock) => lock.update('w'),
    rivals: { 'another puts a value': puts, 'it is released by force': forces },
  }),
  scene('lock.release', 'release', {
    before: holdsLock,
    act: (_party, lock) => lock.release({ value: 'last' }),
    rivals: { 'another puts a value': puts, 'it is released by force': forces, 'it is deleted': deletes },
  }),
  scene('lock.release', 'release a key without a value', {
    before: ({ mine }) => mine.lock('k'),
    act: (_party, lock) => lock.release(),
    rivals: { 'another puts a value': puts, 'it is released by force': forces },
  }),
  scene('lock.release', 'release a key that is not listed', {
    before: ({ mine }) => mine.lock('k', { listed: false }),
    act: (_party, lock) => lock.release(),
  }),
  scene('lock.acquireAll', 'lock several', {
    act: ({ mine }) => mine.tryLockAll(['j', 'k'], { value: 'v' }),
    rivals: { 'another takes one': takes },
  }),
  scene('lock.acquireAll', 'lock several without a value', { act: ({ mine }) => mine.tryLockAll(['j', 'k']) }),
  scene('lock.acquireAll', 'lock several that have a value', {
    before: ({ there }) => Promise.all(['j', 'k'].map((key) => there.leasehold.locks.put(key, 'v'))),
    act: ({ mine }) => mine.tryLockAll(['j', 'k']),
    rivals: { 'another puts a value': puts },
  }),
  scene('lock.acquireAll', 'lock several, one of them again', {
    before: holdsLock,
    act: ({ mine }) => mine.tryLockAll(['j', 'k'], { reentrant: true, value: 'w' }),
    rivals: { 'one is released by force': forces },
  }),
  scene('lock.put', 'put', {
    act: ({ here }) => here.leasehold.locks.put('k', 'v'),
    rivals: { 'another puts a value': puts, 'another takes it': takes },
  }),
  scene('lock.put', 'put if it is new', {
    act: ({ here }) => here.leasehold.locks.put('k', 'v', { ifIndex: 0 }),
    rivals: { 'another puts a value': puts },
  }),
  scene('lock.remove', 'delete', {
    before: puts,
    act: ({ here }) => here.leasehold.locks.delete('k'),
    rivals: { 'another takes it': takes, 'another deletes it': deletes },
  }),
  scene('lock.remove', 'delete while it is held', {
    before: theyHoldLock,
    act: ({ here }) => here.leasehold.locks.delete('k', { evenIfHeld: true }),
    rivals: { 'it is released': (_party, lock) => lock.release() },
  }),
  scene('lock.force', 'release by force', {
    before: theyHoldLock,
    act: ({ here }, { leaseCounter }) => here.leasehold.locks.forceRelease('k', { ...BY, leaseCounter }),
    rivals: { 'it is released': (_party, lock) => lock.release(), 'another forces it': forces },
  }),
  scene('lock.force', 'release by force a key of a session that deletes', {
    before: async ({ there }) => {
      const session = await there.leasehold.session({ ttl: '2m', behavior: 'delete' });
      return session.lock('k', { value: 'v' });
    },
    act: ({ here }, { fencingToken: leaseCounter }) => here.leasehold.locks.forceRelease('k', { ...BY, leaseCounter }),
    rivals: { 'it is released': (_party, lock) => lock.release(), 'another puts a value': puts },
  }),
  scene('lock.settle', 'release a key of an ended session', {
    before: async (party) => {
      await party.theirs.lock('k');
      const held = (await rowOf(party)) as HeldLock;
      await party.here.leasehold.sessions.destroy(party.theirs.id);
      return held;
    },
    act: ({ here }, held) =>
      here.ports.locks.settle(held, { behaviour: 'release', notBefore: 1 }, true, stampOf(here.runtime)),
  }),
  scene('lock.bar', 'bar an acquire that may be late', {
    act: ({ here }) =>
      here.ports.locks.barLate(
        { key: 'k', observed: undefined, notBeforeAsked: here.runtime.clock.now() },
        stampOf(here.runtime),
      ),
    rivals: { 'another takes it': takes },
  }),
  scene('lock.bar', 'bar an acquire of a free key that may be late', {
    before: async (party): Promise<LockRecord | undefined> => {
      await (await theyHoldLock(party)).release();
      return rowOf(party);
    },
    act: ({ here }, observed) =>
      here.ports.locks.barLate(
        { key: 'k', observed: observed as never, notBeforeAsked: here.runtime.clock.now() },
        stampOf(here.runtime),
      ),
    rivals: { 'another takes it': takes },
  }),
  ...[undefined, 'v'].map((value) =>
    scene('lock.disown', `give back a late acquire of ${value ?? 'no value'}`, {
      before: async (party) => {
        await party.mine.lock('k', { value });
        return (await rowOf(party)) as HeldLock;
      },
      act: ({ here }, held) =>
        here.ports.locks.disown(held, { notBeforeAsked: here.runtime.clock.now() }, stampOf(here.runtime)),
      rivals: { 'it is released by force': forces },
    }),
  ),
  scene('lock.get', 'read a value', { before: theyHoldLock, act: ({ here }) => here.leasehold.locks.get('k') }),
  scene('lock.getMany', 'read values', {
    before: theyHoldLock,
    act: async ({ here }) => (await here.ports.locks.getMany(['k'])).size,
  }),
  scene('lock.page', 'list keys', {
    before: theyHoldLock,
    act: async ({ here }) => (await Array.fromAsync(here.leasehold.locks.list())).map(({ key }) => key),
  }),
  scene('lock.getWithSession', 'verify a sequencer', {
    before: theyHoldLock,
    act: ({ here }, { sequencer }) => here.leasehold.verify(sequencer),
  }),
];

export const ELECTIONS = [
  scene('lock.acquire', 'campaign', {
    act: ({ mine }) => mine.tryCampaign('e', { value: 'here' }),
    rivals: { 'another leads': ({ theirs }) => theirs.tryCampaign('e') },
  }),
  scene('lock.update', 'proclaim', { before: leads, act: (_party, leadership) => leadership.proclaim('there') }),
  scene('lock.release', 'resign', { before: leads, act: (_party, leadership) => leadership.resign() }),
  scene('lock.get', 'read the leader', { before: leads, act: ({ here }) => here.leasehold.elections.get('e') }),
];
