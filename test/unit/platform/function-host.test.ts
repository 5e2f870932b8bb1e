/**
 * A function of the local Lambda, scene by scene: all events of its environments and its queue, and what callers are answered.
 *
 * A process only notes what it is sent and does what the scene has it do: nothing while it is stopped.
 * After an intended change: `npx vitest run test/unit/platform/function-host.test.ts -u`, and read the difference.
 */
import { expect, test } from 'vitest';
import type { EnvironmentProcess } from '../../../examples/platform/lambda/environment-process.ts';
import { FunctionHost } from '../../../examples/platform/lambda/function-host.ts';
import type { FunctionSettings } from '../../../examples/platform/lambda/function-settings.ts';
import { localFunction } from '../../../examples/platform/lambda/function-settings.ts';
import { LAMBDA_RETRY_TIMING } from '../../../examples/platform/lambda/async-queue.ts';
import type { InvocationType } from '../../../examples/platform/lambda/invoke-api.ts';
import type { EnvironmentMessage, InvokeMessage, PlatformMessage } from '../../../examples/platform/lambda/messages.ts';
import type { OpenSandbox, SandboxExit, SandboxOptions } from '../../../examples/platform/lambda/sandbox.ts';
import { ManualClock } from '../../support/manual-clock.ts';

type Note = (text: string) => void;
type Sandbox = ReturnType<OpenSandbox>;
type Deed = (process: FakeProcess, message: InvokeMessage) => void;

const succeeds =
  (ms = 0, payload = '"fine"'): Deed =>
  (process, { requestId }) =>
    process.later(ms, () => process.say({ type: 'succeeded', requestId, payload, maxRssMb: 64 }));
const fails =
  (fatal: boolean): Deed =>
  (process, { requestId }) =>
    process.later(0, () => {
      const error = { errorType: 'Error', errorMessage: 'too bad' };
      process.say({ type: 'failed', requestId, error, maxRssMb: 65, fatal });
      if (fatal) process.end({ code: 129, signal: null });
    });
const ends =
  (exit: SandboxExit, ms = 0): Deed =>
  (process) =>
    process.later(ms, () => process.end(exit));
const says =
  (stream: 'stdout' | 'stderr', line: string): Deed =>
  (process, message) => {
    process.print(stream, line);
    succeeds()(process, message);
  };
/** The start of a process. */
const loads =
  (ms: number): Deed =>
  (process) =>
    process.later(ms, () => process.say({ type: 'ready' }));
const refuses: Deed = (process) =>
  process.later(0, () => {
    process.say({ type: 'initFailed', error: { errorType: 'Runtime.HandlerNotFound', errorMessage: 'no handler' } });
    process.end({ code: 1, signal: null });
  });
const never: Deed = () => undefined;

interface Scene {
  readonly what: string;
  /** Prints all events, or only the ones in which scenes differ. */
  readonly isWhole?: boolean;
  readonly settings?: Partial<FunctionSettings>;
  /** One for each process; the last one repeats. Default: it starts at once. */
  readonly starts?: readonly Deed[];
  /** One for each invocation that reaches a process; the last one repeats. Default: it succeeds at once. */
  readonly works?: readonly Deed[];
  readonly acts: Readonly<Record<number, Act | readonly Act[]>>;
}

type Act = InvocationType | 'stops' | `${'kills' | 'freezes' | 'thaws'} ${number}`;

const asked = 'RequestResponse';
const SECOND = 1_000;

const SCENES: readonly Scene[] = [
  {
    what: 'cold, then warm',
    isWhole: true,
    starts: [loads(140)],
    works: [succeeds(25), succeeds(5)],
    acts: { 0: asked, 1_000: asked },
  },
  { what: 'a dry run', acts: { 0: 'DryRun' } },
  {
    what: 'the last one used is used again, and beyond the limit none is',
    settings: { maxConcurrency: 2 },
    works: [succeeds(50), succeeds(80), succeeds(10)],
    acts: { 0: [asked, asked, asked], 1_000: asked, 1_001: 'Event', 1_002: asked },
  },
  { what: 'a handler that throws is used again', works: [fails(false), succeeds()], acts: { 0: asked, 100: asked } },
  { what: 'what fails outside of a handler is not', works: [fails(true), succeeds()], acts: { 0: asked, 100: asked } },
  {
    what: 'its lines',
    isWhole: true,
    works: [says('stdout', 'out'), says('stderr', 'err')],
    acts: { 0: asked, 100: asked },
  },
  {
    what: 'killed at its timeout, and by no timer of an invocation before',
    settings: { timeoutMs: 3 * SECOND },
    works: [succeeds(2_999), never, succeeds(2_999)],
    acts: { 0: asked, 4_000: asked, 8_000: asked },
  },
  { what: 'a module without a handler', starts: [refuses, loads(0)], acts: { 0: asked, 100: asked } },
  { what: 'a module that takes too long', starts: [never, loads(9_999)], acts: { 0: asked, 20_000: asked } },
  {
    what: 'processes that end when they start',
    starts: [ends({ code: 1, signal: null }), ends({ code: null, signal: null, failure: 'no memory' }), loads(0)],
    acts: { 0: asked, 100: asked, 200: asked },
  },
  {
    what: 'processes that end at work',
    works: [
      ends({ code: 0, signal: null }, 5),
      ends({ code: 7, signal: null }, 5),
      ends({ code: null, signal: 'SIGSEGV' }, 5),
      ends({ code: null, signal: 'SIGUSR1' }, 5),
    ],
    acts: { 0: asked, 100: asked, 200: asked, 300: asked },
  },
  {
    what: 'idle for too long, though not at work',
    works: [succeeds(), succeeds(250 * SECOND), succeeds()],
    settings: { timeoutMs: 300 * SECOND },
    acts: { 0: asked, 290_000: asked, 839_999: asked, 1_200_000: asked },
  },
  {
    what: 'frozen at work, and thawed',
    works: [succeeds(500)],
    acts: {
      0: [asked, 'freezes 1'],
      100: 'freezes 1',
      200: 'freezes 1',
      900: 'thaws 1',
      950: 'thaws 1',
      2_000: 'thaws 1',
    },
  },
  {
    what: 'frozen until its timeout',
    settings: { timeoutMs: 2 * SECOND },
    works: [succeeds(500)],
    acts: { 0: asked, 100: 'freezes 1', 3_000: 'thaws 1' },
  },
  {
    what: 'killed by an operator',
    works: [succeeds(500), succeeds(), succeeds()],
    acts: { 0: asked, 100: ['kills 1', 'kills 1'], 1_000: asked, 1_100: 'kills 2', 2_000: asked },
  },
  {
    what: 'an event is tried again until it succeeds',
    works: [fails(false), ends({ code: 1, signal: null }), succeeds()],
    acts: { 0: 'Event' },
  },
];

class FakeProcess implements Sandbox {
  readonly exited: Promise<SandboxExit>;
  readonly pid: number;
  readonly #options: SandboxOptions;
  readonly #clock: ManualClock;
  readonly #note: Note;
  readonly #deedOf: (message: PlatformMessage) => Deed;
  #isStopped = false;
  #isOver = false;
  #waiting: (() => void)[] = [];
  #end: (exit: SandboxExit) => void = () => undefined;

  constructor(
    options: SandboxOptions,
    pid: number,
    { clock, note, deedOf }: { clock: ManualClock; note: Note; deedOf: (message: PlatformMessage) => Deed },
  ) {
    this.#options = options;
    this.pid = pid;
    this.#clock = clock;
    this.#note = note;
    this.#deedOf = deedOf;
    this.exited = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** Not while it is stopped. */
  later(ms: number, act: () => void): void {
    void this.#clock.sleep(ms).then(() => {
      if (this.#isStopped) this.#waiting.push(act);
      else if (!this.#isOver) act();
    });
  }

  say(message: EnvironmentMessage): void {
    this.#options.onMessage(message);
  }

  print(stream: 'stdout' | 'stderr', line: string): void {
    this.#options.onLine(stream, line);
  }

  end(exit: SandboxExit): void {
    this.#isOver = true;
    this.#end(exit);
  }

  send(message: PlatformMessage): void {
    const { type, ...facts } = message;
    this.#note(
      `process ${this.pid} gets ${type}${'requestId' in facts ? ` ${facts.requestId}` : ''} ${JSON.stringify(facts)}`,
    );
    this.#deedOf(message)(this, message as InvokeMessage);
  }

  stop(): void {
    this.#note(`process ${this.pid} is stopped`);
    this.#isStopped = true;
  }

  resume(): void {
    this.#note(`process ${this.pid} continues`);
    this.#isStopped = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const act of waiting) act();
  }

  kill(): void {
    this.end({ code: null, signal: 'SIGKILL' });
  }
}

async function played({
  what,
  isWhole = false,
  settings = {},
  starts = [loads(0)],
  works = [succeeds()],
  acts,
}: Scene): Promise<string> {
  const clock = new ManualClock('2026-01-01T23:59:00Z');
  const lines: string[] = [];
  const note: Note = (text) => void lines.push(`+${clock.monotonic()} ms ${isWhole ? text : shortened(text)}`);
  const processes: FakeProcess[] = [];
  let begun = 0;
  /** Answered, and not yet told: no time passes in between. */
  const answered = new Set<string>();
  const openSandbox: OpenSandbox = (options) => {
    const { label, memoryMb, workingDirectory, variables } = options;
    if (processes.length === 0 && isWhole)
      note(
        `opens ${label.join(' ')}, ${memoryMb} MB, in ${workingDirectory}, with ${JSON.stringify(named(variables))}`,
      );
    const start = starts[processes.length] ?? starts.at(-1)!;
    const deedOf = ({ type }: PlatformMessage): Deed => (type === 'init' ? start : (works[begun++] ?? works.at(-1)!));
    const onMessage = (message: EnvironmentMessage): void => {
      if ('requestId' in message) answered.add(message.requestId);
      options.onMessage(message);
    };
    const opened = new FakeProcess({ ...options, onMessage }, processes.length + 1, { clock, note, deedOf });
    processes.push(opened);
    return opened;
  };
  const stopping = new AbortController();
  let ids = 0;
  const unique = (): string => `id-${++ids}`;
  const defaults = { entry: '/app/tasks.mjs', timeoutMs: 60 * SECOND, memoryMb: 128, environment: { MINE: 'yes' } };
  const host = new FunctionHost(localFunction('work', { ...defaults, ...settings }), {
    lambdaEndpoint: 'http://lambda',
    limits: { initTimeoutMs: 10 * SECOND, idleTimeoutMs: 300 * SECOND },
    asyncRetry: LAMBDA_RETRY_TIMING,
    runtime: { clock, random: { next: () => 0.5 }, ids: { unique, ordered: unique } },
    emit(event) {
      if (event.type === 'invocationEnded') answered.delete(event.requestId);
      const { type, functionName, ...facts } = event;
      expect(functionName).toBe('work');
      if (isWhole || type !== 'log' || /Status|TIMEOUT/i.test(event.line)) note(`${type} ${JSON.stringify(facts)}`);
    },
    signal: stopping.signal,
    openSandbox,
  });

  const act = async (one: Act): Promise<void> => {
    if (one === 'stops') {
      stopping.abort();
      return;
    }
    const [verb = '', nth = ''] = one.split(' ');
    if (nth !== '') {
      const found = host.environments.find(({ id }) => id === `work-${nth}`);
      note(`an operator ${verb} ${nth}: ${String(done(verb, found))}, ${found?.view.state ?? 'gone'}`);
      return;
    }
    const type = one as InvocationType;
    await host.invoke({ reference: { name: 'work', qualifier: 'live' }, type, payload: '{"n":1}' }).then(
      (answer) => note(`answers ${JSON.stringify(answer)}`),
      (error: unknown) => note(`refuses ${String(error)}`),
    );
  };
  for (const [ms, several] of Object.entries(acts))
    void clock.sleep(Number(ms)).then(() => Promise.all([several].flat().map((one) => act(one))));
  let held = 0;
  // A missing answer must not stop the clock.
  await clock.runUntil(clock.sleep(1_300 * SECOND), () => answered.size === 0 || ++held % 100 === 0);
  const states = host.environments.map(({ view: { id, state, since, requestId } }) => {
    const at = new Date(since).toISOString();
    return `${id} is ${state} since ${at}${requestId === undefined ? '' : `, with ${requestId}`}`;
  });
  return [`## ${what}`, ...lines, ...states, ''].join('\n');
}

/** Omits the lines that the first scene prints for each process and invocation. */
function shortened(text: string): string {
  return text.replace(/(gets (?:init|invoke)(?: \S+)?) \{.*$/, '$1').replace('"environmentId":', '');
}

function done(verb: string, environment: EnvironmentProcess | undefined): boolean | undefined {
  if (verb === 'kills') return environment?.kill('operator');
  return verb === 'freezes' ? environment?.freeze() : environment?.thaw();
}

/** Without places of this machine. */
function named({ NODE_COMPILE_CACHE, ...variables }: Readonly<Record<string, string>>): object {
  return { ...variables, NODE_COMPILE_CACHE: NODE_COMPILE_CACHE === undefined ? undefined : 'a folder' };
}

test('the effects of a function of the local Lambda in each scene', async () => {
  const scenes: string[] = [];
  for (const scene of SCENES) scenes.push(await played(scene));

  await expect(scenes.join('\n')).toMatchFileSnapshot('./function-host.golden.txt');
});
