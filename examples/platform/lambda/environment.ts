/**
 * One execution environment: the program that the platform forks for it, in place of Lambda's Node.js runtime client.
 *
 * It loads the handler's module once, then answers one invocation after the other.
 * It is stopped (SIGSTOP) from the moment it has answered until the next invocation, so nothing here may count on running in between.
 * It ends when the platform does: by itself when it can notice, or by the platform's leash when it is frozen.
 */
import { flushCompileCache } from 'node:module';
import { lambdaContext } from './context.ts';
import { SYNCHRONOUS_PAYLOAD_LIMIT_BYTES } from './faults.ts';
import type { Handler } from './handler-module.ts';
import { describeError, loadHandler } from './handler-module.ts';
import type { FunctionError } from './events.ts';
import type { EnvironmentMessage, InitMessage, InvokeMessage, PlatformMessage } from './messages.ts';

/** Exit codes of AWS's own runtime client for the two ways a program can fail outside of its handler. */
const UNHANDLED_REJECTION_EXIT = 128;
const UNCAUGHT_EXCEPTION_EXIT = 129;

/** Kept to ourselves: on AWS a function has no channel to its platform, and code that looks for `process.send` finds none. */
const send = process.send?.bind(process);
delete process.send;
/** As they are before any function replaces them to watch its own output. */
const outputs = [process.stdout, process.stderr].map((stream) => stream.write.bind(stream));

let init: InitMessage | undefined;
let handler: Handler | undefined;
let currentRequestId: string | undefined;

process.once('disconnect', () => process.exit());
process.on('message', (message: PlatformMessage) => {
  void (message.type === 'init' ? initialise(message) : invoke(message));
});
process.on('uncaughtException', (error) => {
  void fail(describeError(error), UNCAUGHT_EXCEPTION_EXIT);
});
process.on('unhandledRejection', (reason) => {
  const { errorMessage, trace } = describeError(reason);
  const error = { errorType: 'Runtime.UnhandledPromiseRejection', errorMessage, trace: trace ?? [] };
  void fail(error, UNHANDLED_REJECTION_EXIT);
});

async function initialise(message: InitMessage): Promise<void> {
  init = message;
  const loaded = await loadHandler(message);
  if (loaded.kind === 'loaded') {
    handler = loaded.handler;
    flushCompileCache(); // Node writes it at an orderly exit, which an environment never has.
    await report({ type: 'ready' });
    return;
  }
  logError('Init Error', loaded.error);
  await report({ type: 'initFailed', error: loaded.error });
  process.exit(1);
}

async function invoke(message: InvokeMessage): Promise<void> {
  if (init === undefined || handler === undefined) return; // The platform waits for `ready`.
  const { requestId } = message;
  currentRequestId = requestId;
  try {
    const event: unknown = JSON.parse(message.payload);
    const result: unknown = await handler(event, lambdaContext(init, message));
    await succeed(requestId, result);
  } catch (thrown) {
    const error = describeError(thrown);
    logError('Invoke Error', error);
    await report({ type: 'failed', requestId, error, maxRssMb: maxRssMb(), fatal: false });
  }
}

async function succeed(requestId: string, result: unknown): Promise<void> {
  // JSON has no word for `undefined`, functions and symbols; Lambda answers null for them.
  const payload = (JSON.stringify(result) as string | undefined) ?? 'null';
  const bytes = Buffer.byteLength(payload);
  if (bytes > SYNCHRONOUS_PAYLOAD_LIMIT_BYTES) {
    const errorMessage =
      `Response payload size (${bytes} bytes) exceeded maximum allowed ` +
      `payload size (${SYNCHRONOUS_PAYLOAD_LIMIT_BYTES} bytes).`;
    const error = { errorType: 'Function.ResponseSizeTooLarge', errorMessage };
    await report({ type: 'failed', requestId, error, maxRssMb: maxRssMb(), fatal: false });
    return;
  }
  await report({ type: 'succeeded', requestId, payload, maxRssMb: maxRssMb() });
}

/** Something broke outside of any handler: the module may be in any state, so the environment ends. */
async function fail(error: FunctionError, exitCode: number): Promise<void> {
  logError('Uncaught Exception', error);
  if (currentRequestId !== undefined) {
    const requestId = currentRequestId;
    await report({ type: 'failed', requestId, error, maxRssMb: maxRssMb(), fatal: true });
  }
  process.exit(exitCode);
}

/**
 * Answers the platform, which may freeze us the moment that it hears: so everything printed before leaves the process first.
 * Resolves when the message is on its way, so that an exit right after does not swallow it.
 */
async function report(message: EnvironmentMessage): Promise<void> {
  await Promise.all(outputs.map(flushed));
  if (message.type === 'succeeded' || message.type === 'failed') currentRequestId = undefined;
  await new Promise<void>((resolve) => {
    // An error means that the platform is gone; the `disconnect` handler ends us.
    send?.(message, () => resolve());
  });
}

/** Writes to a full pipe are queued and done in order, so the end of an empty one is the end of all before it. */
function flushed(write: (text: string, done: () => void) => unknown): Promise<void> {
  return new Promise((resolve) => {
    write('', () => resolve());
  });
}

function logError(what: string, error: FunctionError): void {
  console.error(`ERROR\t${what}\t${JSON.stringify(error)}`);
}

function maxRssMb(): number {
  return Math.ceil(process.resourceUsage().maxRSS / 1024);
}
