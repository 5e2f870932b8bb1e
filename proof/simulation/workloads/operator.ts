/**
 * A person at the console, who cancels, brings back, reschedules and pauses; and leaves the queue open when the trouble is over.
 * For tasks with keys, also ends the session of a running one and cancels it, and recounts a key.
 * Beside that, pauses tenants, one after the other, for longer than workers need to hear of it.
 */
import { StoreUnavailableError } from '../../../shared/core/errors.ts';
import { ScheduleClient } from '../../../shared/tasks/schedule/schedule-client.ts';
import { TASK_KEYS } from '../invariants/families.ts';
import { SCHEDULE } from '../invariants/schedules.ts';
import { TENANTS } from '../invariants/tenants.ts';
import type { QueueStore } from '../../../shared/tasks/task/queue-store.ts';
import { SETTLE_MS } from '../../../shared/tasks/queue/key-report.ts';
import { TaskOperator } from '../../../shared/tasks/queue/task-operator.ts';
import { SessionClient } from '../../../shared/session/session-client.ts';
import { PRIORITIES } from '../../../shared/tasks/task/task.ts';
import { noSkewGauge } from '../../../shared/core/lease/skew.ts';
import type { WorkerPlace } from './worker-place.ts';
import { QUEUE, storesAt } from './worker-place.ts';
import { endByForce, hurry } from './force.ts';

const PAUSE_CHANCE = 0.1;
/** Of the other acts, the ones for keys. */
const KEY_CHANCE = 0.3;
/** Tasks of keys run for a moment only, so it looks for one several times. */
const LOOKS = 4;
const LOOK_MS = 700;

/** Operates on tasks of these groups of ids until `isOver` returns true. Resolves once the queue is open again. */
export async function operate(
  place: WorkerPlace,
  groups: readonly (readonly string[])[],
  isOver: () => boolean,
): Promise<void> {
  const { process, profile, prng, seen } = place;
  const { tasks, sessions, operations, queues, schedules } = storesAt(place);
  const { runtime } = process;
  const ports = { tasks, sessions, operations, queues, runtime, gauge: place.gauge };
  const operator = new TaskOperator(ports, { queue: QUEUE, maxClockSkewMs: profile.maxClockSkewMs });
  const recurring = new ScheduleClient({ schedules, runtime }, { queue: QUEUE });
  const anId = (): string => prng.pick(prng.pick(groups));
  const acts: readonly (() => Promise<string>)[] = [
    async () => `cancel: ${(await operator.cancel(anId(), { reason: 'simulated' })).kind}`,
    async () => `retry: ${(await operator.retry(anId())).kind}`,
    async () => ((await operator.retryAll({ limit: 2 })) > 0 ? 'retried the dead' : 'found no dead'),
    async () => {
      const rows = await tasks.getMany(groups.flat().map((id) => ({ queue: QUEUE, id })));
      const running = rows.find(({ state }) => state === 'running');
      if (running?.state !== 'running') return 'no task runs';
      return hurry(place, (delay) => endByForce(place, sessions, running.session, delay));
    },
    async () => `run a schedule: ${(await recurring.run(SCHEDULE.name)).kind}`,
    async () => {
      const delay = `${Math.round(prng.between(0, 2_000))}ms` as const;
      return `reschedule: ${(await operator.reschedule(anId(), { delay, priority: prng.pick(PRIORITIES) })).kind}`;
    },
  ];
  const keyed = prng.fork('keys');
  const sessionClient = new SessionClient({ sessions, runtime, gauge: noSkewGauge }, profile.maxClockSkewMs);
  const actsOnKeys: readonly (() => Promise<string>)[] = [
    async () => {
      for (let look = 0; look < LOOKS; look++) {
        const rows = await tasks.getMany(groups.flat().map((id) => ({ queue: QUEUE, id })));
        const running = rows.find(({ state, links }) => state === 'running' && links?.concurrency !== undefined);
        if (running?.state === 'running') {
          await sessionClient.destroy(running.session);
          return `cancel by force: ${(await operator.cancel(running.id, { reason: 'simulated' })).kind}`;
        }
        await runtime.clock.sleep(LOOK_MS);
      }
      return 'no task of a key runs';
    },
    async () => {
      // A recount reads the indexes, and is right only if they lag less.
      if (profile.staleMs > SETTLE_MS) return 'no recount';
      const { key } = keyed.pick(TASK_KEYS);
      return `recount: ${(await operator.recountKey(key, { shards: profile.shards })).kind}`;
    },
  ];
  const pausing = profile.tenants ? pauseTenants(place, operator, isOver) : undefined;
  while (profile.operator && !isOver()) {
    await runtime.clock.sleep(prng.exponential(3_000));
    try {
      if (prng.chance(PAUSE_CHANCE)) {
        await operator.pause();
        seen('operator: paused');
        await runtime.clock.sleep(prng.between(500, 4_000));
        await operator.resume();
      } else seen(`operator: ${await (keyed.chance(KEY_CHANCE) ? keyed.pick(actsOnKeys) : prng.pick(acts))()}`);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      seen('operator: the store did not answer');
    }
  }
  await pausing;
  await openAgain(operator, queues, runtime.clock);
}

async function pauseTenants(place: WorkerPlace, operator: TaskOperator, isOver: () => boolean): Promise<void> {
  const prng = place.prng.fork('tenants');
  const { clock } = place.process.runtime;
  while (!isOver()) {
    await clock.sleep(prng.exponential(4_000));
    const [tenant, until] = [prng.pick(TENANTS), clock.monotonic() + prng.between(2_000, 25_000)];
    try {
      await operator.pause({ tenant });
      place.seen('operator: paused a tenant');
      while (!isOver() && clock.monotonic() < until) await clock.sleep(1_000);
      if (!isOver()) await operator.resume({ tenant });
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
  }
}

/** Also what one before has left paused. */
async function openAgain(
  operator: TaskOperator,
  queues: QueueStore,
  clock: { sleep(ms: number): Promise<void> },
): Promise<void> {
  for (;;) {
    try {
      const { pausedTenants = [] } = await operator.resume();
      for (const tenant of pausedTenants) await operator.resume({ tenant });
      const record = await queues.get(QUEUE);
      if (record?.isPaused !== true && (record?.pausedTenants?.size ?? 0) === 0) return;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      await clock.sleep(200);
    }
  }
}
