/** Flows of tasks: of those who enqueue, of workers, and of dispatchers. */
import { MismatchError } from '../../../shared/core/errors.ts';
import type { EnqueueOptions } from '../../../shared/tasks/queue/task-client.ts';
import { spawn } from '../../../shared/tasks/task/task-request.ts';
import { LINE, TASK_KEYS } from '../invariants/families.ts';
import { SCHEDULE } from '../invariants/schedules.ts';
import { taskRow } from '../observed-stores.ts';
import { deliverTick } from '../workloads/dispatcher.ts';
import { fillerOf } from '../workloads/task-code.ts';
import type { WorkerPlace } from '../workloads/worker-place.ts';
import { QUEUE } from '../workloads/worker-place.ts';
import { work } from '../workloads/worker.ts';
import { clientsAt } from './clients.ts';
import type { Flow, Stage } from './stage.ts';
import { PROFILE } from './stage.ts';
import { QUICK, isOver, mustBe, workOff } from './work-off.ts';

interface TaskFlow extends EnqueueOptions {
  readonly kind: string;
  /** Its state in the end; absent: any end. */
  readonly state?: string;
  readonly input?: object;
  readonly before?: Flow['before'];
  /** One worker may find nothing that it may take now. */
  readonly untilEnded?: boolean;
}

/** A worker runs one task. */
function taskFlow(name: string, { kind, state, input = {}, before, untilEnded = false, ...options }: TaskFlow): Flow {
  return {
    name,
    async before(stage) {
      await clientsAt(stage.place('producer')).tasks.enqueue(
        kind,
        { kind, half: 1, ...input },
        { id: 'a', ...options },
      );
      await before?.(stage);
    },
    async act(stage, place) {
      await work(place, {});
      while (untilEnded && !isOver(stage)) {
        await place.process.runtime.clock.sleep(500);
        await work(place, {});
      }
    },
    async after(stage) {
      await workOff(stage);
      if (state !== undefined) mustBe(stage, 'a', state);
    },
  };
}

/** Another task, behind the flow's own. */
const behind =
  (options: EnqueueOptions) =>
  async (stage: Stage): Promise<void> => {
    await clientsAt(stage.place('producer')).tasks.enqueue('quick', QUICK, { id: 'b', ...options });
  };

function cancelsAfter(ms: number) {
  return (stage: Stage): Promise<void> => {
    const { operator } = clientsAt(stage.place('operator'));
    stage.timeline.after(ms, () => void operator.cancel('a'));
    return Promise.resolve();
  };
}

/** A worker has died of this task, or with it, and its session is over. */
function diesAt(id: string) {
  return async (stage: Stage): Promise<void> => {
    const place = stage.place('dying');
    void (async () => {
      while (!isOver(stage)) {
        await work(place, {});
        await place.process.runtime.clock.sleep(500);
      }
    })();
    const row = taskRow({ queue: QUEUE, id });
    const claim = (): unknown => stage.recorder.rows.get(row)?.claimedAt;
    const before = claim();
    while (claim() === before) await stage.sleep(1);
    place.process.kill();
    await stage.sleep(3 * PROFILE.ttlMs);
  };
}

/** Asked for twice, the second time for other work; again until it is acknowledged. */
function enqueueFlow(onDuplicate: NonNullable<EnqueueOptions['onDuplicate']>): Flow {
  return {
    name: `enqueue, onDuplicate ${onDuplicate}`,
    async act(stage, place) {
      const { tasks } = clientsAt(place);
      const isDebounced = onDuplicate === 'debounce';
      for (const version of [1, 2])
        try {
          const options = { id: 'a', onDuplicate, ...(isDebounced ? { delay: '300ms' as const } : {}) };
          const { id } = await tasks.enqueue('quick', { ...QUICK, version }, options);
          const at = { at: place.process.now, process: place.process.name };
          stage.recorder.emit({ kind: 'acknowledged', ...at, what: 'enqueued', row: taskRow({ queue: QUEUE, id }) });
        } catch (error) {
          if (!(error instanceof MismatchError)) throw error;
        }
    },
    after: workOff,
  };
}

const [NARROW] = TASK_KEYS;

export const TASK_FLOWS: readonly Flow[] = [
  taskFlow('claim and complete', { kind: 'quick', state: 'done' }),
  taskFlow('commit', { kind: 'commits', state: 'done' }),
  taskFlow('commit with a child', { kind: 'spawns', state: 'done' }),
  taskFlow('commit without stock', {
    kind: 'commits',
    state: 'done',
    before(stage) {
      stage.sellOut();
      return Promise.resolve();
    },
  }),
  taskFlow('payload', {
    kind: 'quick',
    input: { filler: fillerOf('a', QUICK, 18_000) },
    state: 'done',
  }),
  // Whether one snoozes is drawn.
  taskFlow('snooze', {
    kind: 'snoozes',
    state: 'done',
    async before(stage) {
      const { tasks } = clientsAt(stage.place('producer'));
      for (const id of ['b', 'c']) await tasks.enqueue('snoozes', { kind: 'snoozes', half: 1 }, { id });
    },
  }),
  taskFlow('hand-back at the deadline', {
    kind: 'slow',
    input: { ms: 15_000 },
    state: 'cancelled',
    before: cancelsAfter(15_000),
  }),
  taskFlow('take-over', { untilEnded: true, kind: 'quick', state: 'done', before: diesAt('a') }),
  taskFlow('progress', { kind: 'progresses', state: 'done' }),
  taskFlow('progress, several at once', { kind: 'hasty', state: 'done' }),
  { ...taskFlow('children', { kind: 'fansOut' }), isDrawn: true },
  { ...taskFlow('retry', { kind: 'stumbles' }), isDrawn: true },
  taskFlow('discard', { kind: 'refuses', state: 'dead' }),
  taskFlow('time-out', { kind: 'overruns' }),
  taskFlow('poison', { kind: 'poison', state: 'dead' }),
  taskFlow('burial', {
    untilEnded: true,
    kind: 'poison',
    state: 'dead',
    async before(stage) {
      for (let death = 0; death < 2; death++) await diesAt('a')(stage);
    },
  }),
  taskFlow('result that cannot be stored', { kind: 'unstorable', state: 'dead' }),
  taskFlow('expiry', { kind: 'quick', expires: '1ms', state: 'cancelled', before: (stage) => stage.sleep(1_000) }),
  taskFlow('key', { kind: 'quick', ...NARROW, state: 'done', before: behind(NARROW) }),
  taskFlow('key that is full when a task becomes due', {
    kind: 'slow',
    input: { ms: 5_000 },
    ...NARROW,
    state: 'done',
    async before(stage) {
      void work(stage.place('holder'), {});
      await behind({ ...NARROW, delay: '500ms' })(stage);
      await stage.sleep(1_000);
    },
  }),
  taskFlow('discard with a key', { kind: 'refuses', ...NARROW, state: 'dead', before: behind(NARROW) }),
  taskFlow('rate', {
    kind: 'quick',
    ...TASK_KEYS[1],
    state: 'done',
    async before(stage) {
      for (const id of ['b', 'c']) await behind({ ...TASK_KEYS[1], id })(stage);
    },
  }),
  taskFlow('line', { kind: 'quick', ...LINE, state: 'done', before: behind(LINE) }),
  taskFlow('line, behind a task that was cancelled', {
    kind: 'quick',
    ...LINE,
    state: 'done',
    async before(stage) {
      await behind(LINE)(stage);
      await behind({ ...LINE, id: 'c' })(stage);
      await clientsAt(stage.place('operator')).operator.cancel('b');
    },
  }),
  taskFlow('discard in a line', { kind: 'refuses', ...LINE, state: 'dead', before: behind(LINE) }),
  taskFlow('commit with a child in a line', { kind: 'spawns', ...LINE, state: 'done', before: behind(LINE) }),
  taskFlow('tenants', { kind: 'quick', tenant: 'acme', state: 'done', before: behind({ tenant: 'other' }) }),
  taskFlow('cancelled while it runs', {
    kind: 'slow',
    input: { ms: 20_000 },
    state: 'cancelled',
    before: cancelsAfter(1_500),
  }),
  {
    name: 'batch',
    async before(stage) {
      const { tasks } = clientsAt(stage.place('producer'));
      await tasks.enqueueBatch([spawn('quick', QUICK), spawn('refuses', { kind: 'refuses', half: 1 })], {
        id: 'b',
        then: spawn('quick', QUICK),
      });
    },
    async act(_stage, place) {
      await work(place, {});
    },
    after: workOff,
  },
  {
    name: 'tick',
    async before(stage) {
      const { tasks, schedules } = clientsAt(stage.place('producer'));
      await tasks.enqueue('quick', QUICK, { id: 'a' });
      const recurring = { cron: SCHEDULE.cron, overlap: 'queue', missed: 'all' } as const;
      await schedules.define(SCHEDULE.name, 'stumbles', { kind: 'stumbles', half: 0 }, recurring);
      await stage.sleep(SCHEDULE.everyMs);
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
