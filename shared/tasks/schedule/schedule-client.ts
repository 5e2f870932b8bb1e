/** Defining tasks that recur. */
import { allOf } from '../../core/runtime/all-of.ts';
import { isSame } from '../../core/runtime/same.ts';
import { ConfigurationError, StoreUnavailableError, shown } from '../../core/errors.ts';
import { givenMs } from '../../core/validate/duration.ts';
import { validName } from '../../core/validate/name.ts';
import { validOptions } from '../../core/validate/options.ts';
import { stampOf } from '../../core/lease/stamp.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import { slotAfter, validCron } from './cron.ts';
import { ACT, contended, retryContended } from '../../core/wait/retry-contended.ts';
import type { TaskReference } from '../task/task-request.ts';
import { newTaskOf } from '../task/task-request.ts';
import type { ScheduleOptions, TaskSchedule } from './declaration.ts';
import { validScheduleOptions, validSchedules } from './declaration.ts';
import type { ScheduleDefinition, ScheduleRecord } from './schedule.ts';
import { MISSED_POLICIES, slotTaskId } from './schedule.ts';
import type { ScheduleStore } from './schedule-store.ts';
import { DEFAULT_QUEUE, INPUT_LIMIT_BYTES } from '../task/task.ts';

/** As slow as the slowest schedule of dispatchers in the examples. */
const DEFAULT_TOLERANCE_MS = 3_600_000;

/** Tasks that recur: define, remove, list. */
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
   * Defines a schedule, or defines it again: then its slots begin with the next one from now.
   * Defining it again as it is changes nothing, missed slots included, so that a deployment may do so every time.
   * @throws ConfigurationError naming what cannot be used
   */
  async define<Given>(
    name: string,
    task: TaskReference<Given>,
    input: NoInfer<Given>,
    options: ScheduleOptions,
  ): Promise<ScheduleRecord> {
    const definition = await this.#validate(name, task, input, options);
    return retryContended(`schedule ${name}`, ACT, async () => {
      const observed = await this.#store.get(definition);
      if (observed !== undefined && !('isRemoved' in observed) && isSameSchedule(observed, definition)) return observed;
      const stamp = stampOf(this.#runtime);
      const nextAt = slotAfter(definition, stamp.now);
      if (nextAt === undefined) throw new ConfigurationError(`schedule ${name} has no slot left`);
      const outcome = await this.#store.put(definition, nextAt, observed, stamp);
      return outcome.kind === 'applied' ? outcome.row : contended(outcome);
    });
  }

  /**
   * Defines each of a list, as a module of tasks exports it. What is not in the list stays as it is.
   * @throws ConfigurationError, also when the others could be defined
   */
  async defineAll(schedules: readonly TaskSchedule[]): Promise<readonly ScheduleRecord[]> {
    const all = validSchedules('schedules', schedules);
    return allOf(all.map(({ name, task, input, options }) => this.define(name, task, input, options)));
  }

  /** Removes a schedule; what its slots have become stays. @returns whether there was one */
  async remove(name: string, options: Pick<ScheduleOptions, 'queue'> = {}): Promise<boolean> {
    const key = { queue: this.#queueOf('removing a schedule', options), name: validName('schedule name', name) };
    return retryContended(`schedule ${name}`, ACT, async () => {
      const observed = await this.#store.get(key);
      if (observed === undefined || 'isRemoved' in observed) return false;
      const outcome = await this.#store.remove(observed, stampOf(this.#runtime));
      if (outcome.kind === 'applied') return true;
      // What is there now may be another caller's answer to our own removal, and is not ours to remove.
      if (outcome.earlierAttempt === 'unknown') throw undecided(name);
      return contended(outcome);
    });
  }

  /** The schedules of a queue by name. A moment behind. */
  async *list(options: Pick<ScheduleOptions, 'queue'> = {}): AsyncGenerator<ScheduleRecord> {
    const queue = this.#queueOf('listing schedules', options);
    let after: unknown;
    do {
      const { schedules, next } = await this.#store.page(queue, after);
      yield* schedules;
      after = next;
    } while (after !== undefined);
  }

  #queueOf(what: string, options: Pick<ScheduleOptions, 'queue'>): string {
    const { queue = this.#queue } = validOptions(`the options of ${what}`, options, { queue: true });
    return validName('queue', queue);
  }

  async #validate(
    name: string,
    task: TaskReference<unknown>,
    input: unknown,
    options: ScheduleOptions,
  ): Promise<ScheduleDefinition> {
    validScheduleOptions(name, options);
    const what = `schedule ${name}`;
    const { cron, zone } = validCron(
      what,
      { cron: options.cron, zone: options.zone ?? 'UTC' },
      this.#runtime.clock.now(),
    );
    const missed = MISSED_POLICIES.find((known) => known === (options.missed ?? 'last'));
    if (missed === undefined)
      throw new ConfigurationError(
        `${what}: missed = ${shown(options.missed)}: give one of ${MISSED_POLICIES.join(', ')}`,
      );
    const { tolerance, priority, queue = this.#queue } = options;
    const first = await newTaskOf(
      task,
      input,
      {
        id: slotTaskId({ name }, 0),
        ...(priority === undefined ? {} : { priority }),
        queue,
      },
      // A store for payloads would not help: the schedule's row holds the input of all its slots.
      { runtime: this.#runtime, queue: this.#queue, hasPayloadStore: true },
    );
    if (first.payload !== undefined)
      throw new ConfigurationError(
        `${what}: its input has ${first.payload.bytes} bytes as JSON, and its row takes ` +
          `${INPUT_LIMIT_BYTES}; store it elsewhere and pass a reference`,
      );
    return {
      name,
      cron,
      zone,
      missed,
      queue: first.queue,
      task: first.name,
      input: first.input,
      priority: first.priority,
      toleranceMs: givenMs(`${what}: tolerance`, tolerance) ?? DEFAULT_TOLERANCE_MS,
    };
  }
}

function undecided(name: string): StoreUnavailableError {
  return new StoreUnavailableError(
    `schedule ${name}: whether it was removed is not known, for the answer was lost and it was written by others since; look at it again`,
    { applied: 'unknown' },
  );
}

function isSameSchedule(
  { nextAt: _, nonce: __, definedAt: ___, ...observed }: ScheduleRecord,
  definition: ScheduleDefinition,
): boolean {
  return isSame(observed, definition);
}
