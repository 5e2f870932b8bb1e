/**
 * Describes a thrown value for logs: its stack and its causes.
 * Other properties are left out, because they may contain a request with its credentials.
 * Task code can throw anything: a string, an error whose getters throw, a cause that is its own cause.
 */
import { messageOf } from '../../core/errors.ts';

export interface Thrown {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: Thrown;
}

/** Returns an error and its chain of causes. */
const DEPTH = 5;
const NAME_LIMIT_CHARACTERS = 100;
const TEXT_LIMIT_CHARACTERS = 4_000;

export function describeThrown(thrown: unknown, depth = DEPTH): Thrown {
  const message = shortText(messageOf(thrown));
  if (!isError(thrown)) return { name: 'Error', message };
  const [name, stack, cause] = [read(thrown, 'name'), read(thrown, 'stack'), read(thrown, 'cause')];
  return {
    name: typeof name === 'string' ? shortText(name, NAME_LIMIT_CHARACTERS) : 'Error',
    message,
    ...(typeof stack === 'string' ? { stack: shortText(stack) } : {}),
    ...(cause === undefined || depth === 1 ? {} : { cause: describeThrown(cause, depth - 1) }),
  };
}

function isError(thrown: unknown): thrown is Error {
  try {
    return thrown instanceof Error;
  } catch {
    return false;
  }
}

/** Undefined if its getter throws. */
function read(thrown: Error, property: 'name' | 'stack' | 'cause'): unknown {
  try {
    return thrown[property];
  } catch {
    return undefined;
  }
}

/** The stacks of an error and its causes, each cut to an equal share of the limit; undefined without a stack. */
export function stackOf(thrown: Thrown, limitCharacters: number): string | undefined {
  const chain: Thrown[] = [];
  for (let next: Thrown | undefined = thrown; next !== undefined; next = next.cause) chain.push(next);
  if (chain.every(({ stack }) => stack === undefined)) return undefined;
  const share = Math.floor(limitCharacters / chain.length);
  return chain
    .map(({ name, message, stack }, at) => (at === 0 ? '' : 'caused by ') + (stack ?? `${name}: ${message}`))
    .map((text) => text.slice(0, share).toWellFormed())
    .join('\n');
}

/** Returns a thrown value whose class can be read; in place of others, such as a revoked proxy, an error with its text. */
export function readable(thrown: unknown): unknown {
  try {
    Object.getPrototypeOf(Object(thrown));
    return thrown;
  } catch {
    return new Error(messageOf(thrown));
  }
}

export function shortText(text: string, limit = TEXT_LIMIT_CHARACTERS): string {
  return (text.length > limit ? `${text.slice(0, limit)}…` : text).toWellFormed();
}
