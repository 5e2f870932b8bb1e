/**
 * `kit.everyCrash`: runs one task many times and kills its worker at a different request each time.
 *
 * Every run starts with the same rows and the same time, so it sends the requests of the first run.
 */
import { ConfigurationError, messageOf, shown } from '../core/errors.ts';
import { validOptions } from '../core/validate/options.ts';
import type { Duration } from '../core/validate/duration.ts';
import type { EnqueueOptions } from '../tasks/task/task-request.ts';
import type { TaskRecord } from '../tasks/task/task.ts';
import type { CrashPlace, WorkerProcess } from './worker-process.ts';

export interface EveryCrashOptions {
  /** Options of the task that each run enqueues. Its default id is `every-crash`. */
  readonly enqueue?: EnqueueOptions;
  /** Called before each run. Resets the state that your code keeps outside the kit; the kit resets its rows and its clock. */
  readonly before?: () => unknown;
  /** Tries only this crash, copied from the error of an earlier call. */
  readonly only?: CrashPlace;
  /** See `drain`. */
  readonly timePasses?: boolean;
  /** See `drain`. For the worker that is killed. */
  readonly lifetime?: Duration;
}

/** One run, after its task has ended. */
export interface CrashRun {
  /** The request at which the worker was killed; `undefined` in the first run, which has no crash. */
  readonly crash: (CrashPlace & { readonly verb: string }) | undefined;
  readonly task: TaskRecord;
}

export interface EveryCrashReport {
  /** The requests of a worker that is not killed, in order, such as `task.claim`. */
  readonly requests: readonly string[];
  /** Number of crashes tried: two per request, unless `only` is given. */
  readonly crashes: number;
}

/** The parts of the kit that `everyCrash` needs. */
export interface CrashRig {
  /** Restores the rows and the time of the call. */
  restore(): void;
  /** Enqueues the task and runs a worker, which is killed at `killAt`. */
  start(killAt: CrashPlace | undefined): Promise<WorkerProcess>;
  /** Lets time pass, then runs another worker. */
  goOn(ms: number): Promise<void>;
  task(): Promise<TaskRecord | undefined>;
  /** Whether all tasks created in this run have ended. */
  isIdle(): boolean;
}

const OPTIONS = ['enqueue', 'before', 'only', 'timePasses', 'lifetime'] as const;

const OUTCOMES = ['unsent', 'unanswered'] as const;
/** Longer than a session of the kit lives. Each later wait is twice as long, for tasks with a retry delay. */
const FIRST_WAIT_MS = 60_000;
const DAY_MS = 86_400_000;

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
  rig.restore();
  const whole = await rig.start(undefined);
  await judge(rig, check, undefined, whole.verbs.length);
  const places = only === undefined ? placesOf(whole.requests.length) : [only];
  for (const place of places) {
    const verb = whole.verbs[place.request - 1];
    if (verb === undefined)
      throw new ConfigurationError(`only.request = ${place.request}: the task made ${whole.verbs.length} requests`);
    rig.restore();
    const { requests } = await rig.start(place);
    ensureSame(whole.requests, requests, place);
    await judge(rig, check, { ...place, verb }, whole.verbs.length);
  }
  return { requests: whole.verbs, crashes: places.length };
}

function placesOf(requests: number): readonly CrashPlace[] {
  return Array.from({ length: requests }, (_, n) => OUTCOMES.map((outcome) => ({ request: n + 1, outcome }))).flat();
}

async function judge(
  rig: CrashRig,
  check: (run: CrashRun) => unknown,
  crash: CrashRun['crash'],
  requests: number,
): Promise<void> {
  try {
    await check({ crash, task: await endOf(rig) });
  } catch (error) {
    if (crash === undefined) throw error;
    const { request, outcome, verb } = crash;
    const how = outcome === 'unsent' ? 'before it was sent' : 'after it was applied, before its answer';
    throw new Error(
      `killed at request ${request} of ${requests} (${verb}), ${how}: ${messageOf(error)}\n` +
        `This crash alone: { only: { request: ${request}, outcome: '${outcome}' } }`,
      { cause: error },
    );
  }
}

async function endOf(rig: CrashRig): Promise<TaskRecord> {
  for (let waitMs = FIRST_WAIT_MS; waitMs < DAY_MS; waitMs *= 2) {
    const task = await rig.task();
    if (task !== undefined && rig.isIdle()) return task;
    await rig.goOn(waitMs);
  }
  const error = (await rig.task())?.lastError?.message;
  throw new Error(
    `the task, or one that it created, has not ended after a day${error === undefined ? '' : `; its last error: ${error}`}`,
  );
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
