/** Checks an example's claim: its processes report their actions, and the example compares them at the end. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** Says whether a claim of the example holds; the exit code says it of all. */
export function check(holds: boolean, claim: string): void {
  console.log(`  ${holds ? 'yes' : 'NO '}  ${claim}`);
  if (!holds) process.exitCode = 1;
}

/** Tells the process that forked this one. Resolves when it is on its way: this process may end right after. */
export function report(said: object): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(said, (error: Error | null) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
}

/** However the example ends, these end with it: when it throws, nothing else would stop them. */
export function endingWith(processes: Iterable<{ kill(signal?: NodeJS.Signals): unknown }>): Disposable {
  return {
    [Symbol.dispose]() {
      for (const one of processes) one.kill('SIGKILL');
    },
  };
}

export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}
