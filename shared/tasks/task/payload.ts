/**
 * Inputs that are too large for a task's row.
 *
 * | size as JSON | stored in | cost in addition to the task |
 * | --- | --- | --- |
 * | up to 16 KB | the task's row | none |
 * | up to 384 KB | its own row, written before, read when the task runs | 1 write unit a KB, 1 more a KB when it is removed |
 * | up to 64 MB | the user's own store, by reference (the claim-check pattern) | as charged by that store |
 *
 * Guarantees
 *   - A task never exists without its payload: the payload is written before the task.
 *   - A claimed task gets the payload that it was enqueued with: its digest is in the task's row.
 *   - The payload is removed once its task is done, or continues with its follower. A dead or cancelled task keeps it for a retry.
 *
 *   - A payload is removed only when no request that names it can be applied any more: the guard of each of them names a state that
 *     never comes back. A request whose outcome is unknown leaves its payload.
 *
 * Does not guarantee
 *   - That it is removed at once: a worker that crashes between its task's
 *     end and the removal leaves it to the table's TTL, a year after it was
 *     due, and in the user's own store to a lifecycle rule.
 *     If a task starts only after that year, its payload is gone, and the task becomes dead.
 */
import { defined } from '../../core/defined.ts';
import { sha256 } from '../../core/runtime/sha256.ts';
import { ConfigurationError, StoreUnavailableError, shown } from '../../core/errors.ts';
import { DoNotRetry } from './control.ts';
import { jsonText } from './storable-json.ts';
import type { NewPayload, NewTask, PayloadPlace, TaskStore } from './task-store.ts';
import type { Json, Payload, TaskKey } from './task.ts';
import { INPUT_LIMIT_BYTES, describeTask } from './task.ts';

/** The user's own store of large texts, by reference. A second write with the same name replaces the text. */
export interface PayloadStore {
  /** @returns the reference that `get` and `delete` take, and that is kept in the task's row */
  put(name: string, text: string): Promise<string>;
  /** Undefined: it no longer exists. */
  get(reference: string, options?: PayloadRequest): Promise<string | undefined>;
  /** Deleting a missing payload is not an error. */
  delete(reference: string, options?: PayloadRequest): Promise<void>;
}

export interface PayloadRequest {
  /** Aborts when the caller no longer waits for the response. */
  readonly signal?: AbortSignal;
  /** The task whose row has the reference. A store may refuse a payload that belongs to another task, see `isPayloadOf`. */
  readonly task?: TaskKey;
}

/** An item's limit of 400 KB, less what surrounds the payload in its row. */
export const PAYLOAD_ROW_LIMIT_BYTES = 384 * 1024;
/** A worker holds it in memory, in addition to the payloads of its other tasks. */
const PAYLOAD_LIMIT_BYTES = 64 * 1024 * 1024;
const REFERENCE_LIMIT_CHARACTERS = 1_000;

/**
 * Returns an input in the form in which a task stores it.
 * @throws ConfigurationError when it has no JSON form, or is too large for every store
 */
export function carriedInput(
  what: string,
  value: unknown,
  hasStore: boolean,
): { readonly input: Json; readonly payload?: NewPayload } {
  const { text, bytes } = jsonText(what, value);
  if (bytes <= INPUT_LIMIT_BYTES) return { input: JSON.parse(text) as Json };
  if (bytes > PAYLOAD_LIMIT_BYTES)
    throw new ConfigurationError(
      `${what} has ${bytes} bytes as JSON: at most ${PAYLOAD_LIMIT_BYTES} are allowed; store it elsewhere and pass a reference`,
    );
  if (bytes > PAYLOAD_ROW_LIMIT_BYTES && !hasStore)
    throw new ConfigurationError(
      `${what} has ${bytes} bytes as JSON: at most ${PAYLOAD_ROW_LIMIT_BYTES} fit into the table; pass a store for payloads to the client`,
    );
  return { input: null, payload: { text, bytes, digest: sha256(text) } };
}

/** Returns the input that the worker will get. */
export function arrivingInput({ input, payload }: { readonly input: Json; readonly payload?: NewPayload }): Json {
  return payload === undefined ? input : (JSON.parse(payload.text) as Json);
}

/**
 * Writes the payload of a task, if it has one: into a row of the table, or into the user's store if it does not fit there.
 * @returns the same task, which names its payload now
 * @throws StoreUnavailableError if the payload could not be written: the task was not created
 */
export async function checkedIn(task: NewTask, { tasks, payloads }: CheckInPorts, unique: string): Promise<NewTask> {
  const { payload, queue, id } = task;
  if (payload === undefined || payload.reference !== undefined || payload.nonce !== undefined) return task;
  if (payload.bytes <= PAYLOAD_ROW_LIMIT_BYTES || payloads === undefined) {
    await putFirst(task, () => tasks.putPayload(task, payload, unique));
    return { ...task, payload: { ...payload, nonce: unique } };
  }
  const name = [...nameOf({ queue, id }), encodeURIComponent(unique)].join('/');
  const reference = await payloads.put(name, payload.text);
  if (reference.length > REFERENCE_LIMIT_CHARACTERS)
    throw new ConfigurationError(
      `the payload store answered with a reference of ${reference.length} characters: at most ` +
        `${REFERENCE_LIMIT_CHARACTERS} fit into a task's row`,
    );
  return { ...task, payload: { ...payload, reference } };
}

interface CheckInPorts {
  readonly tasks: Pick<TaskStore, 'putPayload'>;
  readonly payloads?: PayloadStore | undefined;
}

/** The payload has no reference any more, and TTL removes it. */
async function putFirst(task: TaskKey, put: () => Promise<void>): Promise<void> {
  try {
    await put();
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    throw new StoreUnavailableError(`${describeTask(task)}: its input was not written`, {
      applied: 'no',
      cause: error,
    });
  }
}

function nameOf({ queue, id }: TaskKey): readonly string[] {
  return [queue, id].map(encodeURIComponent);
}

/**
 * Whether a payload belongs to this task, according to its reference.
 * @throws ConfigurationError
 */
export function isPayloadOf(name: string, task: TaskKey): boolean {
  if (typeof name !== 'string' || !isTaskKey(task))
    throw new ConfigurationError(
      `isPayloadOf(${shown(name)}, ${shown(task)}): pass the name of a payload and a task, as the calls of a store get them`,
    );
  const [queue, id] = name.split('/');
  const [ownQueue, ownId] = nameOf(task);
  return queue === ownQueue && id === ownId;
}

function isTaskKey(value: Partial<TaskKey> | null | undefined): boolean {
  return typeof value?.queue === 'string' && typeof value.id === 'string';
}

/**
 * Returns the store that a module exports as `payloads` for its workers; undefined without one.
 * @throws ConfigurationError for anything else
 */
export function exportedPayloads({ payloads }: Readonly<Record<string, unknown>>): PayloadStore | undefined {
  if (payloads === undefined || isStore(payloads)) return payloads;
  throw new ConfigurationError(
    `the module of tasks exports payloads = ${shown(payloads)}: export a store with ${VERBS.join(', ')}, or name it otherwise`,
  );
}

const VERBS = ['put', 'get', 'delete'] as const satisfies readonly (keyof PayloadStore)[];

function isStore(value: unknown): value is PayloadStore {
  if (typeof value !== 'object' || value === null) return false;
  return VERBS.every((verb) => typeof (value as Partial<Record<keyof PayloadStore, unknown>>)[verb] === 'function');
}

export interface PayloadPorts {
  readonly tasks: TaskStore;
  readonly payloads?: PayloadStore | undefined;
}

/**
 * Returns the input of a claimed task, wherever it is stored.
 * @param signal aborts when it is no longer needed: the request must not outlive the claim
 * @throws DoNotRetry when it is gone, or is a different one
 */
export async function inputOf(
  task: TaskKey & { readonly input: Json; readonly payload: Payload | undefined },
  { tasks, payloads }: PayloadPorts,
  signal: AbortSignal,
): Promise<Json> {
  const { payload } = task;
  if (payload === undefined) return task.input;
  const { reference } = payload;
  if (reference !== undefined && payloads === undefined)
    throw new Error(`the input of ${describeTask(task)} is at ${reference}: pass the store for payloads to the worker`);
  const text =
    reference === undefined
      ? await tasks.getPayload(task, { signal })
      : await payloads?.get(reference, { signal, task: keyOf(task) });
  if (text === undefined)
    throw new DoNotRetry(`the input of ${describeTask(task)} is gone: it should be ${reference ?? 'in its own row'}`);
  if (sha256(text) !== payload.digest)
    throw new DoNotRetry(`the input of ${describeTask(task)} is not the one that it was enqueued with`);
  return JSON.parse(text) as Json;
}

/** Removes payloads that will not be read again. */
export async function dropPayload(
  task: TaskKey & { readonly payload?: PayloadPlace | undefined },
  { tasks, payloads }: Pick<PayloadPorts, 'payloads'> & { readonly tasks: Pick<TaskStore, 'deletePayload'> },
  signal?: AbortSignal,
): Promise<void> {
  const { payload } = task;
  if (payload === undefined) return;
  const options = defined({ signal });
  if (payload.reference === undefined) await tasks.deletePayload(task, payload, options);
  else await payloads?.delete(payload.reference, { ...options, task: keyOf(task) });
}

/** The same for a payload that no task names, or will name. The outcome is final, so a removal that fails leaves it to TTL. */
export async function discardPayload(...given: Parameters<typeof dropPayload>): Promise<void> {
  try {
    await dropPayload(...given);
  } catch {
    // The table's TTL, or the bucket's lifecycle rule, deletes what remains.
  }
}

function keyOf({ queue, id }: TaskKey): TaskKey {
  return { queue, id };
}
