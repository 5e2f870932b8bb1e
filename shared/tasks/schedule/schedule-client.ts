/** `ScheduleClient` defines recurring tasks, and runs, pauses and removes them. */
import { validName, validOptions } from '../../core/validate/options.ts';
import { ensureUnwritten, stampOf } from '../../core/lease/write.ts';
import { pagesOf } from '../../core/runtime/take.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { Contended } from '../../core/wait/retry-contended.ts';
import { contended, retryContended } from '../../core/wait/retry-contended.ts';
import type { TaskReference } from '../task/task-request.ts';
import type { ScheduleOptions, TaskSchedule } from './declaration.ts';
import { makeOccurrence } from './make-occurrence.ts';
import type { ScheduleDefinition, ScheduleRecord, RemovedSchedule, ScheduleKey, ScheduleStore } from './schedule.ts';
import { nextOccurrence, occurrenceTaskId } from './schedule.ts';
import type { TaskKey } from '../task/task.ts';
import { DEFAULT_QUEUE } from '../task/task.ts';
import { allOf } from '../../core/runtime/all-of.ts';
import { isSame } from '../../core/runtime/same.ts';
import { validSchedules } from './declaration.ts';
import { ensureHasOccurrence, scheduleDefinitionOf } from './schedule-definition.ts';

export type RunReport =
  /** The task exists. It starts at once, or when the schedule's earlier tasks have ended. */
  | { readonly kind: 'enqueued'; readonly task: TaskKey }
  /** With the policy `skip`: a task of the schedule has not ended. */
  | { readonly kind: 'skipped' }
  | { readonly kind: 'missing' };

/** Recurring tasks: define, remove, list, run now, pause and resume. */
export class ScheduleClient {
  readonly #store: ScheduleStore;
  readonly #runtime: Runtime;
  readonly #queue: string;

  constructor(
    ports: { readonly schedules: ScheduleStore; readonly runtime: Runtime },
    options: { readonly queue?: string | undefined } = {},
  ) {
    this.#store = ports.schedules;
    this.#runtime = ports.runtime;
    this.#queue = validName('queue', options.queue ?? DEFAULT_QUEUE);
  }

  /**
   * Defines a schedule, or redefines it: its occurrences then begin with the next one from now.
   * An unchanged definition changes nothing, not even missed occurrences, so every deployment may repeat it.
   * A paused schedule stays paused.
   * @throws ConfigurationError naming what cannot be used
   */
  async define<Given>(
    name: string,
    task: TaskReference<Given>,
    input: NoInfer<Given>,
    options: ScheduleOptions,
  ): Promise<ScheduleRecord> {
    return defineSchedule(this.#definePorts(), { name, task, input, options });
  }

  /**
   * Defines each schedule of a list that a module of tasks exports. Schedules that are not in the list stay unchanged.
   * @param onEnded told of each schedule whose `endAt` has passed, which is an error only for `define`
   * @throws ConfigurationError, even if the other schedules could be defined
   */
  async defineAll(
    schedules: readonly TaskSchedule[],
    onEnded: (schedule: ScheduleDefinition) => void = () => undefined,
  ): Promise<readonly ScheduleRecord[]> {
    return defineSchedules({ ...this.#definePorts(), onEnded }, schedules);
  }

  /** Removes a schedule. Tasks created from its occurrences stay. @returns whether the schedule existed */
  async remove(name: string, options: Pick<ScheduleOptions, 'queue'> = {}): Promise<boolean> {
    const key = this.#key('removing a schedule', name, options);
    return retryContended(`schedule ${name}`, this.#runtime, async () => {
      const observed = await this.#store.get(key);
      if (observed === undefined || 'isRemoved' in observed) return false;
      const outcome = await this.#store.remove(observed, stampOf(this.#runtime));
      if (outcome.kind === 'applied') return true;
      // After our own removal, another caller may have defined the schedule again. We must not remove that.
      ensureUnwritten(`schedule ${name}`, outcome, standing(outcome.current));
      return contended();
    });
  }

  /** Returns the schedules of a queue, by name. Slightly delayed. */
  async *list(options: Pick<ScheduleOptions, 'queue'> = {}): AsyncGenerator<ScheduleRecord> {
    const queue = this.#queueOf('listing schedules', options);
    for await (const { schedules } of pagesOf((after) => this.#store.page(queue, after))) yield* schedules;
  }

  /** Returns a schedule; undefined if it does not exist. Strongly consistent. */
  async get(name: string, options: Pick<ScheduleOptions, 'queue'> = {}): Promise<ScheduleRecord | undefined> {
    const observed = await this.#store.get(this.#key('reading a schedule', name, options));
    return observed === undefined || 'isRemoved' in observed ? undefined : observed;
  }

  /**
   * Returns the next occurrences: at most `limit`, fewer if the schedule ends, and an empty list while it is paused. @throws
   * ConfigurationError
   */
  next(schedule: ScheduleRecord, limit: number): readonly number[] {
    const occurrences: number[] = [];
    let occurrence: number | undefined = Number.isFinite(schedule.nextAt) ? schedule.nextAt : undefined;
    while (occurrence !== undefined && occurrences.length < limit) {
      occurrences.push(occurrence);
      occurrence = nextOccurrence(schedule, occurrence);
    }
    return occurrences;
  }

  /**
   * Creates a task now, like an occurrence at this time, by the schedule's overlap policy. The next occurrence does not change.
   * This also works for a paused schedule. Two calls within the same millisecond create one task.
   */
  async run(name: string, options: Pick<ScheduleOptions, 'queue'> = {}): Promise<RunReport> {
    const key = this.#key('running a schedule', name, options);
    // Each round uses the same time, so that the id finds a task that an unanswered attempt created.
    const at = this.#runtime.clock.now();
    return retryContended(`schedule ${name}`, this.#runtime, async (): Promise<RunReport | Contended> => {
      const observed = await this.#store.get(key);
      if (observed === undefined || 'isRemoved' in observed) return { kind: 'missing' };
      const ports = { schedules: this.#store, runtime: this.#runtime };
      const outcome = await makeOccurrence(observed, { at, runAt: at, nextAt: observed.nextAt }, ports);
      if (outcome.kind === 'busy') return { kind: 'skipped' };
      if (outcome.kind === 'refused') return contended();
      return { kind: 'enqueued', task: { queue: key.queue, id: occurrenceTaskId(key, at) } };
    });
  }

  /** Pauses a schedule: its occurrences are left out until it is resumed. @returns the schedule; undefined if it does not exist */
  async pause(name: string, options: Pick<ScheduleOptions, 'queue'> = {}): Promise<ScheduleRecord | undefined> {
    return this.#change('pausing a schedule', name, options, (observed, now) =>
      observed.pausedAt === undefined ? { pausedAt: now } : undefined,
    );
  }

  /** Resumes a schedule with the first occurrence from now. The missed occurrences stay left out. @returns as `pause` */
  async resume(name: string, options: Pick<ScheduleOptions, 'queue'> = {}): Promise<ScheduleRecord | undefined> {
    return this.#change('resuming a schedule', name, options, (observed, now) =>
      observed.pausedAt === undefined ? undefined : { nextAt: nextOccurrence(observed, now) },
    );
  }

  async #change(
    what: string,
    name: string,
    options: Pick<ScheduleOptions, 'queue'>,
    change: (observed: ScheduleRecord, now: number) => Parameters<ScheduleStore['pause']>[1] | undefined,
  ): Promise<ScheduleRecord | undefined> {
    const key = this.#key(what, name, options);
    return retryContended(`schedule ${name}`, this.#runtime, async () => {
      const observed = await this.#store.get(key);
      if (observed === undefined || 'isRemoved' in observed) return undefined;
      const stamp = stampOf(this.#runtime);
      const to = change(observed, stamp.now);
      if (to === undefined) return observed;
      const outcome = await this.#store.pause(observed, to, stamp);
      if (outcome.kind === 'applied') return outcome.row;
      ensureUnwritten(`schedule ${name}`, outcome, standing(outcome.current));
      return contended();
    });
  }

  #definePorts(): DefinePorts {
    return { schedules: this.#store, runtime: this.#runtime, queue: this.#queue };
  }

  #key(what: string, name: string, options: Pick<ScheduleOptions, 'queue'>): ScheduleKey {
    return { queue: this.#queueOf(what, options), name: validName('schedule name', name) };
  }

  #queueOf(what: string, options: Pick<ScheduleOptions, 'queue'>): string {
    const { queue = this.#queue } = validOptions(`the options of ${what}`, options, ['queue']);
    return validName('queue', queue);
  }
}

function standing(current: ScheduleRecord | RemovedSchedule | undefined): string {
  if (current === undefined || 'isRemoved' in current) return 'it is removed';
  return current.pausedAt === undefined ? 'it is in use' : 'it is paused';
}

/** Defines schedules. This is a separate module because a dispatcher needs no other operation, and its bundle must stay small. */
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
