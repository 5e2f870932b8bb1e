/**
 * A DynamoDB engine as a child process on a loopback port: started, awaited, stopped, never left behind.
 * Users reach it through a front (see `front.ts`) at their own port. Nobody else knows its own address.
 */
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { ConfigurationError } from '../../shared/core/errors.ts';
import { LOOPBACK, close } from '../../shared/core/listen.ts';
import { systemClock as clock } from '../../shared/core/runtime/clock.ts';
import { integerBetween, systemRandom } from '../../shared/core/runtime/random.ts';
import { bindToParent, signalGroup } from '../bind-to-parent.ts';
import type { EngineAddress } from './front.ts';
import { openFront } from './front.ts';
import { listenOnLoopback } from './listen.ts';
import { probe } from './probe.ts';

export interface EngineProgram {
  readonly name: string;
  readonly command: string;
  readonly args: (address: EngineAddress) => readonly string[];
  readonly cwd?: string;
  readonly readyWithinMs: number;
  /** Turns what the program said before it ended into what the user must do; `undefined` when it is nothing known. */
  readonly explain: (failure: EngineFailure) => string | undefined;
}

export interface EngineFailure {
  /** `ENOENT` and the like: the program could not be started at all. */
  readonly startCode: string | undefined;
  readonly output: string;
}

export interface EngineProcess {
  readonly endpoint: string;
  readonly pid: number;
  stop(): Promise<void>;
}

const POLL_EVERY_MS = 10;
/** Another process can take a chosen port before the engine binds it; three times in a row is a real failure. */
const PORT_ATTEMPTS = 3;
/** Enough for a stack trace; engines say little else. */
const KEPT_OUTPUT_CHARACTERS = 4000;

/**
 * @param port where the front listens; without one, a free port is taken
 * @throws ConfigurationError naming what to do
 */
export async function runEngine(program: EngineProgram, port: number | undefined): Promise<EngineProcess> {
  // First, because a port that is taken is found at once, and some engines take seconds to start.
  const front = await openFront(port);
  try {
    const engine = await runBareEngine(program);
    const { hostname: host, port: own } = new URL(engine.endpoint);
    front.leadTo({ host, port: Number(own) });
    return {
      endpoint: front.endpoint,
      pid: engine.pid,
      stop: async () => void (await Promise.all([front.close(), engine.stop()])),
    };
  } catch (error) {
    await front.close();
    throw error;
  }
}

/**
 * An engine at its own address, for programs that measure it or send it a whole test run.
 * @throws ConfigurationError naming what to do
 */
export async function runBareEngine(program: EngineProgram): Promise<EngineProcess> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await attemptStart(program, { host: hiddenHost(), port: await findFreePort() });
    if (outcome.kind === 'ready') return outcome.engine;
    const lostRace = /already in use|failed to bind/i.test(outcome.failure.output);
    if (!lostRace || attempt === PORT_ATTEMPTS) throw new ConfigurationError(explain(program, outcome));
  }
}

/** Linux answers on all of 127.0.0.0/8, so that a page would have to try 16 million hosts before it tries ports. */
function hiddenHost(): string {
  if (process.platform !== 'linux') return LOOPBACK;
  const part = (): number => integerBetween(systemRandom, 1, 255);
  return `127.${part()}.${part()}.${part()}`;
}

type StartOutcome =
  | { readonly kind: 'ready'; readonly engine: EngineProcess }
  | { readonly kind: 'failed'; readonly how: string; readonly failure: EngineFailure };

async function attemptStart(program: EngineProgram, address: EngineAddress): Promise<StartOutcome> {
  const child = spawn(program.command, program.args(address), {
    cwd: program.cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  bindToParent(child);

  let output = '';
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-KEPT_OUTPUT_CHARACTERS);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);

  const ended = new Promise<{ how: string; startCode: string | undefined }>((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) =>
      resolve({ how: `could not be started (${error.message})`, startCode: error.code ?? 'UNKNOWN' }),
    );
    // `close`, not `exit`: its last words have then been read.
    child.once('close', (code, signal) => {
      const status = signal ?? `exit code ${code ?? 'unknown'}`;
      resolve({ how: `ended before it was ready (${status})`, startCode: undefined });
    });
  });
  const endpoint = `http://${address.host}:${address.port}`;
  const stop = async (): Promise<void> => {
    signalGroup(child, 'SIGKILL'); // Everything is in memory: there is nothing to save.
    await ended;
  };

  const waiting = new AbortController();
  const first = await Promise.race([ended, whenReady(endpoint, program.readyWithinMs, waiting.signal)]);
  waiting.abort();
  if (first === 'ready' && child.pid !== undefined) {
    return { kind: 'ready', engine: { endpoint, pid: child.pid, stop } };
  }
  await stop();
  const { how, startCode } =
    typeof first === 'object'
      ? first
      : { how: `was not ready within ${program.readyWithinMs} ms`, startCode: undefined };
  return { kind: 'failed', how, failure: { startCode, output } };
}

async function whenReady(endpoint: string, withinMs: number, signal: AbortSignal): Promise<'ready' | 'late'> {
  const deadline = clock.monotonic() + withinMs;
  while (clock.monotonic() < deadline && !signal.aborted) {
    const answer = await probe(endpoint, 1000);
    if (answer.kind === 'ready') return 'ready';
    await clock.sleep(POLL_EVERY_MS, signal);
  }
  return 'late';
}

function explain(program: EngineProgram, outcome: StartOutcome & { kind: 'failed' }): string {
  const known = program.explain(outcome.failure);
  if (known !== undefined) return known;
  const lastLine = outcome.failure.output.trim().split('\n').at(-1) ?? '';
  const said = lastLine === '' ? 'it said nothing' : `it said: ${lastLine}`;
  return `${program.name} ${outcome.how}; ${said}`;
}

/** Takes a port for a moment to see that it is free, because a foreign engine there would answer our probe. */
async function findFreePort(): Promise<number> {
  const server = createServer();
  const free = await listenOnLoopback(server);
  await close(server);
  return free;
}
