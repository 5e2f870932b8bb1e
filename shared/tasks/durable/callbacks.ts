/** The answers of callbacks, from any process with the table: `leasehold.tasks.callbacks`. It needs neither the SDK nor a worker. */
import { isDenied } from '../../core/denied.ts';
import { defined } from '../../core/defined.ts';
import { ConfigurationError, StoreUnavailableError, shown } from '../../core/errors.ts';
import { stampOf } from '../../core/lease/write.ts';
import type { Stamp } from '../../core/lease/write.ts';
import { utf8Bytes } from '../../core/runtime/bytes.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import { validOptions } from '../../core/validate/options.ts';
import { contended, retryContended } from '../../core/wait/retry-contended.ts';
import type { TaskRecord } from '../task/task.ts';
import { describeTask } from '../task/task.ts';
import { arrivalOf } from './arrival.ts';
import type { CallbackKey } from './callback-id.ts';
import { callbackKeyOf } from './callback-id.ts';
import type { Entry } from './entry.ts';
import { operationOf } from './entry.ts';
import type { AnsweringStore, Arrival } from './journal-store.ts';
import { elementsOfPart, unpacked } from './packed.ts';

/** `over`: it was answered before, has timed out, or its task has ended or has other work. */
export type Answered = 'accepted' | 'over';

/** The fields of the callback's error, for the task's code. */
export interface CallbackFailure {
  readonly name?: string;
  readonly message?: string;
  readonly data?: string;
}

type AnswerStore = Pick<AnsweringStore, 'get' | 'arrive' | 'beat' | 'journalParts'>;

/** The same as of a step's result. */
export const ANSWER_LIMIT_BYTES = 256 * 1_024;

export class Callbacks {
  readonly #store: AnswerStore;
  readonly #runtime: Runtime;
  readonly #queue: string | undefined;

  /** @param queue the only one whose callbacks it answers; undefined: any, for operators */
  constructor({ store, runtime }: { readonly store: AnswerStore; readonly runtime: Runtime }, queue?: string) {
    this.#store = store;
    this.#runtime = runtime;
    this.#queue = queue;
  }

  /**
   * @param result the text that the task's code gets, or that its `serdes` reads
   * @throws ConfigurationError for an invalid id, an id of another queue, or a result that is too long or is not text
   * @throws StoreUnavailableError when the store did not confirm the outcome: answer again
   */
  async succeed(callbackId: string, result?: string): Promise<Answered> {
    if (result !== undefined && typeof result !== 'string')
      throw new ConfigurationError(
        `the result of a callback is ${shown(result)}: pass a text, such as JSON.stringify(…)`,
      );
    return this.#answer(callbackId, defined({ a: 'succeed', r: result } as const));
  }

  /** The same, for an answer that says that it failed. */
  async fail(callbackId: string, failure: CallbackFailure = {}): Promise<Answered> {
    validOptions('the failure of a callback', failure, ['name', 'message', 'data']);
    const { name, message, data } = failure;
    const stranger = Object.entries(failure).find(([, text]) => text !== undefined && typeof text !== 'string');
    if (stranger !== undefined)
      throw new ConfigurationError(`the ${stranger[0]} of a callback's failure is ${shown(stranger[1])}: pass a text`);
    const e = defined({ ErrorType: name, ErrorMessage: message, ErrorData: data });
    return this.#answer(callbackId, { a: 'fail', e });
  }

  /** Restarts the callback's heartbeat timeout. */
  async heartbeat(callbackId: string): Promise<Answered> {
    const { openKey, ...task } = this.#keyOf(callbackId);
    const beat = await this.#store.beat(task, { openKey, op: operationOf(openKey) }, this.#runtime.clock.now());
    return beat === 'applied' ? 'accepted' : 'over';
  }

  #keyOf(callbackId: string): CallbackKey {
    const key = callbackKeyOf(callbackId);
    if (this.#queue === undefined || key.queue === this.#queue) return key;
    throw new ConfigurationError(
      `the callback is of ${describeTask(key)}, and this client is of queue ${this.#queue}: answer with a client of its queue`,
    );
  }

  async #answer(callbackId: string, entry: Pick<Entry, 'a' | 'r' | 'e'>): Promise<Answered> {
    const { openKey, ...key } = this.#keyOf(callbackId);
    const bytes = utf8Bytes(JSON.stringify(entry));
    if (bytes > ANSWER_LIMIT_BYTES)
      throw new ConfigurationError(`the answer of a callback has ${bytes} bytes: at most ${ANSWER_LIMIT_BYTES}`);
    const arrival = arrivalOf(openKey, entry, stampOf(this.#runtime));
    const what = `the answer of a callback of ${describeTask(key)}`;
    return retryContended(what, this.#runtime, async ({ earlierAttempt }) => {
      const task = await this.#store.get(key);
      if (task?.journal?.open.has(openKey) !== true || !isUnfinished(task))
        return earlierAttempt === 'unknown' && (await this.#hasArrived(task, arrival)) ? 'accepted' : 'over';
      const stamp: Stamp = { now: this.#runtime.clock.now(), nonce: this.#runtime.ids.unique() };
      const outcome = await this.#store.arrive(task, arrival, stamp);
      return outcome.kind === 'applied' ? 'accepted' : contended(outcome);
    });
  }

  /**
   * Whether an earlier request, whose response was lost, was applied, although the operation no longer waits: then it is in the journal,
   * wherever the holder has moved it since.
   */
  async #hasArrived(task: TaskRecord | undefined, { element }: Arrival): Promise<boolean> {
    if (task?.journal === undefined) throw unknown();
    if (task.journal.elements.flatMap(unpacked).includes(element)) return true;
    // The rights to answer do not include these rows.
    const { texts, isWhole } = await this.#store.journalParts(task).catch((error: unknown) => {
      throw isDenied(error) ? unknown() : error;
    });
    if ([...texts.values()].flatMap(elementsOfPart).includes(element)) return true;
    if (!isWhole) throw unknown();
    return false;
  }
}

function isUnfinished({ state }: TaskRecord): boolean {
  return state === 'ready' || state === 'running';
}

function unknown(): StoreUnavailableError {
  const message =
    'the answer of a callback was sent, its response was lost, and its task has gone on since: it may have been accepted';
  return new StoreUnavailableError(message, { applied: 'unknown' });
}
