/**
 * Ends a process whose code spins, and names what it did.
 * Code that loops without a turn of the event loop keeps every timer from firing, also the test runner's own, so another thread watches.
 * It counts time of the CPU: a verdict must not depend on what else the machine does.
 */
import { writeSync } from 'node:fs';
import { Worker, isMainThread, parentPort } from 'node:worker_threads';

/** In one turn. The longest of our tests takes less than 6 s. */
const SPINS_AFTER_MS = 20_000;
const TURN_MS = 1_000;

/** @returns to be told what begins */
export function watchSpins(): (what: string) => void {
  const thread = new Worker(new URL(import.meta.url), { execArgv: [] });
  thread.unref();
  const tell = (what?: string): void => thread.postMessage(what);
  setInterval(tell, TURN_MS).unref();
  return tell;
}

if (!isMainThread) watch();

function watch(): void {
  let [what, spentMs] = ['loading', cpuMs()];
  parentPort?.on('message', (begun: string | undefined) => {
    spentMs = cpuMs();
    what = begun ?? what;
  });
  setInterval(() => {
    if (cpuMs() - spentMs < SPINS_AFTER_MS) return;
    writeSync(2, `\n${what} SPINS: no turn of the event loop in ${SPINS_AFTER_MS / 1_000} s of CPU time\n`);
    process.kill(process.pid, 'SIGKILL');
  }, TURN_MS);
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
