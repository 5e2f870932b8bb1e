/**
 * How an invocation ends, and the error that its caller is shown when the process ended instead of answering.
 * Types and texts are Lambda's, because people search for them.
 */
import type { FunctionError, InvocationOutcome, KilledBy } from './events.ts';
import type { SandboxExit } from './sandbox.ts';

export type InvocationResult =
  | { readonly outcome: 'success'; readonly payload: string }
  | { readonly outcome: Exclude<InvocationOutcome, 'success'>; readonly error: FunctionError };

/** As Lambda's supervisor words them; others keep their own name. */
const SIGNAL_WORDS: Partial<Record<NodeJS.Signals, string>> = {
  SIGKILL: 'killed',
  SIGABRT: 'aborted',
  SIGSEGV: 'segmentation fault',
  SIGTERM: 'terminated',
};

export function exitResult(
  requestId: string,
  ended: {
    readonly exit: SandboxExit;
    readonly killedBy: KilledBy | undefined;
    /** The limit that applied: the function's timeout, or the time allowed for starting. */
    readonly limitMs: number;
    readonly phase: 'init' | 'invoke';
  },
): InvocationResult {
  const timedOut = ended.killedBy === 'timeout' || ended.killedBy === 'initTimeout';
  const error = timedOut
    ? {
        errorType: 'Sandbox.Timedout',
        errorMessage: `RequestId: ${requestId} Error: ${timedOutText(ended.limitMs)}`,
      }
    : {
        errorType: 'Runtime.ExitError',
        errorMessage: `RequestId: ${requestId} Error: ${describeExit(ended.exit)}`,
      };
  if (ended.phase === 'init') return { outcome: 'initError', error };
  return { outcome: timedOut ? 'timeout' : 'exit', error };
}

export function timedOutText(limitMs: number): string {
  return `Task timed out after ${(limitMs / 1000).toFixed(2)} seconds`;
}

function describeExit({ code, signal, failure }: SandboxExit): string {
  if (failure !== undefined) return `Runtime failed to start: ${failure}`;
  if (signal !== null) return `Runtime exited with error: signal: ${SIGNAL_WORDS[signal] ?? signal}`;
  if (code === 0) return 'Runtime exited without providing a reason';
  return `Runtime exited with error: exit status ${code ?? 'unknown'}`;
}
