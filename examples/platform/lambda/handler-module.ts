/**
 * Finds the handler in the user's module, and says in Lambda's words why there is none.
 */
import { pathToFileURL } from 'node:url';
import { messageOf } from '../../../shared/core/errors.ts';
import type { LambdaContext } from './context.ts';
import type { FunctionError } from './events.ts';
import type { InitMessage } from './messages.ts';

/** May also return a plain value; it is awaited in any case. */
export type Handler = (event: unknown, context: LambdaContext) => unknown;

type Loaded =
  | { readonly kind: 'loaded'; readonly handler: Handler }
  | { readonly kind: 'failed'; readonly error: FunctionError };

/** Runs the module once, like the init phase: its variables live as long as the environment. */
export async function loadHandler({ entry, handler: name }: InitMessage): Promise<Loaded> {
  let found: unknown;
  try {
    const module = (await import(pathToFileURL(entry).href)) as Record<string, unknown>;
    found = module[name];
  } catch (error) {
    return { kind: 'failed', error: describeLoadError(error) };
  }
  if (typeof found !== 'function') {
    return failed('Runtime.HandlerNotFound', `${name} is undefined or not exported by ${entry}`);
  }
  // The Node.js 24 runtime refuses such a handler at its first start, so it must not run here either.
  if (found.length >= 3) {
    return failed(
      'Runtime.CallbackHandlerDeprecated',
      `${name} takes a callback, which Lambda's Node.js 24 runtime no longer supports: return a promise instead`,
    );
  }
  return { kind: 'loaded', handler: found as Handler };
}

/** Any thrown value, as Lambda reports it: name, message and stack of errors, the text of anything else. */
export function describeError(thrown: unknown): FunctionError {
  if (!(thrown instanceof Error)) {
    return { errorType: typeof thrown, errorMessage: messageOf(thrown), trace: [] };
  }
  return { errorType: thrown.name, errorMessage: thrown.message, trace: (thrown.stack ?? '').split('\n') };
}

function describeLoadError(thrown: unknown): FunctionError {
  const described = describeError(thrown);
  const code = thrown instanceof Error ? (thrown as NodeJS.ErrnoException).code : undefined;
  if (thrown instanceof SyntaxError) return { ...described, errorType: 'Runtime.UserCodeSyntaxError' };
  if (code === 'ERR_MODULE_NOT_FOUND') return { ...described, errorType: 'Runtime.ImportModuleError' };
  return described;
}

function failed(errorType: string, errorMessage: string): Loaded {
  return { kind: 'failed', error: { errorType, errorMessage, trace: [] } };
}
