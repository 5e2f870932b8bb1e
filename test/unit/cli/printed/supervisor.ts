/**
 * The supervisor of `leasehold dev`, scene by scene: its calls to workers, its output, and the final state of their tasks.
 *
 * Rows, leases and the clock are simulated. Each scene scripts the worker processes.
 */
import { EventEmitter } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { fileVersion } from '../../../../cli/dev/file-version.ts';
import type { WorkerMessage } from '../../../../cli/dev/messages.ts';
import { Supervisor } from '../../../../cli/dev/supervisor.ts';
import type { WorkerChild } from '../../../../cli/dev/worker-process.ts';
import { failureOf } from '../../../../cli/exit.ts';
import { Output } from '../../../../cli/output.ts';
import { stampOf } from '../../../../shared/core/lease/write.ts';
import type { Process } from '../../../support/coordination.ts';
import { passTime, simulatedWorld } from '../../../support/coordination.ts';

type Deed = (worker: FakeWorker) => unknown;

interface Scene {
  readonly what: string;
  /** The script of each worker: actions at times after its start, and its reaction to a stop request. */
  readonly workers: readonly { readonly at?: Readonly<Record<number, Deed>>; readonly onStop?: Deed }[];
  readonly interruptedAtMs?: number;
  readonly ttlMs?: number;
  readonly then?: Readonly<Record<number, (here: Process) => unknown>>;
}

const TASKS = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
const FILE = fileURLToPath(import.meta.url);
const task = (id: string) => ({ id, name: 'greet' });
const claims =
  (...ids: readonly string[]): Deed =>
  (worker) =>
    worker.claims(ids);
const says =
  (message: WorkerMessage): Deed =>
  (worker) =>
    worker.say(message);
const settles = (id: string, isHandedBack: boolean) => says({ kind: 'settled', task: task(id), isHandedBack });
const exits =
  (code: number | NodeJS.Signals, culprit?: string): Deed =>
  (worker) => {
    if (typeof code === 'number') worker.say({ kind: 'exits', ...(culprit !== undefined && { task: task(culprit) }) });
    worker.end(code);
  };
const ready = says({ kind: 'ready', tasks: ['greet'], tables: ['reports'] });
const loads = (version = fileVersion(FILE), file = FILE) => says({ kind: 'loads', file, version });
const saved = loads('an earlier one');
const blocks = (id?: string, place?: string) =>
  says({ kind: 'blocked', ...(id !== undefined && { task: task(id) }), ...(place !== undefined && { place }) });
const unblocks = says({ kind: 'unblocked' });
const inspected = (isInspected: boolean) => says({ kind: 'inspected', isInspected });
const refuses = says({ kind: 'refused', error: 'tasks.ts cannot be loaded', exitCode: 2, stack: 'E: no\n    at a:1' });
const stops: Deed = (worker) => {
  worker.say({ kind: 'stopping' });
  worker.end(0);
};
const stopsAfter =
  (ms: number): Deed =>
  (worker) => {
    worker.say({ kind: 'stopping' });
    worker.later(ms, (then) => then.end(0));
  };
const steady = { at: { 0: ready }, onStop: stops };
const crash = (afterMs: number, culprit?: string) => ({ at: { 0: ready, [afterMs]: exits(1, culprit) } });

const SCENES: readonly Scene[] = [
  { what: 'Ctrl+C', workers: [{ at: { 5: ready }, onStop: stopsAfter(30) }] },
  { what: 'Ctrl+C that it does not hear', workers: [{ at: { 0: ready, 10: claims('a', 'b', 'g') } }] },
  {
    what: 'Ctrl+C that it hears, and goes on',
    workers: [{ at: { 0: ready, 10: claims('a') }, onStop: stopsAfter(99_000) }],
  },
  {
    what: 'Ctrl+C at a breakpoint',
    workers: [
      { at: { 0: ready, 10: inspected(true) }, onStop: (worker) => worker.later(40_000, (then) => then.end(0)) },
    ],
  },
  {
    what: 'tasks that it hands back itself',
    workers: [
      {
        at: { 0: ready, 10: claims('a', 'b', 'c'), 20: settles('a', false), 30: saved },
        onStop: (worker) => {
          worker.say({ kind: 'settled', task: task('b'), isHandedBack: true });
          stops(worker);
        },
      },
      steady,
    ],
    interruptedAtMs: 5_000,
  },
  {
    what: 'a task that ends its process',
    workers: [{ at: { 0: ready, 10: claims('a', 'b'), 50: exits(3, 'a') } }, steady],
    interruptedAtMs: 5_000,
  },
  {
    what: 'an end with tasks of which any may be the cause',
    workers: [{ at: { 0: ready, 10: claims('a', 'b'), 50: exits('SIGKILL') } }, steady],
    interruptedAtMs: 5_000,
  },
  {
    what: 'ends without tasks, again and again, and after a long life',
    workers: [...[5, 5, 5, 5, 5, 5, 5, 60_000, 60_001, 5].map((ms) => crash(ms)), steady],
    interruptedAtMs: 400_000,
  },
  {
    what: 'saved, which begins anew',
    workers: [crash(5), crash(5), { at: { 0: ready, 5: saved }, onStop: stops }, crash(5), steady],
    interruptedAtMs: 20_000,
  },
  {
    what: 'a Node that does not tell what is imported',
    workers: [
      { at: { 0: says({ kind: 'loads', file: FILE, version: fileVersion(FILE), isAlone: true }) }, onStop: stops },
    ],
  },
  {
    what: 'a block that ends',
    workers: [
      { at: { 0: ready, 1: claims('a'), 5_000: blocks('a', 'at f (tasks.ts:1)'), 29_000: unblocks }, onStop: stops },
    ],
    interruptedAtMs: 60_000,
  },
  {
    what: 'a block until the lease is lost',
    workers: [{ at: { 0: ready, 1: claims('a', 'b'), 5_000: blocks('a') } }, steady],
    interruptedAtMs: 60_000,
  },
  {
    what: 'a block by what nobody knows',
    workers: [{ at: { 0: ready, 1: claims('a', 'b', 'c', 'd', 'e', 'f', 'g'), 5_000: blocks() } }, steady],
    interruptedAtMs: 60_000,
  },
  {
    what: 'a block until the lease is lost, and a file saved a moment before',
    workers: [{ at: { 0: ready, 1: claims('a'), 5_000: blocks('a'), 29_980: saved } }, steady],
    interruptedAtMs: 60_000,
  },
  {
    what: 'a second block, with a time of its own',
    workers: [{ at: { 0: ready, 1: claims('a'), 5_000: blocks('a'), 20_000: unblocks, 29_000: blocks('a') } }, steady],
    interruptedAtMs: 80_000,
  },
  {
    what: 'a block at a breakpoint',
    workers: [{ at: { 0: ready, 1: claims('a'), 2: inspected(true), 5_000: blocks('a') }, onStop: stops }],
    interruptedAtMs: 60_000,
  },
  { what: 'a first worker that cannot work', workers: [{ at: { 1: refuses, 2: exits(2) } }] },
  {
    what: 'a later worker that cannot work, and a file saved a moment before its end',
    workers: [{ at: { 0: ready, 5: saved }, onStop: stops }, { at: { 1: saved, 2: refuses, 3: exits(2) } }, steady],
    interruptedAtMs: 9_000,
  },
  {
    what: 'a later worker that cannot work, until Ctrl+C',
    workers: [{ at: { 0: ready, 5: saved }, onStop: stops }, { at: { 2: refuses, 3: exits(2) } }],
    interruptedAtMs: 9_000,
  },
  {
    what: 'a store that is silent when tasks are to be handed back',
    workers: [{ at: { 0: ready, 10: claims('a'), 5_000: exits('SIGKILL') } }, steady],
    then: { 4_000: (here) => (here.driver.isDown = true), 60_000: (here) => (here.driver.isDown = false) },
    interruptedAtMs: 70_000,
  },
  {
    what: 'a process that cannot be started',
    workers: [{ at: { 1: (worker) => worker.fail('no memory') } }, steady],
    interruptedAtMs: 5_000,
  },
];

/** A scripted process. */
class FakeWorker extends EventEmitter {
  readonly stdio = [null, null, null, new PassThrough(), null] as unknown as WorkerChild['stdio'];
  readonly #here: Process;
  readonly #note: (text: string) => void;
  readonly #onStop: Deed | undefined;
  #isOver = false;

  constructor(here: Process, note: (text: string) => void, { at = {}, onStop }: Scene['workers'][number]) {
    super();
    this.#here = here;
    this.#note = note;
    this.#onStop = onStop;
    for (const [ms, deed] of Object.entries(at)) this.later(Number(ms), deed);
  }

  later(ms: number, deed: Deed): void {
    void this.#here.runtime.clock.sleep(ms).then(() => deed(this));
  }

  say(message: WorkerMessage): void {
    (this.stdio[3] as PassThrough).write(`${JSON.stringify(message)}\n`);
  }

  /** Claims these tasks with a new session. Tasks already claimed by another session stay there. */
  async claims(ids: readonly string[]): Promise<void> {
    const { leasehold, ports, runtime } = this.#here;
    const session = await leasehold.session({ name: 'worker' });
    this.say({ kind: 'session', id: session.id });
    for (const id of ids) {
      const row = await ports.tasks.get({ queue: 'default', id });
      if (row?.state === 'ready') await ports.tasks.claim(row, session.id, stampOf(runtime));
      this.say({ kind: 'claimed', task: task(id) });
    }
  }

  end(how: number | NodeJS.Signals): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#note(`its process ends: ${how}`);
    const [code, signal] = typeof how === 'number' ? [how, null] : [null, how];
    // By then, what it has said has been read.
    process.nextTick(() => process.nextTick(() => this.emit('close', code, signal)));
  }

  fail(message: string): void {
    this.#isOver = true;
    this.emit('error', new Error(message));
  }

  kill(signal: NodeJS.Signals): boolean {
    if (this.#isOver) return false;
    this.#note(`gets ${signal}`);
    if (signal === 'SIGKILL') this.end(signal);
    else this.#onStop?.(this);
    return true;
  }
}

async function played({ what, workers, interruptedAtMs = 1_000, ttlMs = 30_000, then = {} }: Scene): Promise<string> {
  const world = simulatedWorld();
  let ids = 0;
  const chance = { ids: { unique: () => `id-${++ids}`, ordered: () => `id-${++ids}` }, random: { next: () => 0.5 } };
  const [here, there] = [world.start({}, chance), world.start({}, chance)];
  await passTime(world, prepared(here, there));
  const { clock } = here.runtime;
  const startedAt = clock.monotonic();
  const journal: string[] = [];
  const note = (text: string): void => void journal.push(`+${clock.monotonic() - startedAt} ms ${text}`);
  const stream = new Writable({
    decodeStrings: false,
    write(text: string, _encoding, done) {
      note(`prints ${text.trimEnd()}`);
      done();
    },
  }) as unknown as NodeJS.WriteStream;

  const interrupted = new AbortController();
  void clock.sleep(interruptedAtMs).then(() => {
    note('Ctrl+C');
    interrupted.abort();
  });
  for (const [ms, act] of Object.entries(then)) void clock.sleep(Number(ms)).then(() => act(here));
  let started = 0;
  const start = (): WorkerChild => {
    const number = ++started;
    note(`worker ${number} starts`);
    return new FakeWorker(here, (text) => note(`worker ${number} ${text}`), workers[number - 1] ?? steady);
  };
  const output = new Output({ isJson: false, out: stream, err: stream });
  const supervisor = new Supervisor(
    {
      context: { output, runtime: here.runtime, environment: {} },
      connection: here,
      queue: { queue: 'default', store: here.ports.tasks },
      start,
    },
    { entry: FILE, settings: {} as never, work: { sessionTtlMs: ttlMs } as never },
    interrupted.signal,
  );
  const running = supervisor
    .run(({ tasks, tables }) => note(`ready with ${tasks.join()} and ${tables.join()}`))
    .catch((error: unknown) => note(`fails: ${JSON.stringify(failureOf(error, 'leasehold'))}`));
  await passTime(world, running);
  note('the end');
  return [`## ${what}`, ...journal, ...(await left(here)), ''].join('\n');
}

/** Tasks that wait, one of them also claimed by a worker elsewhere. */
async function prepared(here: Process, there: Process): Promise<void> {
  for (const id of TASKS) await here.leasehold.tasks.enqueue('greet', null, { id });
  const session = await there.leasehold.session({ name: 'elsewhere' });
  const row = await there.ports.tasks.get({ queue: 'default', id: 'g' });
  if (row?.state === 'ready') await there.ports.tasks.claim(row, session.id, stampOf(there.runtime));
}

/** The final state of tasks and sessions. */
async function left({ leasehold, ports }: Process): Promise<string[]> {
  const tasks = await ports.tasks.getMany(TASKS.map((id) => ({ queue: 'default', id })));
  const states = tasks.map(({ id, state, attempts }) => `${id} ${state === 'ready' ? '-' : state}/${attempts}`);
  const sessions = await Array.fromAsync(leasehold.sessions.list(), ({ id, name }) => `session ${id} (${name}) lives`);
  return [`tasks by attempts: ${states.join(', ')}`, ...sessions];
}

export async function supervisor(): Promise<string> {
  const scenes: string[] = [];
  for (const scene of SCENES) scenes.push(await played(scene));

  return scenes.join('\n');
}
