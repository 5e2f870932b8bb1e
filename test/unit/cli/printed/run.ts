/**
 * `leasehold run`, scene by scene: its messages to the guard, its signals to the program, its output and its exit code.
 *
 * Leases and the clock are simulated. Guard and program record each message, with the time since the start.
 */
import { Writable } from 'node:stream';
import { setImmediate as settled } from 'node:timers/promises';
import { expect, onTestFinished, vi } from 'vitest';
import { CommandError, EXIT } from '../../../../cli/exit.ts';
import { Child } from '../../../../cli/run/child.ts';
import { Guard } from '../../../../cli/run/guard.ts';
import { connectionOf, printedBy } from '../../../support/cli-scene.ts';
import type { Process } from '../../../support/coordination.ts';
import { passTime, simulatedWorld } from '../../../support/coordination.ts';

/** What happens to the program and around it, in milliseconds after its start. */
interface Scene {
  readonly what: string;
  readonly argv: string;
  /** When the program ends by itself, and how. Default: at once with 0. */
  readonly ends?: readonly [atMs: number, code: number];
  /** How long what it left takes to end. */
  readonly lingersMs?: number;
  /** Why the program cannot be started. */
  readonly refusal?: CommandError;
  /** Before the command. */
  readonly before?: (there: Process) => Promise<unknown>;
  /** At moments after the command has begun. */
  readonly then?: Readonly<Record<number, (acts: Acts) => unknown>>;
}

interface Acts {
  readonly here: Process;
  readonly there: Process;
  readonly press: (signal: NodeJS.Signals) => void;
}

const KEY = 'nightly';
const holds = async (there: Process) => (await there.leasehold.session({ name: 'other', node: 'n' })).lock(KEY);

async function takeAway({ there }: Acts): Promise<void> {
  const holder = (await there.leasehold.locks.get(KEY))?.holder;
  await there.leasehold.locks.forceRelease(KEY, {
    by: 'ann',
    reason: 'drill',
    leaseCounter: holder?.leaseCounter ?? 0,
  });
}

const SCENES: readonly Scene[] = [
  { what: 'the program ends at once', argv: 'run --lock nightly -- /bin/report a -b' },
  { what: 'all that it can hold', argv: 'run --verbose --lock nightly --leader boss --semaphore up=2 -- report' },
  { what: 'a leader', argv: 'run --leader boss --name chief -- report', ends: [5, 3] },
  { what: 'each renewal extends the deadline', argv: 'run --lock nightly -- report', ends: [41_000, 0] },
  {
    what: 'the deadline is as long as trust and grace',
    argv: 'run --lock nightly --ttl 60s --lock-delay 20s --grace 12s -- report',
    ends: [45_000, 1],
  },
  { what: 'held for a while', argv: 'run --verbose --lock nightly --hold-for 25s -- report', ends: [4_000, 7] },
  {
    what: 'an interrupt ends what is left of it',
    argv: 'run --verbose --lock nightly --hold-for 25s -- report',
    ends: [4_000, 7],
    then: { 9_000: ({ press }) => press('SIGINT') },
  },
  {
    what: 'the loss ends what is left of it',
    argv: 'run --verbose --lock nightly --hold-for 50s -- report',
    ends: [4_000, 7],
    then: { 5_000: takeAway },
  },
  { what: 'held by another', argv: 'run --lock nightly -- report', before: holds },
  { what: 'held for too long', argv: 'run --lock nightly --wait 20s -- report', before: holds },
  {
    what: 'given back in time',
    argv: 'run --verbose --lock nightly --wait 1m -- report',
    before: async (there) => {
      const lock = await holds(there);
      void there.runtime.clock.sleep(7_000).then(() => lock.release());
    },
  },
  {
    what: 'an interrupt ends the wait',
    argv: 'run --lock nightly --wait 1m -- report',
    before: holds,
    then: { 3_000: ({ press }) => press('SIGTERM') },
  },
  {
    what: 'the program takes a signal and decides',
    argv: 'run --lock nightly -- report',
    ends: [9_000, 4],
    then: Object.fromEntries(
      (['SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR2', 'SIGWINCH', 'SIGTERM'] as const).map((signal, at) => [
        1_000 + at,
        ({ press }: Acts) => press(signal),
      ]),
    ),
  },
  {
    what: 'taken away by an operator',
    argv: 'run --verbose --lock nightly --hold-for 90s -- report',
    ends: [90_000, 0],
    then: { 5_000: takeAway },
  },
  {
    what: 'the store is silent',
    argv: 'run --lock nightly --grace 2s -- report',
    ends: [90_000, 0],
    then: { 12_000: ({ here }) => (here.driver.isDown = true) },
  },
  {
    what: 'the store is silent for a while',
    argv: 'run --lock nightly -- report',
    ends: [40_000, 0],
    then: { 12_000: ({ here }) => (here.driver.isDown = true), 22_000: ({ here }) => (here.driver.isDown = false) },
  },
  {
    what: 'the store is silent at the end',
    argv: 'run --verbose --lock nightly -- report',
    ends: [3_000, 5],
    then: { 2_000: ({ here }) => (here.driver.isDown = true) },
  },
  {
    what: 'a program that cannot be started',
    argv: 'run --verbose --lock nightly -- report',
    refusal: new CommandError(EXIT.commandNotFound, 'there is no command report'),
  },
  { what: 'a permit of a full semaphore', argv: 'run --semaphore up=1 -- report', before: (there) => permit(there, 1) },
  { what: 'nothing to hold', argv: 'run -- report' },
  { what: 'no program', argv: 'run --lock nightly' },
  { what: 'a grace beyond the lock-delay', argv: 'run --lock nightly --lock-delay 2s --grace 2001ms -- report' },
  { what: 'a semaphore without a limit', argv: 'run --semaphore up -- report' },
];

async function permit(there: Process, limit: number): Promise<unknown> {
  return (await there.leasehold.session({ name: 'other', node: 'n' })).tryPermit('up', { limit });
}

async function played({
  what,
  argv,
  ends = [0, 0],
  lingersMs = 0,
  refusal,
  before,
  then = {},
}: Scene): Promise<string> {
  const world = simulatedWorld();
  let ids = 0;
  const chance = { ids: { unique: () => `id-${++ids}`, ordered: () => `id-${++ids}` }, random: { next: () => 0.5 } };
  const [here, there] = [world.start({}, chance), world.start({}, chance)];
  await (before === undefined ? undefined : passTime(world, before(there)));
  const { clock } = here.runtime;
  const startedAt = clock.monotonic();
  const journal: string[] = [];
  const note = (text: string): void => void journal.push(`→ +${Math.round(clock.monotonic() - startedAt)} ms ${text}`);

  const orders = new Writable({
    decodeStrings: false,
    write(text: string, _encoding, done) {
      note(`guard: ${text.trimEnd()}`);
      done();
    },
    final(done) {
      note('guard: no more orders');
      done();
    },
  });
  const guard = vi.spyOn(Guard, 'start').mockImplementation(() => Promise.resolve(new Guard(orders)));
  const child = vi.spyOn(Child, 'start').mockImplementation((program, environment, onSpawned) => {
    const given = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
    note(`starts ${program.join(' ')} with ${given.join(' ')}`);
    onSpawned(77);
    if (refusal !== undefined) return Promise.reject(refusal);
    const ended = Promise.withResolvers<number>();
    const end = (code: number): void => {
      note(`the program ends with ${code}`);
      ended.resolve(code);
    };
    const [atMs, code] = ends;
    const cancel = clock.after(atMs, () => end(code));
    void ended.promise.then(cancel);
    const stop = (graceMs: number): Promise<void> => {
      note(`what the program left is stopped within ${graceMs} ms`);
      return lingersMs === 0 ? Promise.resolve() : clock.sleep(lingersMs);
    };
    const signal = (name: string): void => note(`the program gets ${name}`);
    return Promise.resolve({ group: 77, ended: ended.promise, stop, signal } as unknown as Child);
  });

  const press = (signal: NodeJS.Signals): void => {
    note(`${signal} at the terminal`);
    process.emit(signal, signal);
  };
  for (const [atMs, act] of Object.entries(then))
    void clock.sleep(Number(atMs)).then(() => act({ here, there, press }));
  const connected = Promise.withResolvers<undefined>();
  const connection = {
    ...connectionOf({ semaphores: here.leasehold.semaphores }),
    get leasehold() {
      connected.resolve(undefined);
      return here.leasehold;
    },
  };
  try {
    const printing = printedBy(argv.split(' '), connection, [], here.runtime).finally(() => note('the end'));
    // Loading the command takes no time of this world.
    await Promise.race([connected.promise, printing]);
    const printed = await passTime(world, printing);
    await settled();
    return [`## ${what}`, printed.trimEnd(), ...journal, await left(there), ''].join('\n');
  } finally {
    guard.mockRestore();
    child.mockRestore();
  }
}

/** The holders of all locks and permits afterwards, and the ends of the sessions. */
async function left({ leasehold }: Process): Promise<string> {
  const lock = await leasehold.locks.get(KEY);
  const sessions = await Array.fromAsync(leasehold.sessions.list(), (session) => {
    const { id, name, status, ttlMs, lockDelayMs } = session;
    const end = session.status === 'invalid' ? ` (${session.reason})` : '';
    return `session ${id} ${name}: ${status}${end}, ttl ${ttlMs}, lock-delay ${lockDelayMs}`;
  });
  const holder =
    lock === undefined
      ? 'there is no lock'
      : `the lock is ${lock.holder === undefined ? 'free' : `held by ${lock.holder.name}`}`;
  return [holder, ...sessions].join('\n');
}

export async function run(): Promise<string> {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2', 'SIGWINCH', 'SIGTSTP', 'SIGCONT'] as const;
  const listeners = () => signals.map((signal) => process.listenerCount(signal));
  const before = listeners();
  // A signal that nobody hears any more would end this process.
  for (const signal of signals) process.on(signal, nothing);
  onTestFinished(() => {
    for (const signal of signals) process.off(signal, nothing);
  });

  const scenes: string[] = [];
  for (const scene of SCENES) scenes.push(await played(scene));

  expect(listeners()).toEqual(before.map((count) => count + 1));
  return scenes.join('\n');
}

function nothing(): void {
  // Hears it.
}
