/** The attempts of a kit's workers: how each task's attempts ended, and whether a task runs endlessly at one moment. */
import { ConfigurationError } from '../core/errors.ts';
import type { Clock } from '../core/runtime/clock.ts';
import type { TaskEvents } from '../tasks/run/events.ts';
import type { Settlement } from '../tasks/run/settle.ts';
import type { Effect, NewTask, TaskStore } from '../tasks/task/task-store.ts';
import type { TaskError, TaskKey } from '../tasks/task/task.ts';
import { NOT_NOW } from './crash-points.ts';

/** The end of a task's attempt. */
export interface EndedAttempt {
  readonly id: string;
  readonly name: string;
  readonly ended: Settlement | 'expired';
  /** Why it failed; undefined if it did not. */
  readonly error?: TaskError;
}

/** A poller that polls once a second polls less often in an hour, and a stopped clock is not an hour. */
const ATTEMPTS_LIMIT = 1_000;

/** Attempts and descent of tasks since the clock last moved. */
export class RunawayWatch {
  readonly #clock: Clock;
  #atMs = 0;
  readonly #attempts = new Map<string, number>();
  readonly #generations = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  forget(): void {
    this.#attempts.clear();
    this.#generations.clear();
  }

  /** @returns why the worker must stop; undefined if it may go on */
  claimed({ id, name }: { readonly id: string; readonly name: string }): string | undefined {
    this.#forgetIfMoved();
    const attempts = (this.#attempts.get(id) ?? 0) + 1;
    this.#attempts.set(id, attempts);
    if (attempts > ATTEMPTS_LIMIT) return `task ${id} (${name}) began ${ATTEMPTS_LIMIT} attempts and has not ended`;
    if ((this.#generations.get(id) ?? 0) < ATTEMPTS_LIMIT) return undefined;
    return `task ${id} (${name}) has ${ATTEMPTS_LIMIT} ancestors, each spawned by the one before`;
  }

  spawned(parent: TaskKey, children: readonly NewTask[]): void {
    this.#forgetIfMoved();
    const generation = (this.#generations.get(parent.id) ?? 0) + 1;
    for (const { id } of children) this.#generations.set(id, generation);
  }

  #forgetIfMoved(): void {
    const now = this.#clock.monotonic();
    if (now !== this.#atMs) this.forget();
    this.#atMs = now;
  }
}

/** Watches one worker of a kit. */
export class AttemptWatch {
  readonly ended: EndedAttempt[] = [];
  readonly #runaway: RunawayWatch;
  readonly #onRunaway: () => void;
  readonly #errors = new Map<string, TaskError>();
  #excess: string | undefined;

  constructor(runaway: RunawayWatch, onRunaway: () => void) {
    this.#runaway = runaway;
    this.#onRunaway = onRunaway;
  }

  /** @throws ConfigurationError */
  ensureEnds(): void {
    if (this.#excess !== undefined)
      throw new ConfigurationError(
        `${this.#excess}, while the kit's clock stood still: let time pass between attempts, such as task.snooze('5s')`,
      );
  }

  store(store: TaskStore): TaskStore {
    const claimed = <T extends { readonly kind: string }>(
      task: { readonly id: string; readonly name: string },
      outcome: T,
    ): T => {
      const excess = outcome.kind === 'applied' ? this.#runaway.claimed(task) : undefined;
      if (excess === undefined) return outcome;
      this.#excess ??= excess;
      this.#onRunaway();
      return outcome;
    };
    const failed = ({ id }: TaskKey, error: TaskError): void => void this.#errors.set(id, error);
    return {
      ...store,
      claim: async (task, ...rest) =>
        this.#excess === undefined ? claimed(task, await store.claim(task, ...rest)) : NOT_NOW,
      takeOver: async (task, ...rest) =>
        this.#excess === undefined ? claimed(task, await store.takeOver(task, ...rest)) : NOT_NOW,
      commit: (claim, result, effects, ...rest) => {
        this.#runaway.spawned(claim, effects.flatMap(spawnedBy));
        return store.commit(claim, result, effects, ...rest);
      },
      waitForChildren: (claim, batch, children, ...rest) => {
        this.#runaway.spawned(claim, children);
        return store.waitForChildren(claim, batch, children, ...rest);
      },
      retry: (claim, failure, ...rest) => {
        failed(claim, failure.error);
        return store.retry(claim, failure, ...rest);
      },
      discard: (claim, error, ...rest) => {
        failed(claim, error);
        return store.discard(claim, error, ...rest);
      },
    };
  }

  /** The same events, noted here as well. */
  events(events: TaskEvents = {}): TaskEvents {
    const note = (
      { id, name }: { readonly id: string; readonly name: string },
      ended: EndedAttempt['ended'],
      error?: TaskError,
    ): void => void this.ended.push({ id, name, ended, ...(error && { error }) });
    return {
      onClaimed: (task, how) => events.onClaimed?.(task, how),
      onSettled: (task, settlement) => {
        note(
          task,
          settlement,
          settlement === 'retried' || settlement === 'dead' ? this.#errors.get(task.id) : undefined,
        );
        return events.onSettled?.(task, settlement);
      },
      onDied: (task, error) => {
        note(task, 'dead', error);
        return events.onDied?.(task, error);
      },
      onExpired: (task) => {
        note(task, 'expired');
        return events.onExpired?.(task);
      },
    };
  }
}

function spawnedBy(effect: Effect): readonly NewTask[] {
  return 'spawn' in effect ? [effect.spawn] : [];
}

/** The first failure, for a person who reads a test's output. */
export function describeFailures(attempts: readonly EndedAttempt[]): string | undefined {
  const failures = attempts.filter(({ error }) => error !== undefined);
  const [first] = failures;
  if (first?.error === undefined) return undefined;
  const { id, name, ended, error } = first;
  const more = failures.length === 1 ? '' : `, the first of ${failures.length} failures`;
  return `task ${id} (${name}) ${ended === 'dead' ? 'is' : 'was'} ${ended}${more}: ${error.name}: ${error.message}`;
}
