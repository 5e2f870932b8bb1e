/** Messages from the worker of `leasehold dev` to its supervisor: one JSON object per line, on a separate pipe. */
import { writeSync } from 'node:fs';
import type { CurrentTask } from '../../shared/tasks/task/task-scope.ts';

/** The pipe's file descriptor in the worker. */
export const MESSAGES_FD = 3;

export type WorkerMessage =
  /** It is about to load this version of this file. `isAlone`: this Node does not report the files that it imports. */
  | { readonly kind: 'loads'; readonly file: string; readonly version: string; readonly isAlone?: boolean }
  /** The module is loaded, its tables exist, and the worker starts. */
  | { readonly kind: 'ready'; readonly tasks: readonly string[]; readonly tables: readonly string[] }
  /** It cannot work until a file changes. */
  | { readonly kind: 'refused'; readonly error: string; readonly exitCode: number; readonly stack?: string }
  | { readonly kind: 'session'; readonly id: string }
  | { readonly kind: 'claimed'; readonly task: CurrentTask }
  | { readonly kind: 'settled'; readonly task: CurrentTask; readonly isHandedBack: boolean }
  /** It has received the request to stop. */
  | { readonly kind: 'stopping' }
  /** Its event loop has not run for five seconds. Includes the task and the position in its code, if known. */
  | { readonly kind: 'blocked'; readonly task?: CurrentTask; readonly place?: string }
  | { readonly kind: 'unblocked' }
  /** Whether an inspector is open: then a blocked process may be at a breakpoint. */
  | { readonly kind: 'inspected'; readonly isInspected: boolean }
  /** It ends. Includes the task whose code ended it. */
  | { readonly kind: 'exits'; readonly task?: CurrentTask };

/** Written synchronously, because the process may be ending or another thread may write. */
export function tellSupervisor(message: WorkerMessage): void {
  try {
    writeSync(MESSAGES_FD, `${JSON.stringify(message)}\n`);
  } catch {
    // The supervisor is gone, so this process exits.
  }
}

export function named({ id, name }: CurrentTask): CurrentTask {
  return { id, name };
}
