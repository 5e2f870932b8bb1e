/**
 * `kit.everyCrash`: runs one task many times, to its end, and kills one of its workers at a different request each time.
 *
 * Every run starts with the same rows and the same time, so it sends the requests of the first run.
 * A run is the whole life of the task and of all tasks that it creates: if something is due later, time passes and another worker runs.
 */
import { ConfigurationError, messageOf, shown } from '../core/errors.ts';
import { validOptions } from '../core/validate/options.ts';
import type { Duration } from '../core/validate/duration.ts';
import type { EnqueueOptions, TaskRequest } from '../tasks/task/task-request.ts';
import type { TaskRecord } from '../tasks/task/task.ts';
import { describeTask } from '../tasks/task/task.ts';
import type { EndedAttempt } from './attempt-watch.ts';
import type { CrashPlace, WorkersLife } from './worker-process.ts';

export interface EveryCrashOptions {
  /** Options of the task that each run enqueues. Its default id is `every-crash`. */
  readonly enqueue?: EnqueueOptions;
  /** Makes the task the callback of a batch of these: `task.children` shows how they ended. Their workers are killed, too. */
  readonly children?: readonly TaskRequest[];
  /** Called before each run. Resets the state that your code keeps outside the kit; the kit resets its rows and its clock. */
  readonly before?: () => unknown;
  /** Tries only this crash, copied from the error of an earlier call. */
  readonly only?: CrashPlace;
  /** See `drain`. */
  readonly timePasses?: boolean;
  /** See `drain`. */
  readonly lifetime?: Duration;
  /** Called when no task is due, to answer the callbacks and approvals of the task. It may be called again. */
  readonly idle?: () => unknown;
}

/** One run, after its task has ended. */
export interface CrashRun {
  /** The request at which the worker was killed; `undefined` in the first run, which has no crash. */
  readonly crash: (CrashPlace & { readonly verb: string }) | undefined;
  readonly task: TaskRecord;
}

export interface EveryCrashReport {
  /** The requests of the workers of the run without a crash, in order, such as `task.claim`. */
  readonly requests: readonly string[];
  /** Number of crashes tried: two per request, unless `only` is given. */
  readonly crashes: number;
  /** The attempts of the run without a crash, in the order of their ends. */
  readonly tasks: readonly EndedAttempt[];
}

/** The parts of the kit that `everyCrash` needs. */
export interface CrashRig {
  /** Restores the rows and the time of the call. */
  restore(): void;
  /** Enqueues the task for a run whose worker is killed at `killAt`. */
  begin(killAt: CrashPlace | undefined): Promise<WorkersLife>;
  /** Runs a worker until no task is due, or until it is killed. @returns the attempts that ended */
  work(life: WorkersLife): Promise<readonly EndedAttempt[]>;
  /** Answers what the task waits for. */
  idle?: (() => unknown) | undefined;
  pass(ms: number): Promise<void>;
  task(): Promise<TaskRecord | undefined>;
  /** Whether all tasks created in this run have ended. */
  isIdle(): boolean;
  /** How long until a task is due; 0 if that is not known. */
  untilDueMs(): number;
  /** Why one of them does not begin, if the kit knows. */
  obstacle(): Promise<string | undefined>;
}

const OPTIONS = ['enqueue', 'children', 'before', 'only', 'timePasses', 'lifetime', 'idle'] as const;

const OUTCOMES = ['unsent', 'unanswered'] as const;
/** Longer than a session of the kit lives. Each later wait is twice as long, for tasks with a retry delay. */
const FIRST_WAIT_MS = 60_000;
const DAY_MS = 86_400_000;
/** The task that runs endlessly at one moment. */
const WORKERS_LIMIT = 1_000;

/** @throws ConfigurationError */
export function validCrashOptions(options: EveryCrashOptions): EveryCrashOptions {
  validOptions('the options of everyCrash', options, OPTIONS);
  const { only } = options;
  const isValid = only === undefined || (Number.isInteger(only.request) && OUTCOMES.includes(only.outcome));
  if (!isValid)
    throw new ConfigurationError(
      `only = ${shown(only)}: pass the number of a request and how it ends, such as { request: 7, outcome: 'unanswered' }`,
    );
  return options;
}

export async function everyCrash(
  rig: CrashRig,
  check: (run: CrashRun) => unknown,
  only: CrashPlace | undefined,
): Promise<EveryCrashReport> {
  try {
    return await allRuns(rig, check, only);
  } finally {
    rig.restore();
  }
}

async function allRuns(
  rig: CrashRig,
  check: (run: CrashRun) => unknown,
  only: CrashPlace | undefined,
): Promise<EveryCrashReport> {
  const whole = await oneRun(rig, check, undefined);
  const places = only === undefined ? placesOf(whole.life.requests.length) : [only];
  for (const place of places) {
    const verb = whole.life.verbs[place.request - 1];
    if (verb === undefined)
      throw new ConfigurationError(
        `only.request = ${place.request}: the task made ${whole.life.verbs.length} requests`,
      );
    await oneRun(rig, check, { place, verb, whole: whole.life });
  }
  return { requests: whole.life.verbs, crashes: places.length, tasks: whole.attempts };
}

interface Kill {
  readonly place: CrashPlace;
  readonly verb: string;
  /** The run without a crash. */
  readonly whole: WorkersLife;
}

interface Run {
  readonly life: WorkersLife;
  readonly attempts: readonly EndedAttempt[];
}

async function oneRun(rig: CrashRig, check: (run: CrashRun) => unknown, kill: Kill | undefined): Promise<Run> {
  rig.restore();
  const life = await rig.begin(kill?.place);
  const attempts: EndedAttempt[] = [];
  const same = (): void => kill && ensureSame(kill.whole.requests, life.requests, kill.place);
  try {
    const task = await endOf(rig, life, attempts);
    same();
    if (!life.claims.includes(task.id)) throw unclaimed(task);
    await check({ crash: kill && { ...kill.place, verb: kill.verb }, task });
  } catch (error) {
    same();
    throw kill === undefined ? error : atPlace(kill, error);
  }
  return { life, attempts };
}

function placesOf(requests: number): readonly CrashPlace[] {
  return Array.from({ length: requests }, (_, n) => OUTCOMES.map((outcome) => ({ request: n + 1, outcome }))).flat();
}

function unclaimed(task: TaskRecord): ConfigurationError {
  return new ConfigurationError(
    `no worker claimed ${describeTask(task)}, so no crash would touch it: it is ${task.state}`,
  );
}

function atPlace({ place: { request, outcome }, verb, whole }: Kill, error: unknown): Error {
  const how = outcome === 'unsent' ? 'before it was sent' : 'after it was applied, before its answer';
  return new Error(
    `killed at request ${request} of ${whole.verbs.length} (${verb}), ${how}: ${messageOf(error)}\n` +
      `This crash alone: { only: { request: ${request}, outcome: '${outcome}' } }`,
    { cause: error },
  );
}

/** Lets workers run, and time pass between them, until the task and all that it created have ended. */
async function endOf(rig: CrashRig, life: WorkersLife, attempts: EndedAttempt[]): Promise<TaskRecord> {
  let waitMs = FIRST_WAIT_MS;
  let hasAnswered = false;
  for (let workers = 0; waitMs < DAY_MS && workers < WORKERS_LIMIT; workers++) {
    const { length } = life.claims;
    attempts.push(...(await rig.work(life)));
    const task = await rig.task();
    if (task !== undefined && rig.isIdle()) return task;
    const hasWorked = life.claims.length > length;
    if (hasWorked) waitMs = FIRST_WAIT_MS;
    // Its answer may make something due at once.
    if (rig.idle !== undefined && (hasWorked || !hasAnswered)) {
      hasAnswered = true;
      await rig.idle();
      continue;
    }
    hasAnswered = false;
    await rig.pass(Math.max(waitMs, rig.untilDueMs()));
    if (!hasWorked) waitMs *= 2;
  }
  const obstacle = await rig.obstacle();
  const error = messageOfLast(await rig.task());
  throw new Error(
    `the task, or one that it created, has not ended after ${waitMs < DAY_MS ? `${WORKERS_LIMIT} workers` : 'a day'}` +
      [obstacle, error].map((text) => (text === undefined ? '' : `; ${text}`)).join(''),
  );
}

function messageOfLast(task: TaskRecord | undefined): string | undefined {
  return task?.lastError === undefined ? undefined : `its last error: ${task.lastError.message}`;
}

/** The number of a request names a place only if the task sends the same requests in every run. */
function ensureSame(first: readonly string[], now: readonly string[], { request }: CrashPlace): void {
  const n = Array.from({ length: request }, (_, at) => at).find((at) => now[at] !== first[at]);
  if (n === undefined) return;
  throw new ConfigurationError(
    `the task does not send the same requests in each run: request ${n + 1} was ${first[n] ?? 'none'}, and is now ${now[n] ?? 'none'}. ` +
      'Take time and random numbers from the kit, or give `before` to reset what the code keeps',
  );
}
