/** Messages from the worker of `leasehold dev` to its supervisor: one JSON object per line, on a separate pipe. */
import { writeSync } from 'node:fs';
import type { CurrentTask } from '../../shared/tasks/task/task-scope.ts';

/** The pipe's file descriptor in the worker. */
export const MESSAGES_FD = 3;

export type WorkerMessage =
  /** It is about to load this file, in this version. `isAlone`: this Node does not tell which files that one imports. */
  | { readonly kind: 'loads'; readonly file: string; readonly version: string; readonly isAlone?: boolean }
  /** The module is loaded, its tables are there, and the worker begins. */
  | { readonly kind: 'ready'; readonly tasks: readonly string[]; readonly tables: readonly string[] }
  /** It cannot work before something changes. */
  | { readonly kind: 'refused'; readonly error: string; readonly exitCode: number; readonly stack?: string }
  | { readonly kind: 'session'; readonly id: string }
  | { readonly kind: 'claimed'; readonly task: CurrentTask }
  | { readonly kind: 'settled'; readonly task: CurrentTask; readonly isHandedBack: boolean }
  /** It has received the request to stop. */
  | { readonly kind: 'stopping' }
  /** Its event loop has not run for five seconds; with the task and the place in its code, if known. */
  | { readonly kind: 'blocked'; readonly task?: CurrentTask; readonly place?: string }
  | { readonly kind: 'unblocked' }
  /** Whether an inspector is open: then a blocked process may be at a breakpoint. */
  | { readonly kind: 'inspected'; readonly isInspected: boolean }
  /** It ends; with the task whose code ended it. */
  | { readonly kind: 'exits'; readonly task?: CurrentTask };

/** Written at once, also by a process that is ending and by another thread. */
export function tellSupervisor(message: WorkerMessage): void {
  try {
    writeSync(MESSAGES_FD, `${JSON.stringify(message)}\n`);
  } catch {
    // The supervisor is gone, and this process follows it.
  }
}

export function named({ id, name }: CurrentTask): CurrentTask {
  return { id, name };
}
