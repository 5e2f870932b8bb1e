/** Flows of sessions, and of what they hold: locks, elections, permits, and members of wait groups. */
import { electionKey } from '../../../shared/coordination/election/election.ts';
import { lockKey } from '../../../shared/dynamo/engine/keys.ts';
import { MismatchError } from '../../../shared/core/errors.ts';
import { SemaphoreFullError } from '../../../shared/coordination/semaphore/semaphore-contender.ts';
import type { WaitGroup } from '../../../shared/coordination/waitgroup/group.ts';
import type { Session } from '../../../shared/client/session.ts';
import { semaphoreRow } from '../observed-coordination.ts';
import type { WorkerPlace } from '../workloads/worker-place.ts';
import { clientsAt, sessionAt } from './clients.ts';
import type { Flow, Stage } from './stage.ts';
import { PROFILE } from './stage.ts';

const WAIT = 20 * PROFILE.ttlMs;
/** Others give back what is contended for before this is over. */
const PATIENT = { wait: 2 * PROFILE.ttlMs };

/** Others get what the flow has used, while its session may be alive as ever. */
function obtainable(take: (session: Session) => Promise<{ readonly release: () => Promise<unknown> }>): Flow['after'] {
  return async (stage) => {
    const session = await sessionAt(stage.place('successor'));
    const taken = await take(session);
    await taken.release();
    // The remains of the flow's own session are judged for as long as it lives.
    await stage.sleep(10 * PROFILE.ttlMs);
    await session.end();
  };
}

/** What the flow does while it believes in a right of its session. */
async function believing(
  { process, recorder }: WorkerPlace,
  session: Session,
  right: { readonly row: string; readonly token: number },
  act: () => Promise<unknown> = () => process.runtime.clock.sleep(100),
): Promise<void> {
  const endBelief = recorder.believes(process, { ...right, session: session.id }, () => session.remainingTrustMs() > 0);
  await act();
  endBelief();
}

export const SESSION_FLOWS: readonly Flow[] = [
  {
    name: 'lock',
    async act(_stage, place) {
      const session = await sessionAt(place);
      const lock = await session.lock('k', PATIENT);
      await believing(place, session, { row: lockKey('k').pk, token: lock.fencingToken });
      await lock.release();
    },
    after: obtainable((session) => session.lock('k', { wait: WAIT })),
  },
  {
    name: 'lock behind a crashed holder',
    async before(stage) {
      const place = stage.place('crashed');
      const session = await sessionAt(place);
      await session.lock('k');
      place.process.kill();
    },
    async act(_stage, place) {
      const session = await sessionAt(place);
      const lock = await session.lock('k', { wait: WAIT });
      await believing(place, session, { row: lockKey('k').pk, token: lock.fencingToken });
      await session.end();
    },
    after: obtainable((session) => session.lock('k', { wait: WAIT })),
  },
  {
    name: 'lock with a value',
    async act(_stage, place) {
      const session = await sessionAt(place);
      const taken = await session.tryLock('k', { value: 'first' });
      if (taken.kind !== 'acquired') return;
      await believing(place, session, { row: lockKey('k').pk, token: taken.lock.fencingToken }, () =>
        taken.lock.update('second'),
      );
      await taken.lock.release({ value: 'left behind' });
      await session.end();
    },
    after: obtainable((session) => session.lock('k', { wait: WAIT })),
  },
  {
    name: 'several locks',
    async act(_stage, place) {
      const session = await sessionAt(place);
      const locks = await session.lockAll(['k', 'l'], PATIENT);
      await locks.release();
    },
    after: obtainable((session) => session.lockAll(['k', 'l'], { wait: WAIT })),
  },
  {
    name: 'election',
    async act(_stage, place) {
      const session = await sessionAt(place);
      const leadership = await session.campaign('chief', PATIENT);
      await believing(place, session, { row: lockKey(electionKey('chief')).pk, token: leadership.term }, () =>
        leadership.proclaim('here'),
      );
      await leadership.resign();
    },
    after: obtainable(async (session) => {
      const leadership = await session.campaign('chief', { wait: WAIT });
      return { release: () => leadership.resign() };
    }),
  },
  {
    name: 'fair permit',
    async before(stage) {
      const place = stage.place('holder');
      const session = await sessionAt(place);
      const permit = await session.permit('s', { limit: 1 });
      const right = { row: semaphoreRow('s'), token: permit.fencingToken, session: session.id };
      const endBelief = place.recorder.believes(place.process, right, () => session.remainingTrustMs() > 0);
      stage.timeline.after(1_000, () => {
        endBelief();
        void permit.release().then(() => session.end());
      });
    },
    async act(_stage, place) {
      const session = await sessionAt(place);
      const permit = await session.permit('s', { limit: 1, fair: true, ...PATIENT });
      await believing(place, session, { row: semaphoreRow('s'), token: permit.fencingToken });
      await permit.release();
    },
    after: obtainable((session) => session.permit('s', { limit: 1, wait: WAIT })),
  },
  {
    name: 'fair permit, given up',
    async before(stage) {
      const session = await sessionAt(stage.place('holder'));
      const permit = await session.permit('s', { limit: 1 });
      stage.timeline.after(3_000, () => void permit.release().then(() => session.end()));
    },
    async act(_stage, place) {
      const session = await sessionAt(place);
      await session.permit('s', { limit: 1, fair: true, wait: 500 }).catch((error: unknown) => {
        if (!(error instanceof SemaphoreFullError)) throw error;
      });
      await session.end();
    },
    after: obtainable((session) => session.permit('s', { limit: 1, wait: WAIT })),
  },
  {
    name: 'limiter',
    async act(_stage, place) {
      const session = await sessionAt(place);
      const limiter = session.limiter('s', { limit: 1 });
      const id = await limiter.add(PATIENT);
      if (id !== undefined) await limiter.done(id);
    },
    after: obtainable((session) => session.permit('s', { limit: 1, wait: WAIT })),
  },
  {
    name: 'wait group',
    async act(_stage, place) {
      const session = await sessionAt(place);
      const group = await clientsAt(place).group('g');
      await group.add(['a', 'b'], { session: session.holder, seal: true });
      for (const id of ['a', 'b']) await group.done(id);
      await group.wait(PATIENT);
      await session.end();
    },
    async after(stage) {
      const place = stage.place('successor');
      const session = await sessionAt(place);
      const group = await clientsAt(place).group('g');
      // The steps that the flow missed: harmless to repeat, and refused if the group is complete.
      const again = async (act: () => Promise<unknown>): Promise<void> => {
        await act().catch((error: unknown) => {
          if (!(error instanceof MismatchError)) throw error;
        });
      };
      await again(() => group.add(['a', 'b'], { session: session.holder, seal: true }));
      for (const id of ['a', 'b']) await again(() => group.done(id));
      await mustComplete(stage, group);
      await session.end();
    },
  },
  {
    name: 'wait group whose member is lost, and its next generation',
    async before(stage) {
      const place = stage.place('lost');
      const session = await sessionAt(place);
      const group = await clientsAt(place).group('g');
      await group.add(['a', 'b'], { seal: true });
      await group.lease('a', session.holder);
      place.process.kill();
    },
    async act(_stage, place) {
      const session = await sessionAt(place);
      const group = await clientsAt(place).group('g');
      await group.lease('b', session.holder);
      await group.done('b');
      await group.wait({ wait: WAIT });
      await group.next();
      await session.end();
    },
    async after(stage) {
      const { group: open } = clientsAt(stage.place('successor'));
      const group = await open('g');
      if (group.generation === 0) {
        await group.done('b');
        await mustComplete(stage, group);
      }
    },
  },
];

async function mustComplete(stage: Stage, group: WaitGroup): Promise<void> {
  const { kind } = await group.wait({ wait: WAIT });
  if (kind !== 'complete') stage.violated('L13', 'all members have ended, and the wait has not');
}
