/** The schedule part of a tick: creates the tasks of due occurrences, and advances their schedules. */
import { inFlight } from '../../core/runtime/in-flight.ts';
import { allOf } from '../../core/runtime/all-of.ts';
import { CorruptItemError, StoreUnavailableError, messageOf, shown } from '../../core/errors.ts';
import { stampOf } from '../../core/lease/write.ts';
import type { OccurrencePorts } from '../schedule/make-occurrence.ts';
import { makeOccurrence } from '../schedule/make-occurrence.ts';
import type { ScheduleRecord, ScheduleStep, ScheduleStore } from '../schedule/schedule.ts';
import { dueOccurrences, jitterOf, leftOutByZone } from '../schedule/schedule.ts';

export interface RecurPorts extends Omit<OccurrencePorts, 'schedules'> {
  readonly schedules: ScheduleStore | undefined;
}

/**
 * A schedule that cannot be carried out, for example because this machine does not know its zone yet, does not stop the others.
 * @param onDamaged receives errors about such a schedule, which stays due, about an occurrence whose task is damaged,
 * and about the number of due schedules if one tick cannot serve them all
 * @returns how many tasks were created
 */
export async function enqueueDueOccurrences(
  queue: string,
  ports: RecurPorts,
  onDamaged: (error: unknown) => void,
): Promise<number> {
  const { schedules, runtime } = ports;
  if (schedules === undefined) return 0;
  const due = await schedules.due(queue, runtime.clock.now(), runtime.random, onDamaged);
  const run = inFlight(SCHEDULES_IN_FLIGHT);
  const made = await allOf(
    due.map((schedule) => run(() => enqueueOccurrencesOf(schedule, { ...ports, schedules }, onDamaged))),
  );
  return made.reduce((sum, tasks) => sum + tasks, 0);
}

/** Creates the due tasks of one schedule. An error in its row affects only this schedule; an outage of the store ends the tick. */
async function enqueueOccurrencesOf(
  schedule: ScheduleRecord,
  ports: RecurPorts & { readonly schedules: ScheduleStore },
  onDamaged: (error: unknown) => void,
): Promise<number> {
  const progress = { made: 0 };
  try {
    await makeOccurrences(schedule, ports, progress, onDamaged);
  } catch (error) {
    if (error instanceof StoreUnavailableError) throw error;
    const { queue, name, cron, zone } = schedule;
    const found = `cannot be carried out here (${shown(cron)} in ${shown(zone)}: ${messageOf(error)})`;
    onDamaged(new CorruptItemError(`schedule ${shown(name)} of queue ${queue}`, 'its definition', found));
  }
  return progress.made;
}

/**
 * Creates the tasks of due occurrences. Stops if another dispatcher has advanced the schedule, or if it was redefined, paused or removed:
 * the later writer then handles the remaining occurrences.
 */
async function makeOccurrences(
  schedule: ScheduleRecord,
  ports: RecurPorts & { readonly schedules: ScheduleStore },
  progress: { made: number },
  onDamaged: (error: unknown) => void,
): Promise<void> {
  const { schedules, runtime } = ports;
  const { occurrences, late, nextAt: end } = dueOccurrences(schedule, runtime.clock.now());
  if (occurrences.length === 0 && end === schedule.nextAt) return;
  let observed = schedule;
  const advance = async (step: ScheduleStep): Promise<boolean> => {
    const outcome = await schedules.advance(observed, step, stampOf(runtime));
    if (outcome.kind === 'applied') observed = outcome.row;
    return outcome.kind === 'applied';
  };
  const leaveOutBefore = async (occurrence: number): Promise<boolean> => {
    for (const at of leftOutByZone(observed, occurrence))
      if (!(await advance({ nextAt: observed.nextAt, leftOut: { at, why: 'zone' } }))) return false;
    return true;
  };
  if (occurrences.length === 0 && (await leaveOutBefore(late ?? schedule.nextAt)))
    await advance({ nextAt: end, leftOut: late === undefined ? undefined : { at: late, why: 'late' } });
  for (const [nth, at] of occurrences.entries()) {
    const nextAt = occurrences[nth + 1] ?? end;
    if (!(await leaveOutBefore(at))) return;
    const outcome = await makeOccurrence(observed, { at, runAt: at + jitterOf(schedule), nextAt }, ports);
    if (outcome.kind === 'refused') return;
    if (outcome.kind === 'made') {
      progress.made++;
      observed = outcome.schedule;
      continue;
    }
    if (outcome.kind === 'taken' && outcome.damage !== undefined) onDamaged(outcome.damage);
    const step = outcome.kind === 'taken' ? { lastAt: at } : { leftOut: { at, why: 'overlap' } as const };
    if (!(await advance({ nextAt, ...step }))) return;
  }
}

/** Each schedule costs a read of a line and a transaction. Even a small function can have this many in flight and finish in time. */
const SCHEDULES_IN_FLIGHT = 64;
