/**
 * The way between processes and the store, and everything that can go wrong on it.
 *
 * A request leaves its process, arrives and is applied at one moment,
 * and its answer comes back; each part has its own latency and can fail on its own.
 * A sender that gives up (its AbortSignal) hears `unanswered` at once, and the request goes on without it:
 * it may be applied minutes later, when its sender has long forgotten it, is frozen, or is dead.
 */
import { Connections } from '../../../shared/dynamo/engine/connections.ts';
import type { DynamoCalls, DynamoDriver, DynamoKind } from '../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../shared/dynamo/engine/driver.ts';
import type { SimulatedProcess } from './process.ts';
import type { ServiceLimits } from './service-limits.ts';
import type { Timeline } from './timeline.ts';

/** The network's view of the store: applies a request now, or throws a `DynamoFault`. */
export interface AppliesRequests {
  apply<K extends DynamoKind>(kind: K, input: DynamoCalls[K]['input']): DynamoCalls[K]['output'];
}

/**
 * What happens to one request.
 *
 * | ending | applied | what the sender hears |
 * | --- | --- | --- |
 * | `answered` | yes | the answer |
 * | `requestLost` | no | nothing, until it gives up |
 * | `replyLost` | yes | nothing, until it gives up |
 * | `failedBefore` | no | a server error, which does not say whether |
 * | `failedAfter` | yes | the same server error |
 * | `throttled` | no | so |
 * | `conflict` | no | so: another transaction holds the row |
 */
export type Ending =
  | 'answered'
  | 'requestLost'
  | 'replyLost'
  | 'failedBefore'
  | 'failedAfter'
  | 'throttled'
  | 'conflict';

export const ENDINGS: readonly Ending[] = [
  'answered',
  'requestLost',
  'replyLost',
  'failedBefore',
  'failedAfter',
  'throttled',
  'conflict',
];

export interface Fate {
  readonly ending: Ending;
  /** From leaving to being applied. */
  readonly requestMs: number;
  /** From being applied to being heard. */
  readonly replyMs: number;
  /** The network delivers it a second time, this long after the first; the second response is lost. */
  readonly duplicateAfterMs?: number | undefined;
}

export interface Request<K extends DynamoKind = DynamoKind> {
  readonly process: SimulatedProcess;
  readonly kind: K;
  readonly input: DynamoCalls[K]['input'];
  /** True time at which it left. */
  readonly sentAt: number;
  readonly number: number;
}

interface NetworkEvents {
  /** A request leaves: the last moment at which its sender could have held it back. */
  onSent?(request: Request): void;
  /** It has left; later events of its sender can no longer hold it back. */
  onLeft?(request: Request): void;
  /** The store has answered a request, heard or not. `copy`: the second delivery of a duplicate. */
  onApplied?(
    request: Request,
    result: { readonly output?: unknown; readonly fault?: DynamoFault | undefined },
    copy: boolean,
  ): void;
  /** Its sender learns how it ended. */
  onEnded?(request: Request, ended: RequestEnd): void;
}

/** The response to a sender: an output, the store's refusal, or a failure; or it gave up. */
export type RequestEnd = 'answered' | 'refused' | 'failed' | 'givenUp';

type Answer = (replyMs: number, ended: RequestEnd, act: () => void) => void;

interface NetworkOptions {
  readonly timeline: Timeline;
  readonly store: AppliesRequests;
  readonly fateOf: (request: Request) => Fate;
  readonly events?: NetworkEvents;
  /** The service's own refusals. Absent: none. */
  readonly limits?: ServiceLimits | undefined;
  /** How many connections a process has. Further requests leave when one is free. Absent: as many as there are requests. */
  readonly connections?: number | undefined;
}

/** As a client has them: the sockets themselves, which know no order but of arrival, and what its senders take first. */
interface Sockets {
  readonly connections: Connections;
  readonly sockets: Connections;
}

export class Network {
  readonly #options: NetworkOptions;
  readonly #sockets = new WeakMap<SimulatedProcess, Sockets>();
  #sent = 0;
  #forgottenBefore = 0;

  constructor(options: NetworkOptions) {
    this.#options = options;
  }

  /** Drops all that is under way: nothing signed today is accepted after weeks. */
  forget(): void {
    this.#forgottenBefore = this.#sent;
  }

  /** The driver of one process. */
  driverOf(process: SimulatedProcess): DynamoDriver {
    const { connections: limit } = this.#options;
    if (limit === undefined) return { attempt: (kind, input, signal) => this.#attempt(process, kind, input, signal) };
    const { connections, sockets } = this.#socketsOf(process, limit);
    return {
      connections,
      attempt: async (kind, input, signal) => {
        if (!(await sockets.take(true, signal)))
          throw new DynamoFault('unsent', { code: 'AbortError', message: 'there was no connection in time' });
        try {
          return await this.#attempt(process, kind, input, signal);
        } finally {
          sockets.giveBack();
        }
      },
    };
  }

  #socketsOf(process: SimulatedProcess, limit: number): Sockets {
    const kept = this.#sockets.get(process) ?? { connections: new Connections(limit), sockets: new Connections(limit) };
    this.#sockets.set(process, kept);
    return kept;
  }

  #attempt<K extends DynamoKind>(
    process: SimulatedProcess,
    kind: K,
    input: DynamoCalls[K]['input'],
    signal: AbortSignal,
  ): Promise<DynamoCalls[K]['output']> {
    process.touch();
    // A dead process gets no response; its code stays on the stack until its next await.
    if (!process.isAlive) return unanswerable();
    const { events, fateOf } = this.#options;
    const request: Request<K> = { process, kind, input, sentAt: process.now, number: this.#sent++ };
    events?.onSent?.(request);
    const fate = fateOf(request);
    return new Promise((resolve, reject) => {
      let isOver = false;
      process.requesting++;
      const settle = (ended: RequestEnd, act: () => void): void => {
        if (isOver) return;
        isOver = true;
        process.requesting--;
        signal.removeEventListener('abort', giveUp);
        events?.onEnded?.(request, ended);
        act();
      };
      const giveUp = (): void => {
        settle('givenUp', () => reject(unanswered('TimeoutError', 'no answer in time')));
      };
      if (signal.aborted) {
        giveUp();
        return;
      }
      signal.addEventListener('abort', giveUp, { once: true });
      events?.onLeft?.(request);
      const answer: Answer = (replyMs, ended, act) => {
        this.#options.timeline.after(replyMs, () => {
          if (!isOver) process.deliver(() => settle(ended, act));
        });
      };
      this.#carry(request, fate, answer, resolve, reject);
    });
  }

  #carry<K extends DynamoKind>(
    request: Request<K>,
    fate: Fate,
    answer: Answer,
    resolve: (output: DynamoCalls[K]['output']) => void,
    reject: (fault: DynamoFault) => void,
  ): void {
    const { timeline, limits } = this.#options;
    const { ending, requestMs, replyMs, duplicateAfterMs } = fate;
    let refused: DynamoFault | undefined;
    const isApplied = ending === 'answered' || ending === 'replyLost' || ending === 'failedAfter';
    // A transaction holds its rows for the second half of its way.
    const arrivesAt = request.sentAt + (request.kind === 'transactWrite' ? requestMs / 2 : requestMs);
    if (limits !== undefined && isApplied)
      timeline.at(arrivesAt, () => {
        if (request.number >= this.#forgottenBefore) refused = limits.begin(request.kind, request.input);
      });
    timeline.at(request.sentAt + requestMs, () => {
      if (refused !== undefined) {
        const fault = refused;
        answer(replyMs, 'failed', () => reject(fault));
        return;
      }
      if (limits !== undefined && isApplied) limits.end(request.kind, request.input);
      if (request.number < this.#forgottenBefore) return;
      switch (ending) {
        case 'requestLost':
          return;
        case 'failedBefore':
          answer(replyMs, 'failed', () => reject(serverError()));
          return;
        case 'throttled':
          answer(replyMs, 'failed', () =>
            reject(new DynamoFault('throttled', { code: 'ThrottlingException', message: 'simulated' })),
          );
          return;
        case 'conflict':
          answer(replyMs, 'failed', () => reject(conflictOf(request)));
          return;
        case 'answered':
        case 'replyLost':
        case 'failedAfter': {
          const result = this.#apply(request, false);
          if (result.fault === undefined) limits?.answered(request.kind, request.input, result.output);
          if (duplicateAfterMs !== undefined) timeline.after(duplicateAfterMs, () => this.#applyAgain(request));
          if (ending === 'replyLost') return;
          if (ending === 'failedAfter') answer(replyMs, 'failed', () => reject(serverError()));
          else if (result.fault === undefined) answer(replyMs, 'answered', () => resolve(result.output));
          else answer(replyMs, 'refused', () => reject(result.fault));
        }
      }
    });
  }

  #applyAgain(request: Request): void {
    if (request.number >= this.#forgottenBefore) this.#apply(request, true);
  }

  #apply<K extends DynamoKind>(
    request: Request<K>,
    copy: boolean,
  ): { readonly output: DynamoCalls[K]['output']; readonly fault: undefined } | { readonly fault: DynamoFault } {
    const { store, events } = this.#options;
    try {
      const output = store.apply(request.kind, request.input);
      const result = { output, fault: undefined };
      events?.onApplied?.(request, result, copy);
      return result;
    } catch (error) {
      if (!(error instanceof DynamoFault)) throw error;
      events?.onApplied?.(request, { fault: error }, copy);
      return { fault: error };
    }
  }
}

/** A separate promise for each request: a shared one would keep its waiters in memory forever. */
function unanswerable(): Promise<never> {
  return new Promise<never>(() => {
    // There will never be an answer.
  });
}

function unanswered(code: string, message: string): DynamoFault {
  return new DynamoFault('unanswered', { code, message });
}

function serverError(): DynamoFault {
  return unanswered('InternalServerError', 'simulated');
}

/** DynamoDB's wording: a single write gets the conflict, a transaction the reasons of each of its actions. */
function conflictOf(request: Request): DynamoFault {
  if (request.kind !== 'transactWrite')
    return new DynamoFault('conflict', { code: 'TransactionConflictException', message: 'simulated' });
  const { TransactItems = [] } = request.input as DynamoCalls['transactWrite']['input'];
  const reasons = TransactItems.map((_, index) => ({ code: index === 0 ? 'TransactionConflict' : 'None' }));
  return new DynamoFault('transactionCanceled', {
    code: 'TransactionCanceledException',
    message: 'simulated',
    reasons,
  });
}
