/** All events of the local Lambda, as one union: the display draws them and the tests assert on them. */

/** An invocation's outcome. All except `success` are function errors to the caller, as on AWS. */
export type InvocationOutcome =
  | 'success'
  /** The handler threw. */
  | 'error'
  /** The module could not be loaded, or does not export the handler. */
  | 'initError'
  /** Killed at the function's timeout. */
  | 'timeout'
  /** The process ended before it answered: exit, crash, out of memory, or killed from outside. */
  | 'exit';

/** The cause of an environment's SIGKILL. */
export type KilledBy = 'operator' | 'timeout' | 'initTimeout' | 'idleTimeout' | 'shutdown';

export interface FunctionError {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly trace?: readonly string[];
}

interface OfEnvironment {
  readonly environmentId: string;
  readonly functionName: string;
}

export type LambdaEvent =
  | (OfEnvironment & { readonly type: 'environmentStarted'; readonly pid: number })
  | (OfEnvironment & {
      readonly type: 'invocationStarted';
      readonly requestId: string;
      readonly coldStart: boolean;
    })
  | (OfEnvironment & {
      readonly type: 'invocationEnded';
      readonly requestId: string;
      readonly outcome: InvocationOutcome;
      readonly durationMs: number;
      readonly error?: FunctionError;
    })
  /** With a request: an operator froze it at work. Without: it idles between invocations. */
  | (OfEnvironment & { readonly type: 'environmentFrozen'; readonly requestId?: string })
  | (OfEnvironment & { readonly type: 'environmentThawed'; readonly requestId: string })
  | (OfEnvironment & { readonly type: 'environmentKilled'; readonly by: KilledBy; readonly requestId?: string })
  | (OfEnvironment & {
      readonly type: 'environmentExited';
      readonly code: number | null;
      readonly signal: NodeJS.Signals | null;
    })
  | (OfEnvironment & {
      readonly type: 'log';
      /** `platform`: the START, END and REPORT lines that Lambda itself writes. */
      readonly stream: 'stdout' | 'stderr' | 'platform';
      readonly line: string;
      readonly requestId?: string;
    })
  | {
      readonly type: 'throttled';
      readonly functionName: string;
      readonly requestId: string;
      readonly invocationType: 'RequestResponse' | 'Event';
    }
  /** An asynchronous event goes back to the queue: refused for lack of concurrency, or its function failed. */
  | {
      readonly type: 'retryScheduled';
      readonly functionName: string;
      readonly requestId: string;
      readonly because: 'throttled' | 'functionError';
      readonly delayMs: number;
    }
  /** An asynchronous event is given up: on AWS it would go to the dead-letter queue. */
  | {
      readonly type: 'eventDiscarded';
      readonly functionName: string;
      readonly requestId: string;
      readonly because: 'retriesExhausted' | 'tooOld';
    };

type WithoutEnvironment<Event> = Event extends OfEnvironment ? Omit<Event, keyof OfEnvironment> : never;

/** An environment's event, before its id and function are added. */
export type EnvironmentEvent = WithoutEnvironment<LambdaEvent>;

export type Emit = (event: LambdaEvent) => void;
