import { once } from 'node:events';
import type { ExitCode } from './exit.ts';
import { EXIT } from './exit.ts';

/** Signals of Ctrl+C, of a supervisor, and of a closed terminal. */
const INTERRUPTS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs an endless operation. Ctrl+C is its normal end and not a failure. */
export async function untilInterrupted(watch: (signal: AbortSignal) => Promise<void>): Promise<ExitCode> {
  const interrupted = new AbortController();
  const stop = (): void => interrupted.abort();
  for (const signal of INTERRUPTS) process.once(signal, stop);
  try {
    await watch(interrupted.signal);
    return EXIT.done;
  } finally {
    for (const signal of INTERRUPTS) process.off(signal, stop);
  }
}

/** For operations that run by themselves, such as a server. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
