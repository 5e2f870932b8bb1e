/**
 * Child processes that cannot outlive this one, however it ends.
 *
 * A parent that is killed outright runs no clean-up, and a child that is stopped (SIGSTOP) cannot notice that its parent is gone.
 * So a third process watches: a shell of about a megabyte that holds the read end of a pipe and the list of pids.
 * When this process ends, for whatever reason, the kernel closes the pipe, and the shell kills what is still on the list.
 *
 * Guarantees: no orphan after exit, SIGINT, SIGTERM or SIGKILL of this process.
 * Does not: survive the watching shell being killed first, nor reach a grandchild that made its own process group.
 *
 * Every leashed child leads its own process group (spawn it with `detached: true`).
 * Then a signal reaches its children as well, and Ctrl-C in the terminal reaches only us, who decide in which order things end.
 */
import type { ChildProcess, ChildProcessByStdio } from 'node:child_process';
import { spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import { ConfigurationError } from '../shared/core/errors.ts';

/** Reads `hold <pid>` and `free <pid>`; at end of file kills the process groups that are still held. */
const WATCH = `
trap '' INT TERM HUP
held=' '
while read -r verb pid; do
  case $verb in
    hold) held="$held$pid " ;;
    free) held="\${held%% $pid *} \${held#* $pid }" ;;
  esac
done
for pid in $held; do kill -s KILL -- "-$pid" 2>/dev/null; done
`;

let watcher: Writable | undefined;

/** @throws ConfigurationError on a system without process groups and stop signals */
export function assertPosix(): void {
  if (process.platform === 'win32') {
    throw new ConfigurationError(
      'the local platform needs Linux or macOS, because it freezes processes with SIGSTOP: on Windows run it inside WSL',
    );
  }
}

/**
 * Ties a child to the life of this process, and its children to its own.
 * @param child spawned with `detached: true`
 */
export function bindToParent(child: ChildProcess): void {
  assertPosix();
  const { pid } = child;
  if (pid === undefined) return; // It never started; its `error` event says why.
  const watch = (watcher ??= startWatcher());
  watch.write(`hold ${pid}\n`);
  child.once('exit', () => {
    signalQuietly(pid, 'SIGKILL'); // Its children end with it, as a Lambda sandbox ends as a whole.
    watch.write(`free ${pid}\n`);
  });
}

/** Signals a leashed child and everything that it started; does nothing once it has ended. */
export function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  const ended = child.exitCode !== null || child.signalCode !== null;
  // A pid that was given back may belong to a stranger.
  if (child.pid !== undefined && !ended) signalQuietly(child.pid, signal);
}

function startWatcher(): Writable {
  const forget = (): void => {
    // Killed from outside. Children already running lose this guard; the next one gets a new watcher.
    watcher = undefined;
  };
  const shell = startShell(WATCH);
  shell.once('error', forget);
  shell.once('exit', forget);
  shell.stdin.on('error', forget);
  return shell.stdin;
}

/** A shell that learns from the end of its input that this process is gone. */
export function startShell(script: string): ChildProcessByStdio<Writable, null, null> {
  const shell = spawn('/bin/sh', ['-c', script], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  // Neither may keep this process alive: that it ends is the message.
  shell.unref();
  (shell.stdin as Writable & { unref?(): void }).unref?.();
  return shell;
}

/** Signals a process group; false if it has ended (ESRCH), for example because its process has finished. */
export function signalQuietly(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch {
    return false;
  }
}
