/**
 * The guard of a command that runs under a lease: a third process, which ends the command if its wrapper cannot.
 *
 *   - The wrapper is gone for any reason (SIGKILL, out of memory): the kernel closes the pipe between them, and the guard kills.
 *   - The wrapper is stopped (SIGSTOP, a frozen or starved machine):
 *     it no longer extends the deadline, and when that passes, the guard kills.
 *
 * The guard is a shell of about a megabyte, started before the command.
 * It does not survive being killed itself, and cannot reach processes that left the command's process group.
 */
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { startShell } from '../../local/bind-to-parent.ts';

/**
 * Reads `hold <group>`, `until <seconds from now>` and `free`, one per line.
 * Each new deadline replaces the previous one: its timer is a subshell that is killed together with its `sleep`.
 */
const WATCH = `
trap '' INT TERM HUP QUIT TSTP
group=''
timer=''
strike() { [ -n "$group" ] && kill -s KILL -- "-$group" 2>/dev/null; }
while read -r verb value; do
  [ -n "$timer" ] && kill -s USR1 "$timer" 2>/dev/null
  timer=''
  case $verb in
    hold) group=$value ;;
    free) exit 0 ;;
    until)
      ( trap 'kill -s KILL $nap 2>/dev/null; exit 0' USR1
        sleep "$value" & nap=$!
        wait "$nap" && strike ) &
      timer=$! ;;
  esac
done
[ -n "$timer" ] && kill -s USR1 "$timer" 2>/dev/null
strike
`;

export class Guard {
  readonly #orders: Writable;

  /** @param orders the input of its shell */
  constructor(orders: Writable) {
    this.#orders = orders;
  }

  /** @throws if there is no POSIX shell */
  static async start(): Promise<Guard> {
    const shell = startShell(WATCH);
    shell.stdin.on('error', () => {
      // Killed from outside: the command loses this guard, and its wrapper still watches over it.
    });
    await once(shell, 'spawn');
    return new Guard(shell.stdin);
  }

  /** From now on this process group ends with the wrapper, or at the deadline. */
  hold(group: number): void {
    this.#order(`hold ${group}`);
  }

  /** Replaces the deadline. Whole seconds, rounded up, because every `sleep` supports these. */
  extend(ms: number): void {
    if (Number.isFinite(ms)) this.#order(`until ${Math.max(1, Math.ceil(ms / 1000))}`);
  }

  /** Ends the guard, after the command has ended. */
  release(): void {
    if (!this.#orders.writable) return;
    this.#order('free');
    this.#orders.end();
  }

  #order(order: string): void {
    if (this.#orders.writable) this.#orders.write(`${order}\n`);
  }
}
