/**
 * The exports of a task module, for everything that runs its tasks: deployed workers, `leasehold work`, the test kit.
 *
 * | export | meaning |
 * | --- | --- |
 * | any | definitions, made with `defineTask` |
 * | `middleware` | a list of middleware around every attempt, the first one outermost |
 * | `events` | handlers that observe how attempts end |
 * | `payloads` | the store of inputs that do not fit into the table |
 * | `schedules` | a list of recurring tasks, made with `defineSchedule`; long-lived workers define them when they start |
 *
 * Any other value under these names is rejected; otherwise a typo would be ignored silently.
 */
import { ConfigurationError, messageOf, shown } from '../../core/errors.ts';
import type { TaskSchedule } from '../schedule/declaration.ts';
import { validSchedules } from '../schedule/declaration.ts';
import type { TaskRegistry } from '../task/definition.ts';
import { registerTasks } from '../task/definition.ts';
import type { TaskMiddleware } from '../task/middleware.ts';
import { withMiddleware } from '../task/middleware.ts';
import { loadModule } from '../task/load-module.ts';
import type { PayloadStore } from '../task/payload.ts';
import { exportedPayloads } from '../task/payload.ts';
import type { TaskEvents } from './events.ts';

export interface TaskModule {
  /** Its tasks, with its middleware around each. */
  readonly registry: TaskRegistry;
  readonly events: TaskEvents | undefined;
  readonly payloads: PayloadStore | undefined;
  readonly schedules: readonly TaskSchedule[];
}

/** Additions of the code that runs the module. */
interface ModuleAdditions {
  /** Nested inside the module's own. */
  readonly middleware?: readonly TaskMiddleware[] | undefined;
  /** Called after the module's own. */
  readonly events?: TaskEvents | undefined;
  /** Replaces the module's own store. */
  readonly payloads?: PayloadStore | undefined;
}

const HOOKS = ['before', 'after', 'onError'] as const satisfies readonly (keyof TaskMiddleware)[];
const EVENTS = ['onClaimed', 'onSettled', 'onDied', 'onExpired'] as const satisfies readonly (keyof TaskEvents)[];

/** @throws ConfigurationError when an export with one of the names above is something else, or there is no task */
export function taskModuleOf(exports: Readonly<Record<string, unknown>>, additions: ModuleAdditions = {}): TaskModule {
  if (typeof exports !== 'object' || (exports as unknown) === null)
    throw new ConfigurationError(
      `the tasks are ${shown(exports)}: pass what their module exports, by import * as tasks from './tasks.ts'`,
    );
  const middleware = [...exportedMiddleware(exports), ...(additions.middleware ?? [])];
  const all = [exportedEvents(exports), additions.events].filter((events) => events !== undefined);
  return {
    registry: withMiddleware(registerTasks(exports), middleware),
    events: all.length > 1 ? toldToAll(all) : all[0],
    payloads: additions.payloads ?? exportedPayloads(exports),
    schedules: exportedSchedules(exports),
  };
}

/** Loads a user's module by its path, which runs its code. @throws ConfigurationError */
export async function loadTaskModule(entry: string, additions: ModuleAdditions = {}): Promise<TaskModule> {
  return taskModuleOf(await loadModule(entry), additions);
}

function exportedMiddleware({ middleware }: Readonly<Record<string, unknown>>): readonly TaskMiddleware[] {
  if (middleware === undefined) return [];
  if (Array.isArray(middleware) && middleware.every((each) => hasSome(each, HOOKS)))
    return middleware as readonly TaskMiddleware[];
  throw new ConfigurationError(
    `the module of tasks exports middleware = ${shown(middleware)}: export a list of ` +
      `objects with ${HOOKS.join(', ')}, or name it otherwise`,
  );
}

function exportedEvents({ events }: Readonly<Record<string, unknown>>): TaskEvents | undefined {
  if (events === undefined || hasSome(events, EVENTS)) return events as TaskEvents | undefined;
  throw new ConfigurationError(
    `the module of tasks exports events = ${shown(events)}: export an object with ${EVENTS.join(', ')}, or name it otherwise`,
  );
}

function exportedSchedules({ schedules }: Readonly<Record<string, unknown>>): readonly TaskSchedule[] {
  return schedules === undefined ? [] : validSchedules('the module of tasks exports schedules', schedules);
}

/** Whether the value is an object with at least one of these functions. */
function hasSome(value: unknown, verbs: readonly string[]): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return verbs.some((verb) => typeof (value as Readonly<Record<string, unknown>>)[verb] === 'function');
}

/** If a handler throws, the others are still called. */
export function toldToAll(all: readonly TaskEvents[]): TaskEvents {
  const each = async (say: (events: TaskEvents) => unknown): Promise<void> => {
    // Each is called at once: an async function runs to its first `await`.
    const told = await Promise.allSettled(all.map(async (events) => say(events)));
    const errors = told.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
    if (errors.length > 0) throw new AggregateError(errors, errors.map(messageOf).join('; '));
  };
  return {
    onClaimed: (task, how) => each((events) => events.onClaimed?.(task, how)),
    onSettled: (task, settlement) => each((events) => events.onSettled?.(task, settlement)),
    onDied: (task, error) => each((events) => events.onDied?.(task, error)),
    onExpired: (task) => each((events) => events.onExpired?.(task)),
  };
}
