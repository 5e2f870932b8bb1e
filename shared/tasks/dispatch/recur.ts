/** The schedule part of a tick: creates the tasks of due scheduled runs, and advances their schedules. */
import { allOf } from '../../core/runtime/all-of.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import { CorruptItemError, StoreUnavailableError, messageOf, shown } from '../../core/errors.ts';
import { stampOf } from '../../core/lease/stamp.ts';
import type { ScheduleRecord } from '../schedule/schedule.ts';
import { dueSlots, slotTaskId } from '../schedule/schedule.ts';
import type { ScheduleStore } from '../schedule/schedule-store.ts';
import type { TaskStore } from '../task/task-store.ts';
import type { TaskSpans } from '../tracing/task-spans.ts';

export interface RecurPorts {
  readonly tasks: Pick<TaskStore, 'enqueue'>;
  readonly schedules?: ScheduleStore | undefined;
  readonly runtime: Runtime;
  readonly spans?: TaskSpans | undefined;
}

/**
 * Tasks first, then the schedule: after a crash in between, the next dispatcher
 * creates the same tasks again, under the same ids, and finds that they exist.
 * A schedule that cannot be carried out, for example because this machine does not know its zone yet, does not stop the others.
 * @param onDamaged receives such a schedule, which stays due, of a slot whose task is damaged,
 * and of the number of due schedules if one tick cannot serve them all
 * @returns how many tasks were created
 */
export async function enqueueDueSlots(
  queue: string,
  ports: RecurPorts,
  onDamaged: (error: unknown) => void,
): Promise<number> {
  const { clock, random } = ports.runtime;
  const due = await ports.schedules?.due(queue, clock.now(), random, onDamaged);
  const made = await allOf((due ?? []).map((schedule) => enqueueSlotsOf(schedule, ports, onDamaged)));
  return made.reduce((sum, tasks) => sum + tasks, 0);
}

/** Creates the due tasks of one schedule. An error in its row affects only this schedule; an outage of the store ends the tick. */
async function enqueueSlotsOf(
  schedule: ScheduleRecord,
  ports: RecurPorts,
  onDamaged: (error: unknown) => void,
): Promise<number> {
  const progress = { made: 0 };
  try {
    await makeSlots(schedule, ports, progress, onDamaged);
  } catch (error) {
    if (error instanceof StoreUnavailableError) throw error;
    const { queue, name, cron, zone } = schedule;
    const found = `cannot be carried out here (${shown(cron)} in ${shown(zone)}: ${messageOf(error)})`;
    onDamaged(new CorruptItemError(`schedule ${shown(name)} of queue ${queue}`, 'its definition', found));
  }
  return progress.made;
}

async function makeSlots(
  schedule: ScheduleRecord,
  { tasks, schedules, runtime, spans }: RecurPorts,
  progress: { made: number },
  onDamaged: (error: unknown) => void,
): Promise<void> {
  const { queue, task: name, input, priority } = schedule;
  const { slots, nextAt } = dueSlots(schedule, runtime.clock.now());
  for (const slot of slots) {
    const task = { queue, name, input, priority, id: slotTaskId(schedule, slot), runAt: slot };
    try {
      const outcome = await tasks.enqueue(spans?.create(task, slot) ?? task, stampOf(runtime));
      if (outcome.kind === 'applied') progress.made++;
    } catch (error) {
      // The run's task exists but is damaged: the schedule continues without it.
      if (!(error instanceof CorruptItemError)) throw error;
      onDamaged(error);
    }
  }
  // Refused: another dispatcher has moved it, or it was defined again.
  if (nextAt !== schedule.nextAt) await schedules?.advance(schedule, nextAt, stampOf(runtime));
}
