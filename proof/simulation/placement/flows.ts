/** The short flows of the library, each with the condition that must hold for later users. */
import { electionKey } from '../../../shared/coordination/election/election.ts';
import { lockKey } from '../../../shared/dynamo/engine/keys.ts';
import { MismatchError } from '../../../shared/core/errors.ts';
import { noSkewGauge } from '../../../shared/core/lease/skew.ts';
import { sessionTiming } from '../../../shared/core/lease/timing.ts';
import type { EnqueueOptions } from '../../../shared/tasks/queue/task-client.ts';
import { TaskClient } from '../../../shared/tasks/queue/task-client.ts';
import { Session } from '../../../shared/client/session.ts';
import { SessionHolder } from '../../../shared/session/keep-alive.ts';
import { WaiterQueue } from '../../../shared/core/wait/waiter-queue.ts';
import { WaitGroup } from '../../../shared/coordination/waitgroup/group.ts';
import { taskRow } from '../observed-stores.ts';
import { semaphoreRow } from '../observed-coordination.ts';
import { TABLE_NAME } from '../rows.ts';
import { deliverTick } from '../workloads/dispatcher.ts';
import { USERS_SESSION } from '../workloads/linger.ts';
import type { WorkerPlace } from '../workloads/worker-place.ts';
import { QUEUE, sessionEventsAt, storesAt } from '../workloads/worker-place.ts';
import { work } from '../workloads/worker.ts';
import type { Flow, Stage } from './stage.ts';
import { PROFILE } from './stage.ts';

const ENDED = ['done', 'dead', 'cancelled'];
const WAIT = 20 * PROFILE.ttlMs;

async function sessionAt(place: WorkerPlace): Promise<Session> {
  const { process, recorder } = place;
  const { runtime } = process;
  const { ttlMs, lockDelayMs, maxClockSkewMs } = PROFILE;
  const stores = storesAt(place);
  const holder = await SessionHolder.create(
    {
      timing: sessionTiming({ ttlMs, lockDelayMs, maxClockSkewMs }),
      name: USERS_SESSION,
      node: process.name,
      behaviour: 'release',
    },
    { store: stores.sessions, runtime, gauge: noSkewGauge, events: sessionEventsAt(place) },
  );
  recorder.holds(process, holder);
  const { clock } = runtime;
  const ports = { ...stores, runtime, gauge: noSkewGauge, table: TABLE_NAME };
  return new Session(holder, { ...ports, turns: new WaiterQueue(clock), line: new WaiterQueue(clock) });
}

function clientAt(place: WorkerPlace): TaskClient {
  return new TaskClient({ store: storesAt(place).tasks, runtime: place.process.runtime }, { queue: QUEUE });
}

/** Workers come, one after the other, until every task has ended. */
async function workOff(stage: Stage): Promise<void> {
  for (;;) {
    await work(stage.place('worker'), {});
    const rows = [...stage.recorder.rows].filter(([row]) => row.startsWith('task#'));
    if (rows.every(([, { state }]) => ENDED.includes(String(state)))) return;
    await stage.sleep(1_000);
  }
}

function mustBe(stage: Stage, id: string, state: string): void {
  const found = stage.recorder.rows.get(taskRow({ queue: QUEUE, id }))?.state;
  if (found !== state) stage.violated('L3', `${id} is ${String(found)} in the end, and should be ${state}`);
}

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

const EFFECTS = { kind: 'quick', half: 1 } as const;

function taskFlow(name: string, kind: string): Flow {
  return {
    name,
    async before(stage) {
      await clientAt(stage.place('producer')).enqueue(kind, { kind, half: 1 }, { id: 'a' });
    },
    async act(_stage, place) {
      await work(place, {});
    },
    async after(stage) {
      await workOff(stage);
      mustBe(stage, 'a', 'done');
    },
  };
}

/** Asked for twice, the second time for other work; again until it is acknowledged. */
function enqueueFlow(onDuplicate: NonNullable<EnqueueOptions['onDuplicate']>): Flow {
  return {
    name: `enqueue, onDuplicate ${onDuplicate}`,
    async act(stage, place) {
      const client = clientAt(place);
      const isDebounced = onDuplicate === 'debounce';
      for (const version of [1, 2])
        try {
          const options = { id: 'a', onDuplicate, ...(isDebounced ? { delay: 300 } : {}) };
          const { id } = await client.enqueue('quick', { ...EFFECTS, version }, options);
          const at = { at: place.process.now, process: place.process.name };
          stage.recorder.emit({ kind: 'acknowledged', ...at, what: 'enqueued', row: taskRow({ queue: QUEUE, id }) });
        } catch (error) {
          if (!(error instanceof MismatchError)) throw error;
        }
    },
    after: workOff,
  };
}

export const FLOWS: readonly Flow[] = [
  {
    name: 'lock',
    async act(_stage, place) {
      const session = await sessionAt(place);
      const lock = await session.lock('k', { wait: 2 * PROFILE.ttlMs });
      const right = { row: lockKey('k').pk, token: lock.fencingToken, session: session.id };
      const endBelief = place.recorder.believes(place.process, right, () => session.remainingTrustMs() > 0);
      await place.process.runtime.clock.sleep(100);
      endBelief();
      await lock.release();
    },
    after: obtainable((session) => session.lock('k', { wait: WAIT })),
  },
  {
    name: 'election',
    async act(_stage, place) {
      const session = await sessionAt(place);
      const leadership = await session.campaign('chief', { wait: 2 * PROFILE.ttlMs });
      const right = { row: lockKey(electionKey('chief')).pk, token: leadership.term, session: session.id };
      const endBelief = place.recorder.believes(place.process, right, () => session.remainingTrustMs() > 0);
      await leadership.proclaim('here');
      endBelief();
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
      const permit = await session.permit('s', { limit: 1, fair: true, wait: 2 * PROFILE.ttlMs });
      const right = { row: semaphoreRow('s'), token: permit.fencingToken, session: session.id };
      const endBelief = place.recorder.believes(place.process, right, () => session.remainingTrustMs() > 0);
      await place.process.runtime.clock.sleep(100);
      endBelief();
      await permit.release();
    },
    after: obtainable((session) => session.permit('s', { limit: 1, wait: WAIT })),
  },
  {
    name: 'wait group',
    async act(_stage, place) {
      const session = await sessionAt(place);
      const group = await groupAt(place);
      await group.add(['a', 'b'], { session: session.holder, seal: true });
      for (const id of ['a', 'b']) await group.done(id);
      await group.wait({ wait: 2 * PROFILE.ttlMs });
      await session.end();
    },
    async after(stage) {
      const place = stage.place('successor');
      const session = await sessionAt(place);
      const group = await groupAt(place);
      // The steps that the flow missed: harmless to repeat, and refused if the group is complete.
      const again = async (act: () => Promise<unknown>): Promise<void> => {
        await act().catch((error: unknown) => {
          if (!(error instanceof MismatchError)) throw error;
        });
      };
      await again(() => group.add(['a', 'b'], { session: session.holder, seal: true }));
      for (const id of ['a', 'b']) await again(() => group.done(id));
      const { kind } = await group.wait({ wait: WAIT });
      if (kind !== 'complete') stage.violated('L13', 'all members have ended, and the wait has not');
      await session.end();
    },
  },
  taskFlow('claim and complete', 'quick'),
  taskFlow('commit', 'commits'),
  taskFlow('snooze', 'snoozes'),
  {
    name: 'pack',
    async before(stage) {
      const inputs = Array.from({ length: 3 }, () => EFFECTS);
      await clientAt(stage.place('producer')).enqueueBulk('items', inputs, { id: 'bulk', packSize: 3 });
    },
    async act(_stage, place) {
      await work(place, {});
    },
    after: workOff,
  },
  {
    name: 'tick',
    async before(stage) {
      await clientAt(stage.place('producer')).enqueue('quick', EFFECTS, { id: 'a' });
    },
    act: (stage, place) => tick(stage, place, '1'),
    async after(stage) {
      // The next tick makes up for one whose dispatcher died.
      await tick(stage, stage.place('dispatcher'), '2');
      const [start] = stage.started;
      if (start === undefined)
        stage.violated('L10', 'two ticks have come by, a task is due, and no worker was started');
      await workOff(stage);
      mustBe(stage, 'a', 'done');
    },
  },
  ...(['reject', 'keep', 'replace', 'debounce'] as const).map(enqueueFlow),
];

function tick(stage: Stage, place: WorkerPlace, slot: string): Promise<void> {
  return deliverTick(place, {
    slot,
    recurs: true,
    startWorker: () => {
      stage.started.push(() => undefined);
    },
  });
}

function groupAt(place: WorkerPlace): Promise<WaitGroup> {
  const ports = { ...storesAt(place), runtime: place.process.runtime, gauge: noSkewGauge };
  return WaitGroup.open('g', ports, { maxClockSkewMs: PROFILE.maxClockSkewMs });
}
