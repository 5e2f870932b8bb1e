/** Defines schedules. This is a separate module because a dispatcher needs no other operation, and its bundle must stay small. */
import { allOf } from '../../core/runtime/all-of.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import { isSame } from '../../core/runtime/same.ts';
import { ensureUnwritten } from '../../core/lease/outcome.ts';
import { stampOf } from '../../core/lease/stamp.ts';
import { contended, retryContended } from '../../core/wait/retry-contended.ts';
import type { TaskSchedule } from './declaration.ts';
import { validSchedules } from './declaration.ts';
import type { ScheduleDefinition, ScheduleRecord } from './schedule.ts';
import { nextOccurrence } from './schedule.ts';
import { ensureHasOccurrence, scheduleDefinitionOf } from './schedule-definition.ts';
import type { ScheduleStore } from './schedule-store.ts';

export interface DefinePorts {
  readonly schedules: Pick<ScheduleStore, 'get' | 'put'>;
  readonly runtime: Runtime;
  /** Queue of schedules that do not name one. */
  readonly queue: string;
  /** Called for each schedule of a module that has ended. The module must still work, so this is not an error. */
  readonly onEnded?: ((schedule: ScheduleDefinition) => void) | undefined;
}

/** @throws ConfigurationError naming what cannot be used */
export async function defineSchedule(
  { schedules, runtime, queue, onEnded }: DefinePorts,
  declared: Parameters<typeof scheduleDefinitionOf>[0],
): Promise<ScheduleRecord> {
  const definition = await scheduleDefinitionOf(declared, { runtime, queue });
  const now = runtime.clock.now();
  if (nextOccurrence(definition, now) === undefined) onEnded?.(definition);
  const what = `schedule ${definition.name}`;
  let seen: string | undefined;
  return retryContended(what, runtime, async ({ earlierAttempt }) => {
    const observed = await schedules.get(definition);
    if (observed !== undefined && !('isRemoved' in observed) && isSameSchedule(observed, definition)) return observed;
    if (onEnded === undefined) ensureHasOccurrence(definition, now);
    // Others may have redefined it after our write.
    if (observed?.nonce !== seen) ensureUnwritten(what, { earlierAttempt }, 'it is defined otherwise');
    seen = observed?.nonce;
    const stamp = stampOf(runtime);
    const outcome = await schedules.put(definition, nextOccurrence(definition, stamp.now), observed, stamp);
    return outcome.kind === 'applied' ? outcome.row : contended(outcome);
  });
}

/** @throws ConfigurationError, even if the other schedules could be defined */
export async function defineSchedules(
  ports: DefinePorts,
  declared: readonly TaskSchedule[],
): Promise<readonly ScheduleRecord[]> {
  return allOf(validSchedules('schedules', declared).map((one) => defineSchedule(ports, one)));
}

/** Compares two definitions: all fields of the records except the schedule's progress. */
function isSameSchedule(observed: ScheduleRecord, definition: ScheduleDefinition): boolean {
  const { nextAt: _, nonce: __, definedAt: ___, lastAt: ____, pausedAt: _____, leftOut: ______, ...defined } = observed;
  return isSame(defined, definition);
}
