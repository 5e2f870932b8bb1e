/**
 * The errors that all parts of the library share, on one page.
 * Errors of one concept are defined next to it: `LockUnavailableError` in `coordination/lock/lock-record.ts`, `SemaphoreFullError` in
 * `coordination/semaphore/semaphore-contender.ts`,
 * and the errors that task code throws or receives in `tasks/task/control.ts`.
 *
 * There is one class per reaction of the caller. Contention is not an error but a value that names the holder and the time.
 *
 * | situation | class | what the caller does |
 * | --- | --- | --- |
 * | the lease was lost during the work | `LeaseLostError` (also the reason of the AbortSignal) | stops at once, writes nothing |
 * | the store is throttled or unreachable | `StoreUnavailableError` | `applied: 'no'` retries; `'unknown'` reads first and, if that does not show the outcome, counts the lease as lost |
 * | a row does not decode | `CorruptItemError` | alarms; we never repair silently |
 * | a setting or argument is wrong | `ConfigurationError` | fixes it; nothing was written |
 * | the same id or key with other content | `MismatchError` | decides which content it meant |
 * | clocks differ by more than the stated bound | `ClockSkewError` | takes nothing over and opens no session; an operator fixes the clock |
 * | our own mistake | `InvariantError` | this invocation ends; others continue |
 *
 * Messages state the action, the key, the finding and the remedy.
 * They contain ids and values, never payloads; a very long value loses its middle.
 */

import { inspected } from './runtime/inspect.ts';

const MESSAGE_LIMIT_CHARACTERS = 1_500;
/** The end of a message says what to do. */
const MESSAGE_END_CHARACTERS = 400;

abstract class LeaseholdError extends Error {
  /** Written out, because a bundler that shortens names would also shorten `new.target.name`. */
  abstract override readonly name: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message.length > MESSAGE_LIMIT_CHARACTERS ? withoutMiddle(message) : message, options);
  }
}

/** Why a lease ended before its holder released it. */
export type LossReason =
  | 'expired' // the trust window closed before a renewal was confirmed
  | 'superseded' // another session holds the key, with a larger counter
  | 'invalidated' // the session was ended by someone else: expired for a contender, or destroyed
  | 'released' // the right was given back by the holder itself
  | 'missing'; // the row is gone

/** The lease was lost or released, but code still tried to use it: stop at once, write nothing. */
export class LeaseLostError extends LeaseholdError {
  override readonly name = 'LeaseLostError';
  readonly key: string;
  readonly reason: LossReason;

  constructor(key: string, reason: LossReason, detail: string, options?: ErrorOptions) {
    super(`lost ${key} (${reason}): ${detail}; stop this work, its writes will be refused`, options);
    this.key = key;
    this.reason = reason;
  }
}

/** The store was throttled or unreachable for all attempts of a request. `applied: 'no'`: retry. `'unknown'`: read first. */
export class StoreUnavailableError extends LeaseholdError {
  override readonly name = 'StoreUnavailableError';
  /** Whether the last request may have been applied. */
  readonly applied: 'no' | 'unknown';

  constructor(message: string, details: { readonly applied: 'no' | 'unknown'; readonly cause?: unknown }) {
    super(message, { cause: details.cause });
    this.applied = details.applied;
  }
}

/** This version cannot decode a row. The row is unchanged: read it, and repair or remove it by hand. */
export class CorruptItemError extends LeaseholdError {
  override readonly name = 'CorruptItemError';
  readonly key: string;
  readonly attribute: string;

  constructor(key: string, attribute: string, found: string) {
    super(`row ${key} cannot be used: ${attribute} ${found}; the row was left as it is, inspect it by hand`);
    this.key = key;
    this.attribute = attribute;
  }
}

/** A setting or an argument is invalid. Nothing was written: correct the value that the message names. */
export class ConfigurationError extends LeaseholdError {
  override readonly name = 'ConfigurationError';
}

/** The id or key already exists with other content. Decide which content you meant, and rename the other. */
export class MismatchError extends LeaseholdError {
  override readonly name = 'MismatchError';
  readonly key: string;

  constructor(key: string, message: string) {
    super(message);
    this.key = key;
  }
}

/**
 * This machine's clock differs from the store's by more than half of the stated bound, so it takes no lease over and opens no session:
 * correct
 * the clock.
 */
export class ClockSkewError extends LeaseholdError {
  override readonly name = 'ClockSkewError';
  readonly skewMs: number;

  constructor(skewMs: number, maxClockSkewMs: number, refusing = 'refusing to take over from anyone') {
    super(
      `this machine's clock differs from the store's by ${Math.round(skewMs)} ms, more than half of maxClockSkew = ${maxClockSkewMs} ms: ` +
        `${refusing}; correct the clock or raise maxClockSkew everywhere`,
    );
    this.skewMs = skewMs;
  }
}

function withoutMiddle(message: string): string {
  const start = message.slice(0, MESSAGE_LIMIT_CHARACTERS - MESSAGE_END_CHARACTERS);
  return `${start}…${message.slice(-MESSAGE_END_CHARACTERS)}`.toWellFormed();
}

/** A bug in this library: please report it. Only the requested operation ends; everything else continues. */
export class InvariantError extends LeaseholdError {
  override readonly name = 'InvariantError';
}

/** @throws InvariantError when `condition` is false: a mistake of this library, not of its caller. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantError(message);
}

export function assertNever(value: never, what: string): never {
  throw new InvariantError(`unexpected ${what}: ${JSON.stringify(value)}`);
}

/**
 * Returns the text of any thrown value. Nothing else may read the `message` of something that we did not make:
 * it may be a list, throw when it is read, or belong to a revoked proxy.
 */
export function messageOf(thrown: unknown): string {
  try {
    const said: unknown = thrown instanceof Error ? thrown.message : thrown;
    if (typeof said === 'string') return said;
    // The text of a plain object without its own `toString`.
    const text = thrown instanceof Error ? '[object Object]' : String(said);
    return text === '[object Object]' ? shown(said, MESSAGE_LIMIT_CHARACTERS) : text;
  } catch {
    return 'an error that cannot be printed';
  }
}

/** Whether an error, or one of its causes, is of that kind. Ends at unreadable causes, and in a circle of causes. */
export function isCausedBy(thrown: unknown, is: (error: Error & { readonly code?: unknown }) => boolean): boolean {
  try {
    let error = thrown;
    for (let depth = 0; depth < CAUSES_LIMIT && error instanceof Error; depth++, error = error.cause)
      if (is(error)) return true;
  } catch {
    // A getter that throws, or a revoked proxy.
  }
  return false;
}

const CAUSES_LIMIT = 20;

/** Returns what a client of the user's threw, if it is an error with a text; otherwise an error with its text. */
export function errorOf(thrown: unknown): Error {
  const message = messageOf(thrown);
  try {
    if (thrown instanceof Error && typeof thrown.message === 'string') return thrown;
  } catch {
    // Not even its class can be read.
  }
  return new Error(message);
}

/** Describes the beginning of any value for a message, including NaN, bigints, circular and hostile values. */
export function shown(value: unknown, limitCharacters = SHOWN_CHARACTERS): string {
  try {
    const text = typeof value === 'string' ? JSON.stringify(value) : inspected(value);
    return text.length > limitCharacters ? `${text.slice(0, limitCharacters).toWellFormed()}…` : text;
  } catch {
    return 'a value that cannot be printed';
  }
}

const SHOWN_CHARACTERS = 80;
