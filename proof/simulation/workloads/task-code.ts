/** The tasks that simulated workers run: one definition per way of behaving, well or badly. */
import { defined } from '../../../shared/core/defined.ts';
import { StoreUnavailableError } from '../../../shared/core/errors.ts';
import { DoNotRetry, RetryAfter } from '../../../shared/tasks/task/control.ts';
import type { TaskContext } from '../../../shared/tasks/task/context.ts';
import type { RetryOptions, TaskRegistry } from '../../../shared/tasks/task/definition.ts';
import { defineTask, registerTasks } from '../../../shared/tasks/task/definition.ts';
import type { SessionHolder } from '../../../shared/session/keep-alive.ts';
import { PAYLOAD_ROW_LIMIT_BYTES } from '../../../shared/tasks/task/payload.ts';
import { INPUT_LIMIT_BYTES } from '../../../shared/tasks/task/task.ts';
import { spawn } from '../../../shared/tasks/task/task-request.ts';
import { wasAborted } from '../../../test/support/machines/abort-signal.ts';
import type { Prng } from '../../../test/support/machines/prng.ts';
import type { SimulatedProcess } from '../../../test/support/machines/process.ts';
import type { RightName } from '../history.ts';
import { taskRow } from '../observed-stores.ts';
import type { Recorder } from '../recorder.ts';
import type { Question } from './durable-code.ts';
import { DURABLE, durably } from './durable-code.ts';
import { commitReceipt, commitSuccessor } from './receipts.ts';

/** The environment of a piece of task code. */
interface Place {
  readonly process: SimulatedProcess;
  readonly holder: SessionHolder;
  readonly recorder: Recorder;
  /** Longest that a slow step takes. */
  readonly slowMs: number;
  /** The world's chance, so that the code's own draws do not depend on the code under test. */
  readonly prng: Prng;
  readonly seen: (what: string) => void;
  readonly violated: (invariant: string, message: string) => void;
  readonly restock: () => void;
  readonly ask: (question: Question) => void;
  /** When its session was lost, as this process lives it. */
  readonly lostAt?: () => number | undefined;
}

/** A simulated task's input; `half` separates the receipts of two lives of one id, and `version` the receipts of two pieces of work. */
export interface TaskInput {
  readonly kind: string;
  readonly half: number;
  readonly version?: number;
  /** The request that it is the work of. */
  readonly ask?: number;
  /** Its duration, if specified. */
  readonly ms?: number;
  /** How many tasks of its relay have ended before it, and the time at which the relay ends. */
  readonly leg?: number;
  readonly until?: number;
  /** Makes it too large for its row; names its owner. */
  readonly filler?: string;
}

type Behaviour = (place: Place, task: TaskContext, right: RightName, input: TaskInput) => Promise<unknown>;

interface Kind {
  readonly weight: number;
  readonly retry: RetryOptions;
  readonly timeout?: number;
  readonly behave: Behaviour;
}

const RETRY = { maxAttempts: 5, backoff: 200, backoffCap: 2_000 } as const;
/** Enough claims for any history that must end well: freezes and crashes use up attempts of innocent tasks. */
const PATIENT = { ...RETRY, maxAttempts: 40 } as const;

const KINDS: Readonly<Record<string, Kind>> = {
  quick: { weight: 6, retry: PATIENT, behave: (place) => step(place, place.prng.between(1, 60)) },

  slow: {
    weight: 3,
    retry: PATIENT,
    async behave(place, task, right, { ms }) {
      if (ms !== undefined) await step(place, ms, task.signal);
      const steps = place.prng.integer(2, 6);
      for (let count = 0; count < steps && !task.signal.aborted; count++) {
        act(place, task, right);
        await step(place, place.prng.between(0.05, 0.4) * place.slowMs, task.signal);
      }
      task.signal.throwIfAborted();
      act(place, task, right);
      return { steps };
    },
  },

  commits: {
    weight: 4,
    retry: PATIENT,
    async behave(place, task, right, input) {
      await step(place, place.prng.between(1, 100), task.signal);
      act(place, task, right);
      return commitReceipt(place, task, right, input);
    },
  },

  progresses: {
    weight: 3,
    retry: PATIENT,
    async behave(place, task, right) {
      for (let count = 1; count <= 5 && !task.signal.aborted; count++) {
        await step(place, place.prng.between(1, 0.2 * place.slowMs), task.signal);
        await saveStep(place, task, right, count);
      }
      task.signal.throwIfAborted();
    },
  },

  snoozes: {
    weight: 2,
    retry: PATIENT,
    async behave(place, task, right) {
      await step(place, place.prng.between(1, 30), task.signal);
      if (place.prng.chance(0.5)) return 'awake';
      // It gives its right away with this call, even if the response comes later.
      place.recorder.gaveBack(place.process, right);
      return task.snooze(Math.round(place.prng.between(0, 3_000)));
    },
  },

  /** Waits for children of its own, and runs again when the last of them has ended. */
  fansOut: {
    weight: 1.5,
    retry: PATIENT,
    async behave(place, task, right, { half, version = 0 }) {
      await step(place, place.prng.between(1, 30), task.signal);
      if (task.children !== undefined) {
        // For an operator to retry: its children must not run again.
        if (place.prng.chance(0.3)) throw new DoNotRetry('not now that they have ended');
        return task.children;
      }
      const count = place.prng.integer(1, 4);
      const children = Array.from({ length: count }, (_, child) => {
        const kind = place.prng.pick(['quick', 'quick', 'stumbles', 'refuses']);
        return spawn(kind, { kind, half }, { id: `${task.id}/${version}.${child}` });
      });
      // It gives its right away with this call, even if the response comes later.
      place.recorder.gaveBack(place.process, right);
      return task.waitFor(children);
    },
  },

  /** Commits, and creates what follows in the same transaction. */
  spawns: {
    weight: 1,
    retry: PATIENT,
    async behave(place, task, right, input) {
      await step(place, place.prng.between(1, 60), task.signal);
      act(place, task, right);
      const { half, version = 0 } = input;
      const id = `${task.id}+v${version}`; // other work under the id has its own child
      return commitReceipt(place, task, right, input, [spawn('quick', { kind: 'quick', half }, { id })]);
    },
  },

  stumbles: {
    weight: 2,
    retry: RETRY,
    async behave(place, task) {
      await step(place, place.prng.between(1, 30), task.signal);
      if (place.prng.chance(0.6)) throw new Error('stumbled');
      if (place.prng.chance(0.3)) throw new RetryAfter(place.prng.integer(0, 1_500), 'not now');
      return task.attempt;
    },
  },

  refuses: {
    weight: 1,
    retry: RETRY,
    async behave(place, task) {
      await step(place, place.prng.between(1, 30), task.signal);
      throw new DoNotRetry('never');
    },
  },

  /** Does not listen to its signal, and goes on using its rights. */
  deaf: {
    weight: 2,
    retry: PATIENT,
    async behave(place, task, right, input) {
      await step(place, place.prng.between(0.2, 2) * place.slowMs);
      await saveStep(place, task, right, 1);
      await step(place, place.prng.between(0.1, 1) * place.slowMs);
      return commitReceipt(place, task, right, input);
    },
  },

  overruns: {
    weight: 1,
    retry: { ...RETRY, maxAttempts: 3 },
    timeout: 400,
    behave: (place, task) => step(place, place.prng.between(100, 1_500), task.signal),
  },

  /** Takes its worker down with it. */
  poison: {
    weight: 0.5,
    retry: { ...PATIENT, maxDeaths: 2 },
    async behave(place, task) {
      await step(place, place.prng.between(1, 50), task.signal);
      place.recorder.happened(place.process.name, 'poisoned');
      place.process.kill();
      await step(place, 1);
    },
  },

  /** Returns what cannot be stored. */
  unstorable: { weight: 0.5, retry: RETRY, behave: () => Promise.resolve({ huge: 'x'.repeat(20_000) }) },

  /** Enqueues its successor in the process in which it runs. */
  relays: {
    weight: 0,
    retry: PATIENT,
    async behave(place, task, right, { until = 0, leg = 0, ...input }) {
      await step(place, place.prng.between(1, 10), task.signal);
      if (place.process.runtime.clock.now() >= until) return;
      act(place, task, right);
      const id = `${task.id.replace(/\.\d+$/, '')}.${leg + 1}`;
      await commitSuccessor(place, task, right, spawn('relays', { ...input, until, leg: leg + 1 }, { id }));
    },
  },

  /** Goes through its items. */
  itemizes: {
    weight: 2,
    retry: PATIENT,
    async behave(place, task, right) {
      const { each: left = '' } = (task.progress ?? {}) as { readonly each?: string };
      const ofItem = async (n: number): Promise<void> => {
        if (left[n] === 'd') place.violated('I2b', `item ${n} of ${task.id} was recorded, and runs again`);
        await step(place, place.prng.between(1, 0.2 * place.slowMs), task.signal);
        task.signal.throwIfAborted();
        act(place, task, right);
      };
      return task.each([0, 1, 2, 3, 4, 5], ofItem, { flushInterval: 200, concurrency: place.prng.integer(1, 3) });
    },
  },

  /** Asks for several things at once. */
  hasty: {
    weight: 0,
    retry: PATIENT,
    async behave(place, task, right) {
      await step(place, place.prng.between(1, 30), task.signal);
      await Promise.all([1, 2, 3].map((count) => saveStep(place, task, right, count)));
    },
  },

  /** May be attempted only once. */
  once: {
    weight: 0.5,
    retry: { ...RETRY, maxAttempts: 1 },
    behave: (place, task) => step(place, place.prng.between(1, 100), task.signal),
  },
};

/** A kind that some workers do not know: they belong to another deployment. */
const UNKNOWN_KIND = 'unheard-of';

export function drawKind(prng: Prng): string {
  if (prng.chance(0.01)) return UNKNOWN_KIND;
  let rest = prng.next() * Object.values(KINDS).reduce((sum, { weight }) => sum + weight, 0);
  for (const [name, { weight }] of Object.entries(KINDS)) if ((rest -= weight) <= 0) return name;
  return 'quick';
}

export function isKnownKind(kind: string): boolean {
  return kind in KINDS;
}

export function maxAttemptsOf(kind: string): number {
  return (KINDS[kind] ?? KINDS.quick!).retry.maxAttempts!;
}

export function maxDeathsOf(kind: string): number {
  const { maxAttempts, maxDeaths = maxAttempts } = (KINDS[kind] ?? KINDS.quick!).retry;
  return maxDeaths!;
}

/** The definitions, bound to the place where they run. */
export function tasksAt(at: Place, knowsAll: boolean): TaskRegistry {
  let lostAt: number | undefined;
  const place = { ...at, lostAt: () => lostAt };
  at.holder.signal.addEventListener(
    'abort',
    () => {
      lostAt = at.process.activeMs;
    },
    { once: true },
  );
  const known = Object.entries({ ...KINDS, ...(knowsAll ? { [UNKNOWN_KIND]: KINDS.quick! } : {}) });
  const definitions = known.map(([name, { retry, timeout, behave }]) => [
    name,
    defineTask<TaskInput, unknown>({
      name,
      retry,
      ...defined({ timeout }),
      run: (input, task) => {
        checkFiller(place, task, input);
        return believing(place, task, (at, own, right) => behave(at, own, right, input));
      },
    }),
  ]);
  const durable = defineTask<TaskInput, unknown>({
    name: DURABLE,
    retry: PATIENT,
    run: (input, task) =>
      believing(place, task, (_, __, right, isBelieved) => durably(place, task, { right, isBelieved }, input)),
  });
  const isDurable = { ...durable, isDurable: true };
  return registerTasks({ ...Object.fromEntries(definitions), [DURABLE]: isDurable } as Record<string, unknown>);
}

/** Runs task code, recorded as believing for as long as its signal allows. */
async function believing(
  place: Place,
  task: TaskContext,
  behave: (place: Place, task: TaskContext, right: RightName, isBelieved: () => boolean) => Promise<unknown>,
): Promise<unknown> {
  const { process, holder, recorder } = place;
  const right: RightName = { row: taskRow(task), token: task.fencingToken, session: holder.id };
  // The task's own signal, without the refresh that reading it would cause; and its session, which is asked without side effects.
  const isBelieved = (): boolean => !wasAborted(task.signal) && process.quietly(() => holder.remainingTrustMs() > 0);
  const endBelief = recorder.believes(process, right, isBelieved);
  const ran = { process: process.name, ...right };
  recorder.emit({ kind: 'began', at: process.now, ...ran });
  try {
    const result = await behave(place, task, right, isBelieved);
    recorder.emit({ kind: 'ended', at: process.now, ...ran });
    return result;
  } finally {
    endBelief();
  }
}

/** Text that is the task's own, and long. */
export function fillerOf(
  id: string,
  { half, version = 0 }: Pick<TaskInput, 'half' | 'version'>,
  bytes: number,
): string {
  const mark = `${id}/${half}/${version} `;
  return mark.repeat(Math.ceil(bytes / mark.length)).slice(0, bytes);
}

/** Checks that a large input is complete, and is the latest one of its task. */
function checkFiller({ seen, violated }: Place, { id }: TaskContext, input: TaskInput): void {
  const { filler } = input;
  if (filler === undefined) return;
  const place =
    filler.length > PAYLOAD_ROW_LIMIT_BYTES
      ? 'from a store of its own'
      : filler.length > INPUT_LIMIT_BYTES
        ? 'beside its row'
        : 'from its row, where it is deflated';
  seen(`input read ${place}`);
  if (filler !== fillerOf(id, input, filler.length)) violated('PAYLOAD', `${id} was given ${filler.slice(0, 40)}`);
}

function act({ process, recorder }: Place, task: TaskContext, right: RightName): void {
  if (!task.signal.aborted) recorder.acted(process, right);
}

/** L19: code that sleeps until its signal aborts is woken when its session is lost; a stopped process cannot be woken. */
async function step({ process, lostAt, violated }: Place, ms: number, signal?: AbortSignal): Promise<void> {
  const sleptAt = process.activeMs;
  await process.runtime.clock.sleep(ms, signal);
  // Code may have waited for an answer when its session was lost, and sleep only afterwards.
  const lateMs = process.activeMs - Math.max(sleptAt, lostAt?.() ?? process.activeMs);
  if (signal !== undefined && lateMs > TOLD_WITHIN_MS)
    violated('L19', `code was told ${lateMs.toFixed(0)} ms after its session was lost`);
}

/** Anything that takes no request. */
const TOLD_WITHIN_MS = 5;

/** Saves a step, and ignores an unavailable store: an unacknowledged step is not relied on. */
async function saveStep(
  { process, recorder }: Place,
  task: TaskContext,
  right: RightName,
  count: number,
): Promise<void> {
  const progress = { token: right.token, step: count };
  try {
    await task.saveProgress(progress);
  } catch (error) {
    if (error instanceof StoreUnavailableError) return;
    throw error;
  }
  const { row } = right;
  recorder.emit({
    kind: 'acknowledged',
    at: process.now,
    process: process.name,
    what: 'progress',
    row,
    value: JSON.stringify(progress),
  });
}
