/** What a tick does for recurring tasks: slots that are due become tasks, and their schedules move on. */
import { allOf } from '../../core/runtime/all-of.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import { CorruptItemError, messageOf } from '../../core/errors.ts';
import { stampOf } from '../../core/lease/stamp.ts';
import type { DueSlots, ScheduleRecord } from '../schedule/schedule.ts';
import { dueSlots, slotTaskId } from '../schedule/schedule.ts';
import type { ScheduleStore } from '../schedule/schedule-store.ts';
import type { TaskStore } from '../task/task-store.ts';
import type { TaskSpans } from '../tracing/task-spans.ts';

export interface RecurPorts {
  readonly tasks: TaskStore;
  readonly schedules?: ScheduleStore | undefined;
  readonly runtime: Runtime;
  readonly spans?: TaskSpans | undefined;
}

/**
 * Tasks first, then the schedule: a dispatcher that dies in between leaves
 * slots that are made again, under the same ids, and found to be there.
 * A schedule that this machine cannot read, for example because it does not know the zone yet, holds up no other.
 * @param onDamaged told of such a schedule, which stays due, and of a slot whose task is damaged
 * @returns how many tasks were made
 */
export async function enqueueDueSlots(
  queue: string,
  ports: RecurPorts,
  onDamaged: (error: unknown) => void,
): Promise<number> {
  const due = await ports.schedules?.due(queue, ports.runtime.clock.now(), onDamaged);
  const made = await allOf((due ?? []).map((schedule) => enqueueSlotsOf(schedule, ports, onDamaged)));
  return made.reduce((sum, tasks) => sum + tasks, 0);
}

async function enqueueSlotsOf(
  schedule: ScheduleRecord,
  ports: RecurPorts,
  onDamaged: (error: unknown) => void,
): Promise<number> {
  const { tasks, schedules, runtime, spans } = ports;
  const due = readableSlots(schedule, runtime.clock.now());
  if (due instanceof CorruptItemError) {
    onDamaged(due);
    return 0;
  }
  const { slots, nextAt } = due;
  let made = 0;
  for (const slot of slots) {
    const { queue, task: name, input, priority } = schedule;
    const task = { queue, name, input, priority, id: slotTaskId(schedule, slot), runAt: slot };
    try {
      const outcome = await tasks.enqueue(spans?.create(task, slot) ?? task, stampOf(runtime));
      if (outcome.kind === 'applied') made++;
    } catch (error) {
      // The slot's task is there, and damaged: the schedule goes on without it.
      if (!(error instanceof CorruptItemError)) throw error;
      onDamaged(error);
    }
  }
  // Refused: another dispatcher has moved it, or it was defined again.
  if (nextAt !== schedule.nextAt) await schedules?.advance(schedule, nextAt, stampOf(runtime));
  return made;
}

/** What it owes, or why this machine cannot say. */
function readableSlots(schedule: ScheduleRecord, now: number): DueSlots | CorruptItemError {
  try {
    return dueSlots(schedule, now);
  } catch (error) {
    const { queue, name, cron, zone } = schedule;
    return new CorruptItemError(
      `schedule ${name} of queue ${queue}`,
      'cron or zone',
      `is unknown here (${JSON.stringify(cron)} in ${JSON.stringify(zone)}: ${messageOf(error)})`,
    );
  }
}
