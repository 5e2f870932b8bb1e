/**
 * Watches the main thread from another thread. When its event loop blocks, it reports the blocking task and the line of code.
 *
 * The main thread counts up every quarter of a second. When twenty polls in a row find the same count, the thread asks Node's inspector,
 * which answers even in an endless loop, for the current task and the stack.
 * It counts polls and measures no time, because a sleeping machine stops both threads.
 */
import inspector from 'node:inspector';
import { isMainThread, workerData } from 'node:worker_threads';
import { Worker } from 'node:worker_threads';
import { defined } from '../../shared/core/defined.ts';
import { framesOf } from '../attempts/frames.ts';
import { packageModule } from '../../shared/core/package-files.ts';
import type { CurrentTask } from '../../shared/tasks/task/task-scope.ts';
import { currentTask } from '../../shared/tasks/task/task-scope.ts';
import { named, tellSupervisor } from './messages.ts';

const EVERY_MS = 250;
const SAMPLES = 20;
/** How long the inspector may take: code that Node itself runs, such as a long regular expression, is not interrupted. */
const ANSWER_MS = 1_000;
/** The key under which the inspector's expression finds `sample`. */
const SAMPLE = Symbol.for('leasehold.dev.sample');

interface BlockedThread {
  readonly task?: CurrentTask;
  readonly stack: string;
}

/** Watches this thread, for as long as the process lives. */
export function watchForBlocks(): void {
  const beats = new Int32Array(new SharedArrayBuffer(8));
  Object.defineProperty(globalThis, SAMPLE, { value: sample });
  const beat = (): void => {
    Atomics.add(beats, COUNT, 1);
    const isInspected = inspector.url() !== undefined;
    if (Atomics.exchange(beats, INSPECTED, Number(isInspected)) !== Number(isInspected))
      tellSupervisor({ kind: 'inspected', isInspected });
  };
  beat();
  setInterval(beat, EVERY_MS).unref();
  const thread = new Worker(packageModule('cli/dev/block-watch'), { workerData: { [DATA]: beats }, execArgv: [] });
  thread.unref();
}

/** Evaluated in the main thread, between any two of its instructions. */
function sample(): string {
  const before = Error.stackTraceLimit;
  Error.stackTraceLimit = 50;
  const { stack = '' } = new Error('sample');
  Error.stackTraceLimit = before;
  const task = currentTask();
  const found: BlockedThread = { stack, ...defined({ task: task && named(task) }) };
  return JSON.stringify(found);
}

const DATA = 'beats';
const COUNT = 0;
/** 1 while an inspector is open: code may stop at a breakpoint for any time. */
const INSPECTED = 1;

function watchMainThread(beats: Int32Array): void {
  let seen = -1;
  let samples = 0;
  let isTold = false;
  setInterval(() => {
    const now = Atomics.load(beats, COUNT);
    const isStill = now === seen && Atomics.load(beats, INSPECTED) === 0;
    seen = now;
    samples = isStill ? samples + 1 : 0;
    if (samples === SAMPLES) {
      isTold = true;
      sampleMainThread(({ task, stack } = { stack: '' }) => {
        const [place] = framesOf(stack, 'sample').own;
        if (Atomics.load(beats, COUNT) !== now) return;
        tellSupervisor({ kind: 'blocked', ...defined({ task, place }) });
      });
    } else if (!isStill && isTold) {
      isTold = false;
      tellSupervisor({ kind: 'unblocked' });
    }
  }, EVERY_MS);
}

/** Calls back once, without a sample if there was no response in time. */
function sampleMainThread(found: (sample?: BlockedThread) => void): void {
  const session = new inspector.Session();
  let isOver = false;
  const end = (answer?: BlockedThread): void => {
    if (isOver) return;
    isOver = true;
    found(answer);
  };
  setTimeout(end, ANSWER_MS);
  session.connectToMainThread();
  const expression = `globalThis[Symbol.for('leasehold.dev.sample')]()`;
  session.post('Runtime.evaluate', { expression, returnByValue: true }, (error, answer) => {
    session.disconnect();
    const value: unknown = error === null ? answer.result.value : undefined;
    end(typeof value === 'string' ? (JSON.parse(value) as BlockedThread) : undefined);
  });
}

if (!isMainThread && typeof workerData === 'object' && workerData !== null && DATA in workerData)
  watchMainThread((workerData as { readonly [DATA]: Int32Array })[DATA]);
