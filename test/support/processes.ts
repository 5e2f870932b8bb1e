/** Process state from the operating system, for tests that must not rely on Leasehold's own reports. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'vitest';

/** Whether the process does or could do anything: one that ended but was not yet waited for (a zombie) does not count. */
export function isRunning(pid: number): boolean {
  const state = stateOf(pid);
  return state !== undefined && state !== 'Z';
}

/** Whether SIGSTOP holds it. */
export function isStopped(pid: number): boolean {
  return stateOf(pid) === 'T';
}

/** Only the parent is notified of a process's end, so this function polls. */
export async function expectGone(pids: readonly number[]): Promise<void> {
  await expect.poll(() => pids.filter(isRunning), { interval: 20 }).toEqual([]);
}

/** The letter that `ps` shows, or `undefined` when there is no such process. */
function stateOf(pid: number): string | undefined {
  // Small Linux images have no `ps`, and macOS has no /proc.
  return existsSync('/proc/self/stat') ? stateFromProc(pid) : stateFromPs(pid);
}

function stateFromProc(pid: number): string | undefined {
  try {
    // pid (command) state …, where the command may hold anything, parentheses included.
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return status.slice(status.lastIndexOf(')') + 2)[0];
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return undefined;
    throw error;
  }
}

function stateFromPs(pid: number): string | undefined {
  try {
    return execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' })[0];
  } catch (error) {
    const { status } = error as { status?: number };
    if (status === 1) return undefined; // ps looked, and there is no such process.
    throw error;
  }
}
