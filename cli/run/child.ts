/**
 * The command that runs under the lease: started in a process group of its own, so that whatever it starts ends with it,
 * and so that Ctrl+C reaches the wrapper alone, which passes it on and decides in which order things end.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Environment } from '../context.ts';
import type { ExitCode } from '../exit.ts';
import { CommandError, EXIT, exitCodeOfSignal } from '../exit.ts';

/** Between looks at a process group that was told to stop. */
const LOOK_MS = 25;

export class Child {
  readonly group: number;
  /** How the command ended, as a shell would say it. */
  readonly ended: Promise<ExitCode>;

  private constructor(process: ChildProcess, group: number) {
    this.group = group;
    this.ended = new Promise((resolve) => {
      process.once('exit', (code, signal) => {
        resolve(code ?? exitCodeOfSignal(constants.signals[signal ?? 'SIGKILL']));
      });
    });
  }

  /**
   * @param onSpawned is told the process group in the turn of the spawn, so that a wrapper that is killed or frozen later leaves nothing
   *   unguarded. A wrapper that is frozen before its own `spawn` returns has told nothing: that instant is not covered.
   * @throws CommandError when it could not be started
   */
  static async start(
    argv: readonly [string, ...string[]],
    environment: Environment,
    onSpawned: (group: number) => void,
  ): Promise<Child> {
    const [command, ...operands] = argv;
    const child = spawn(command, operands, { stdio: 'inherit', detached: true, env: { ...environment } });
    if (child.pid !== undefined) onSpawned(child.pid);
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (cause: NodeJS.ErrnoException) => {
        const isMissing = cause.code === 'ENOENT';
        const message = isMissing
          ? `there is no command ${command}`
          : `${command} could not be executed (${cause.code ?? cause.message})`;
        reject(new CommandError(isMissing ? EXIT.commandNotFound : EXIT.cannotExecute, message, { cause }));
      });
    });
    if (child.pid === undefined)
      throw new CommandError(EXIT.cannotExecute, `${command} was started without a process id`);
    return new Child(child, child.pid);
  }

  /** To the command and everything that it has started; nothing when they are gone. */
  signal(signal: NodeJS.Signals): void {
    send(this.group, signal);
  }

  /** Ends whatever is left of the group: asks, waits as long as the grace lasts, and kills. */
  async stop(graceMs: number, clock: Clock): Promise<void> {
    if (!this.#isRunning()) return;
    this.signal('SIGTERM');
    this.signal('SIGCONT'); // Stopped processes hear nothing else.
    const deadline = clock.monotonic() + graceMs;
    while (this.#isRunning() && clock.monotonic() < deadline) await clock.sleep(LOOK_MS);
    this.signal('SIGKILL');
  }

  #isRunning(): boolean {
    return send(this.group, 0);
  }
}

function send(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch {
    return false; // ESRCH: nothing of that group is left.
  }
}
