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
  try {
    if (!(thrown instanceof Error)) return { name: 'Error', message: short(messageOf(thrown)) };
    const { name, stack, cause } = thrown as { name: unknown; stack?: unknown; cause?: unknown };
    return {
      name: typeof name === 'string' ? short(name, NAME_LIMIT_CHARACTERS) : 'Error',
      message: short(messageOf(thrown)),
      ...(typeof stack === 'string' ? { stack: short(stack) } : {}),
      ...(cause === undefined || depth === 1 ? {} : { cause: describeThrown(cause, depth - 1) }),
    };
  } catch {
    return { name: 'Error', message: 'an error that cannot be read was thrown' };
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

function short(text: string, limit = TEXT_LIMIT_CHARACTERS): string {
  return (text.length > limit ? `${text.slice(0, limit)}…` : text).toWellFormed();
}
