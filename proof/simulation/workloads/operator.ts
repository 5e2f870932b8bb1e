/** A person at the console, who cancels, brings back, reschedules and pauses; and leaves the queue open when the trouble is over. */
import { StoreUnavailableError } from '../../../shared/core/errors.ts';
import { ScheduleClient } from '../../../shared/tasks/schedule/schedule-client.ts';
import { SCHEDULE } from '../invariants/schedules.ts';
import { TaskOperator } from '../../../shared/tasks/queue/task-operator.ts';
import { PRIORITIES } from '../../../shared/tasks/task/task.ts';
import type { WorkerPlace } from './worker-place.ts';
import { QUEUE, storesAt } from './worker-place.ts';

const PAUSE_CHANCE = 0.1;

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
    async () => `run a schedule: ${(await recurring.run(SCHEDULE.name)).kind}`,
    async () => {
      const runAt = runtime.clock.now() + Math.round(prng.between(0, 2_000));
      return `reschedule: ${(await operator.reschedule(anId(), { runAt, priority: prng.pick(PRIORITIES) })).kind}`;
    },
  ];
  while (!isOver()) {
    await runtime.clock.sleep(prng.exponential(3_000));
    try {
      if (prng.chance(PAUSE_CHANCE)) {
        await operator.pause();
        seen('operator: paused');
        await runtime.clock.sleep(prng.between(500, 4_000));
        await operator.resume();
      } else seen(`operator: ${await prng.pick(acts)()}`);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      seen('operator: the store did not answer');
    }
  }
  await openAgain(operator, runtime.clock);
}

async function openAgain(operator: TaskOperator, clock: { sleep(ms: number): Promise<void> }): Promise<void> {
  for (;;) {
    try {
      await operator.resume();
      return;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      await clock.sleep(200);
    }
  }
}
