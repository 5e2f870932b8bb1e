/** `leasehold run`: any program under a lease. */
import path from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { ConfigurationError, LeaseLostError } from '../../shared/core/errors.ts';
import { DEFAULT_LOCK_DELAY_MS, DEFAULT_TTL_MS } from '../../shared/core/lease/timing.ts';
import { givenOnce, name, spanOption, wholeNumber } from '../arguments.ts';
import type { Bind, Context, Environment } from '../context.ts';
import type { ExitCode } from '../exit.ts';
import { CommandError, EXIT } from '../exit.ts';
import { printable } from '../output.ts';
import { Child } from '../run/child.ts';
import { Guard } from '../run/guard.ts';
import { Interrupts } from '../run/interrupts.ts';
import type { Right, SemaphoreWanted, Wanted } from '../run/rights.ts';
import { acquireRights } from '../run/rights.ts';

interface Options extends Partial<Wanted> {
  readonly ttl: number;
  readonly wait: number;
  readonly grace?: number;
  readonly lockDelay: number;
  readonly holdFor: number;
  readonly name?: string;
  readonly verbose?: boolean;
}

type Argv = readonly [string, ...string[]];

/** Time for a program to clean up after it has lost its lease. A shorter lock-delay shortens it. */
const DEFAULT_GRACE_MS = 5_000;

export function runCommand(bind: Bind): Command {
  const command = new Command('run')
    .summary('run any program under a lease')
    .description(
      'Runs a program while it holds a lock, a leadership or a permit, and ends it when that is lost.\n' +
        'Lets ten machines share a crontab entry and runs it on one.',
    )
    .argument('<command...>', "the program and its arguments, behind '--'")
    .option('--lock <key>', 'hold this lock', givenOnce(name, 'one lock for each run'))
    .option('--leader <name>', 'be the leader of this election', givenOnce(name, 'one election for each run'))
    .option(
      '--semaphore <name=limit>',
      'hold a permit of this semaphore, which has this limit',
      givenOnce(semaphoreOf, 'one semaphore for each run'),
    )
    .addOption(spanOption('--wait <span>', 'how long to wait for it').default(0, 'not at all'))
    .addOption(
      spanOption('--ttl <span>', 'session TTL: how long after its last heartbeat the lock is freed', DEFAULT_TTL_MS),
    )
    .addOption(
      spanOption('--lock-delay <span>', 'how long the key stays closed once it is lost', DEFAULT_LOCK_DELAY_MS),
    )
    .addOption(
      spanOption(
        '--grace <span>',
        'time between SIGTERM and SIGKILL after it is lost (default: 5s, within the lock-delay)',
      ),
    )
    .addOption(
      spanOption('--hold-for <span>', 'minimum time to hold it, even if the program ends sooner').default(
        0,
        'no longer',
      ),
    )
    .option('--name <text>', "the holder's name, as others see it", name)
    .option('--verbose', 'print each acquire and release')
    .addHelpText('after', HELP);
  return bind<Options>(command, async (context, options, program, ...operands) => {
    if (program === '') throw new ConfigurationError('the name of the program is empty');
    return run(context, options, [program, ...operands]);
  });
}

async function run(context: Context, options: Options, argv: Argv): Promise<ExitCode> {
  const wanted = wantedOf(options);
  const graceMs = graceOf(options);
  using connection = await context.connect();
  using interrupts = new Interrupts();
  const clock = connection.runtime.clock;
  const events = { onRenewed: (): void => undefined };
  await using session = await connection.leasehold.session({
    ttl: options.ttl,
    lockDelay: options.lockDelay,
    name: options.name ?? path.basename(argv[0]),
    events: { onRenewed: () => events.onRenewed() },
  });
  const rights = await acquire(wanted, session, connection, { waitMs: options.wait, signal: interrupts.signal });
  const acquiredAt = clock.monotonic();
  tell(context, options, () =>
    rights.map(({ what, fencingToken }) => `acquired ${what}, fencing token ${fencingToken}`),
  );

  const guard = await Guard.start();
  const extend = (): void => guard.extend(session.remainingTrustMs() + graceMs);
  const child = await Child.start(argv, environmentOf(context.environment, rights, session.id), (group) => {
    guard.hold(group);
    // Set at once, because otherwise a wrapper that is frozen before its first heartbeat would leave the program without a deadline.
    extend();
  }).catch((error: unknown) => {
    guard.release();
    throw error;
  });
  events.onRenewed = extend;
  interrupts.passTo(child, () => lossOf(rights) !== undefined);
  const ending = await Promise.race([child.ended, firstLoss(rights)]);
  await child.stop(graceMs, clock);
  // Not earlier, because if an error occurs before this line, the guard must end the program along with this process.
  guard.release();
  // A program that ended just as the lease was lost may have done its last work without the lease.
  const loss = lossOf(rights);
  if (loss !== undefined || typeof ending !== 'number')
    throw new CommandError(EXIT.lost, `${argv[0]} was stopped: ${loss?.message ?? 'its lease was lost'}`, {
      cause: loss,
    });
  await interrupts.sleep(options.holdFor - (clock.monotonic() - acquiredAt), clock, session.signal);
  await Promise.allSettled(rights.map((right) => right.release()));
  tell(context, options, () => rights.map(({ what }) => `released ${what}`));
  return ending;
}

async function acquire(
  ...[wanted, session, connection, patience]: Parameters<typeof acquireRights>
): Promise<readonly Right[]> {
  try {
    return await acquireRights(wanted, session, connection, patience);
  } catch (error) {
    if (!(error instanceof LeaseLostError)) throw error;
    throw new CommandError(EXIT.notAcquired, `not acquired: ${error.message}`, { cause: error });
  }
}

function lossOf(rights: readonly Right[]): LeaseLostError | undefined {
  const lost = rights.find(({ signal }) => signal.aborted);
  return lost?.signal.reason as LeaseLostError | undefined;
}

function firstLoss(rights: readonly Right[]): Promise<'lost'> {
  return new Promise((resolve) => {
    for (const { signal } of rights) {
      if (signal.aborted) resolve('lost');
      signal.addEventListener('abort', () => resolve('lost'), { once: true });
    }
  });
}

/** The program gets the sequencer of the first lease, in the order lock, leader, semaphore. */
function environmentOf(environment: Environment, rights: readonly Right[], session: string): Environment {
  const [first] = rights;
  return {
    ...environment,
    LEASEHOLD_SESSION: session,
    LEASEHOLD_SEQUENCER: first?.sequencer,
    LEASEHOLD_FENCING_TOKEN: first === undefined ? undefined : String(first.fencingToken),
  };
}

function wantedOf({ lock, leader, semaphore }: Options): Wanted {
  if (lock === undefined && leader === undefined && semaphore === undefined)
    throw new ConfigurationError('nothing to hold: use --lock, --leader or --semaphore');
  return { lock, leader, semaphore };
}

/** During the lock-delay there is no other holder, so the program has this time to stop. */
export function graceOf({ grace, lockDelay }: Pick<Options, 'grace' | 'lockDelay'>): number {
  if (grace !== undefined && grace > lockDelay)
    throw new ConfigurationError(
      `--grace ${grace} ms is longer than --lock-delay ${lockDelay} ms: another holder could begin while this program still shuts down`,
    );
  return grace ?? Math.min(DEFAULT_GRACE_MS, lockDelay);
}

function tell({ output }: Context, { verbose }: Options, lines: () => readonly string[]): void {
  if (verbose === true) for (const line of lines()) output.note(printable(line));
}

function semaphoreOf(text: string): SemaphoreWanted {
  const at = text.lastIndexOf('=');
  if (at < 1) throw new InvalidArgumentError('must be a name and its limit, such as uploads=15');
  return { name: name(text.slice(0, at)), limit: wholeNumber(1)(text.slice(at + 1)) };
}

const HELP = `
The program finds in its environment
  LEASEHOLD_SEQUENCER      proof of the lease, which others can verify
  LEASEHOLD_FENCING_TOKEN  a number that is larger than that of any earlier holder
  LEASEHOLD_SESSION        the session that holds it
of the lock if there is one, else of the leadership, else of the permit.

Signals (INT, TERM, HUP, QUIT, USR2, WINCH) are passed on, and the program decides; Ctrl+Z stops both.
The lease is given back as soon as the program has ended, and whatever it started in its process group is ended then.
If this wrapper is killed or frozen, the program is killed (by a small shell that watches), and the lease is left to its TTL and lock-delay.
The program has no controlling terminal: it reads and writes this one, but cannot open /dev/tty.

Examples:
  $ leasehold run --lock reports/nightly -- ./nightly.sh
  $ leasehold run --lock backup --hold-for 10m -- backup --all   # clocks of a crontab's machines differ: the others still find it held
  $ leasehold run --lock deploy --wait 5m -- make deploy
  $ leasehold run --semaphore uploads=15 --wait 1h -- rsync -a ./out/ host:/in/
  $ leasehold run --leader scheduler --wait 365d -- ./scheduler  # the standby

Exit codes: the program's own; 75 not acquired, 76 lost, 126 and 127 could not be started, 2 and 3 as of every command.`;
