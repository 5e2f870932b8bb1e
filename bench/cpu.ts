/** The CPU time that processes have used, as the kernel counts it. */
import { readFileSync } from 'node:fs';

/** The kernel's unit in /proc, whatever the processor. */
const TICK_MS = 10;
/** Places of the times in user and in kernel mode among the fields that follow the command's name in /proc/<pid>/stat. */
const [USER, KERNEL] = [11, 12];

/** CPU time in milliseconds since the processes started; undefined without /proc. */
export function cpuMsOf(pids: readonly number[]): number | undefined {
  try {
    return pids.reduce((sum, pid) => sum + ticksOf(pid) * TICK_MS, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function ticksOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = status.slice(status.lastIndexOf(')') + 2).split(' ');
  return Number(fields[USER]) + Number(fields[KERNEL]);
}
