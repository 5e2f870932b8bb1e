/** Task requests: the options that users pass, and the validation that turns them into a new task. */
import { defined } from '../../core/defined.ts';
import { ConfigurationError, shown } from '../../core/errors.ts';
import type { Duration, SpanText } from '../../core/validate/duration.ts';
import { durationMs, givenMs } from '../../core/validate/duration.ts';
import { givenName, validName, validWholeNumber, validOptions } from '../../core/validate/options.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import { InvalidInputError } from './control.ts';
import type { Dedup, DuplicatePolicy } from './dedup.ts';
import { DUPLICATE_POLICIES } from './dedup.ts';
import { describeIssues } from '../../core/validate/parsed-schema.ts';
import type { RateOfKey } from './key-limit.ts';
import { KEY_LIMIT_MAX } from './key-limit.ts';
import { arrivingInput, carriedInput } from './payload.ts';
import { validMaxAttempts, validTimeoutMs } from './bounds.ts';
import type { NewTask } from './task-store.ts';
import { ensureRoundTrips } from './json-round-trip.ts';
import type { Json, Priority, TaskPolicy } from './task.ts';
import { PRIORITIES } from './task.ts';
import { utf8Bytes } from '../../core/runtime/bytes.ts';
import type { When } from '../../core/validate/moment.ts';
import { laterBy, whenMs } from '../../core/validate/moment.ts';
import type { StandardIssue, StandardSchemaV1 } from '../../core/validate/standard-schema.ts';

/** A task definition, or its name if the producer does not import the definition. */
export type TaskReference<Given> =
  | string
  | {
      readonly kind: 'leasehold.task';
      readonly name: string;
      readonly input: StandardSchemaV1<Given, unknown> | undefined;
    };

/** Options that a task may have whether `enqueue` or a schedule creates it. All runs of a schedule have the same. */
export interface SharedTaskOptions {
  readonly queue?: string;
  readonly priority?: Priority;
  /** Concurrency key: at most `limit` tasks of one key run at a time. */
  readonly key?: string;
  /** Maximum number of concurrently running tasks of the key: 1 to 100. Requires `key`. Default: 1. */
  readonly limit?: number;
  /** At most `count` tasks of the key start per window of `per`, which is at least 1 s. Requires `key`. */
  readonly rate?: { readonly count: number; readonly per: Duration };
  /** Runs the ordered tasks of a key one at a time, in the order they were enqueued. Requires `key`. See `line.ts`. */
  readonly ordered?: boolean;
  /** Tenant: workers serve the tenants of a queue round robin. Default: the parent task's tenant. See `group-walk.ts`. */
  readonly tenant?: string;
  /** Discards the task if no worker has started it within this time after it is due: `'1h'`. */
  readonly expires?: SpanText;
  /** A name for people, such as `'order o-7'`: at most 64 bytes on one line. Commands and the console show it. */
  readonly label?: string;
  /** Overrides the definition's `maxAttempts`. The definition's `maxDeaths` still applies. */
  readonly maxAttempts?: number;
  /** Overrides the definition's `timeout` for one attempt. */
  readonly timeout?: Duration;
}

export interface EnqueueOptions extends Omit<SharedTaskOptions, 'expires'> {
  /** Task id: enqueuing the same id and input again changes nothing. Default: a generated, time-ordered id. */
  readonly id?: string;
  /** When the task becomes due: after a span such as `'10m'`, or at a moment: a `Date`, or ISO 8601 with a zone. Default: now. */
  readonly delay?: When;
  /** W3C Trace Context of the task. Default: the trace of the client or of the parent task. */
  readonly traceparent?: string;
  /** Action if a task with this id already exists. Requires `id`. Default: `reject`. See `dedup.ts`. */
  readonly onDuplicate?: DuplicatePolicy;
  /** How long after its creation an ended task's id still counts as a duplicate. Requires `id`. Default: no limit. */
  readonly window?: Duration;
  /** With `onDuplicate: 'debounce'`: the longest time for which requests postpone the task, from the first of them. Default: no limit. */
  readonly maxWait?: Duration;
  /**
   * Discards the task if no worker has started it within this span from when it is due, or by this moment. A task that has started never expires.
   */
  readonly expires?: When;
}

/**
 * Other places in which an option can be given. `command`: as a flag of `leasehold enqueue`, and in a line of its file. `callback`: of a
 * batch, which is due when the last child has ended.
 */
type Place = 'schedule' | 'command' | 'callback';

const PLACES = {
  id: ['command', 'callback'],
  queue: ['schedule', 'callback'],
  priority: ['schedule', 'command', 'callback'],
  delay: ['command'],
  expires: ['schedule', 'command'],
  label: ['schedule', 'command', 'callback'],
  maxAttempts: ['schedule', 'command', 'callback'],
  timeout: ['schedule', 'command', 'callback'],
  key: ['schedule', 'command'],
  limit: ['schedule', 'command'],
  rate: ['schedule', 'command'],
  ordered: ['schedule', 'command'],
  tenant: ['schedule', 'command', 'callback'],
  onDuplicate: ['command'],
  window: ['command'],
  maxWait: ['command'],
  traceparent: [],
} as const satisfies Record<keyof EnqueueOptions, readonly Place[]>;

export const ENQUEUE_OPTIONS = Object.keys(PLACES) as readonly (keyof EnqueueOptions)[];

/** The options that can be given in a place. */
export type OptionsIn<P extends Place> = Pick<
  EnqueueOptions,
  { [Name in keyof EnqueueOptions]-?: P extends (typeof PLACES)[Name][number] ? Name : never }[keyof EnqueueOptions]
>;

export function optionsIn<P extends Place>(place: P): readonly (keyof OptionsIn<P>)[] {
  return ENQUEUE_OPTIONS.filter((name): name is keyof OptionsIn<P> =>
    (PLACES[name] as readonly Place[]).includes(place),
  );
}

/** Defaults for options that a request leaves out. */
export interface RequestDefaults {
  readonly runtime: Runtime;
  readonly queue: string;
  readonly traceparent?: string | undefined;
  readonly tenant?: string | undefined;
  /** Whether the client has a payload store for inputs that are too large for the table. */
  readonly hasPayloadStore?: boolean;
}

/** A task to create later, or together with others. Built by `spawn`. */
export interface TaskRequest {
  readonly task: TaskReference<unknown>;
  readonly input: unknown;
  readonly options: EnqueueOptions;
}

/** Builds a task request from the arguments of `enqueue`, without enqueueing it. */
export function spawn<Given>(task: TaskReference<Given>, input: NoInfer<Given>, options?: EnqueueOptions): TaskRequest;
export function spawn<Given>(task: TaskReference<Given> & WithoutInput<Given>): TaskRequest;
export function spawn(task: TaskReference<unknown>, ...given: InputAndOptions): TaskRequest {
  return { task, ...inputAndOptions(given) };
}

/** Makes the input optional for tasks that accept null. Other tasks do not match this type. */
export type WithoutInput<Given> = null extends Given ? unknown : { readonly inputIsRequired: never };

/** Arguments after the task: input and options. */
export type InputAndOptions = [input?: unknown, options?: EnqueueOptions];

/** A missing input becomes null. An explicit `undefined` is kept and later rejected, because it is likely a mistake. */
export function inputAndOptions(given: InputAndOptions): Omit<TaskRequest, 'task'> {
  const [input, options = {}] = given;
  return { input: given.length === 0 ? null : input, options };
}

/** Checks a list of requests. @throws ConfigurationError naming the position of the first invalid one */
export function validRequests(what: string, requests: readonly TaskRequest[]): readonly TaskRequest[] {
  if (!Array.isArray(requests)) throw new ConfigurationError(`${what} must be an array of spawn(task, input)`);
  const stranger = requests.findIndex((request: unknown) => !isRequest(request));
  if (stranger >= 0)
    throw new ConfigurationError(
      `${what}: number ${stranger + 1} is not a task request; create it with spawn(task, input)`,
    );
  return requests as readonly TaskRequest[];
}

/** Whether the value has the shape that `spawn` returns. */
export function isRequest(request: unknown): request is TaskRequest {
  if (typeof request !== 'object' || request === null || !('task' in request)) return false;
  const { task, options } = request as { readonly task: unknown; readonly options?: unknown };
  const isTask = typeof task === 'string' || (typeof task === 'object' && task !== null && 'name' in task);
  return isTask && typeof options === 'object' && options !== null;
}

/** Validates a request completely before anything is written, and returns the new task. @throws ConfigurationError */
export async function newTaskOf(
  task: TaskReference<unknown>,
  input: unknown,
  options: EnqueueOptions,
  defaults: RequestDefaults,
): Promise<NewTask> {
  const asked = await plainTaskOf(task, input, options, defaults);
  return {
    ...asked,
    line: validLine(options),
    dedup: validDedup(options, { runAt: asked.runAt, now: defaults.runtime.clock.now() }),
  };
}

/** Like `newTaskOf`, without support for `ordered`, `onDuplicate` and `window`. @throws ConfigurationError */
export async function plainTaskOf(
  task: TaskReference<unknown>,
  input: unknown,
  options: EnqueueOptions,
  defaults: RequestDefaults,
): Promise<NewTask> {
  validOptions('the options of a task', options, ENQUEUE_OPTIONS);
  const { clock, ids } = defaults.runtime;
  if (typeof task !== 'string' && ((task as unknown) === null || typeof task !== 'object'))
    throw new ConfigurationError(`the task is ${shown(task)}: pass its definition, or its name`);
  const name = validName('task name', typeof task === 'string' ? task : task.name);
  // A null id is invalid. If we generated one instead, every retry would add the task again.
  const { id: asked, queue = defaults.queue, tenant = defaults.tenant, priority = 'normal' } = options;
  const id = asked === undefined ? ids.ordered() : validName('task id', asked);
  const what = `the input of task ${id}`;
  ensureRoundTrips(what, input);
  // Validate the input that the worker will receive. The worker's schema transforms it when the task runs.
  const carried = carriedInput(what, input, defaults.hasPayloadStore ?? false);
  if (typeof task !== 'string') await checkInput(task, { given: input, arriving: arrivingInput(carried) }, id);
  const now = clock.now();
  const runAt = options.delay === undefined ? now : whenMs('delay', options.delay, now);
  return {
    queue: validName('queue', queue),
    id,
    ...(asked === undefined ? { hasGeneratedId: true } : {}),
    name,
    ...carried,
    priority: validPriority(priority),
    runAt,
    expiresAt: validExpiry(options, runAt),
    links: validLinks(options),
    policy: validPolicy(options),
    ...defined({ label: validLabel(options.label) }),
    tenant: validTenant(tenant),
    traceparent: validTraceparent(options.traceparent ?? defaults.traceparent),
  };
}

export function validPriority(priority: string): Priority {
  const found = PRIORITIES.find((known) => known === priority);
  if (found === undefined)
    throw new ConfigurationError(`priority = ${shown(priority)}: must be one of ${PRIORITIES.join(', ')}`);
  return found;
}

function validExpiry({ expires }: EnqueueOptions, runAt: number): number | undefined {
  if (expires === undefined) return undefined;
  const at = whenMs('expires', expires, runAt);
  if (at <= runAt)
    throw new ConfigurationError(
      `expires = ${shown(expires)} is not after the task is due, ${new Date(runAt).toISOString()}: pass a later time`,
    );
  return at;
}

/** Ordered tasks already run one at a time, so only a rate limits them further. */
function validLinks(options: EnqueueOptions): NewTask['links'] {
  const { key, limit = 1, rate, ordered = false } = options;
  if (ordered && limit === 1 && rate === undefined) return undefined;
  if (key === undefined) {
    if (options.limit === undefined && rate === undefined) return undefined;
    throw new ConfigurationError('limit and rate require a key');
  }
  validWholeNumber('limit', limit, { min: 1, max: KEY_LIMIT_MAX });
  return { concurrency: { key: validName('key', key), limit, rate: rate === undefined ? undefined : validRate(rate) } };
}

function validLine({ key, limit = 1, ordered = false, onDuplicate = 'reject' }: EnqueueOptions): string | undefined {
  if (typeof ordered !== 'boolean') throw new ConfigurationError(`ordered = ${shown(ordered)}: must be true or false`);
  if (!ordered) return undefined;
  if (key === undefined) throw new ConfigurationError('ordered requires a key');
  if (limit !== 1)
    throw new ConfigurationError(`limit = ${limit} cannot be combined with ordered, which runs one task at a time`);
  if (onDuplicate === 'replace' || onDuplicate === 'debounce')
    throw new ConfigurationError(
      `onDuplicate = ${onDuplicate} cannot be combined with ordered: the replaced task would have two places in the line`,
    );
  return validName('key', key);
}

function validPolicy({ maxAttempts, timeout }: EnqueueOptions): TaskPolicy | undefined {
  if (maxAttempts === undefined && timeout === undefined) return undefined;
  return {
    ...(maxAttempts === undefined ? {} : { maxAttempts: validMaxAttempts('maxAttempts', maxAttempts) }),
    ...(timeout === undefined ? {} : { timeoutMs: validTimeoutMs('timeout', timeout) }),
  };
}

function validRate(rate: NonNullable<EnqueueOptions['rate']>): RateOfKey {
  const { count, per } = validOptions('rate', rate, ['count', 'per']);
  const perMs = durationMs('rate.per', per);
  if (!Number.isInteger(count) || count < 1)
    throw new ConfigurationError(`rate.count = ${shown(count)}: must be 1 or more`);
  if (perMs < MIN_RATE_WINDOW_MS)
    throw new ConfigurationError(`rate.per = ${perMs} ms: must be a span of at least ${MIN_RATE_WINDOW_MS} ms`);
  return { count, perMs };
}

/** Clocks do not agree closely enough for shorter windows. */
const MIN_RATE_WINDOW_MS = 1_000;

/** Of a header of W3C's Trace Context, version 00. */
export const TRACEPARENT_LIMIT_CHARACTERS = 55;

function validTraceparent(traceparent: string | undefined): string | undefined {
  if (traceparent === undefined || /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(traceparent))
    return traceparent;
  throw new ConfigurationError(
    `traceparent = ${shown(traceparent)}: must be a header such as 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`,
  );
}

function validLabel(label: string | undefined): string | undefined {
  if (label === undefined) return undefined;
  const bytes = utf8Bytes(validName('label', label));
  if (bytes > LABEL_LIMIT_BYTES)
    throw new ConfigurationError(
      `label = ${shown(label)} has ${bytes} bytes: at most ${LABEL_LIMIT_BYTES} are allowed; put what is longer into the input`,
    );
  if (/\p{Cc}/u.test(label))
    throw new ConfigurationError(`label = ${shown(label)} has a control character: pass one line of plain text`);
  return label;
}

export const LABEL_LIMIT_BYTES = 64;

function validTenant(tenant: string | undefined): string | undefined {
  return givenName('tenant', tenant);
}

function validDedup(
  { id, onDuplicate = 'reject', window, delay, maxWait }: EnqueueOptions,
  { runAt, now }: { readonly runAt: number; readonly now: number },
): Dedup | undefined {
  if (id === undefined && (onDuplicate !== 'reject' || window !== undefined))
    throw new ConfigurationError('onDuplicate and window require an id');
  const policy = DUPLICATE_POLICIES.find((known) => known === onDuplicate);
  if (policy === undefined)
    throw new ConfigurationError(
      `onDuplicate = ${shown(onDuplicate)}: must be one of ${DUPLICATE_POLICIES.join(', ')}`,
    );
  if (policy === 'debounce' && delay === undefined)
    throw new ConfigurationError("onDuplicate = 'debounce' requires a delay");
  if (window !== undefined && (policy === 'replace' || policy === 'debounce'))
    throw new ConfigurationError(
      `window and onDuplicate = ${policy} are both given: ${policy} gives an ended task new work at once`,
    );
  if (policy !== 'debounce' && maxWait !== undefined)
    throw new ConfigurationError("maxWait requires onDuplicate = 'debounce': only its requests postpone a task");
  const maxWaitMs = givenMs('maxWait', maxWait);
  if (maxWaitMs !== undefined && maxWaitMs < runAt - now)
    throw new ConfigurationError(
      `maxWait = ${shown(maxWait)} is shorter than delay = ${shown(delay)}: a single request would wait longer`,
    );
  return {
    policy,
    windowMs: window === undefined ? undefined : laterBy('window', now, window) - now,
    ...defined({ maxWaitMs }),
  };
}

async function checkInput(
  task: Exclude<TaskReference<unknown>, string>,
  { given, arriving }: { readonly given: unknown; readonly arriving: Json },
  id: string,
): Promise<void> {
  const validated = await task.input?.['~standard'].validate(arriving);
  if (validated?.issues === undefined) return;
  const hint = validated.issues.some(({ path }) => valueAt(given, path) instanceof Date)
    ? '; a Date reaches the worker as text: let the schema take that, and make a Date of it'
    : '';
  throw new InvalidInputError(
    `the input of task ${id} does not fit the schema of ${task.name}: ${describeIssues(validated.issues)}${hint}`,
    validated.issues,
  );
}

function valueAt(given: unknown, path: StandardIssue['path'] = []): unknown {
  return path.reduce<unknown>((value, part) => {
    const key = typeof part === 'object' ? part.key : part;
    return typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[key] : undefined;
  }, given);
}
