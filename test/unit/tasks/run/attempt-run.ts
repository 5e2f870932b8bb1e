/** Runs one attempt, and returns its writes with their limits, its log, its report, and the rows that it left. */
import { getEventListeners } from 'node:events';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { failureKey, payloadKey } from '../../../../shared/dynamo/engine/keys.ts';
import { StoreUnavailableError } from '../../../../shared/core/errors.ts';
import { stampOf } from '../../../../shared/core/lease/write.ts';
import { sessionTiming } from '../../../../shared/core/lease/timing.ts';
import { runAttempt } from '../../../../shared/tasks/run/run-attempt.ts';
import type { AnyTask } from '../../../../shared/tasks/task/definition.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import type { ReadyTask, RunningTask, TaskRecord } from '../../../../shared/tasks/task/task.ts';
import { createSessionStore } from '../../../../shared/session/row/dynamo-session-store.ts';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import { grown, ledgerOf } from '../../../support/ledger.ts';
import { openMemoryQueue, QUEUE } from '../../../support/memory-queue.ts';
import { shown } from '../../../support/story.ts';
import type { Scene, Tools } from './attempt-scenes.ts';
import { openHolder } from '../../../support/open-holder.ts';

const GRACE_MS = 1_000;
const LIFE_MS = 60_000;
const READERS = /^(get|page)/;

/** A fault of a store operation. @param send sends the operation nevertheless */
type Fault = (verb: string, send: () => Promise<unknown>) => Promise<unknown>;

/** Records each write: its verb, its arguments without claim and stamp, and its limits. */
function recording<Store extends object>(store: Store, { lines, fault }: { lines: string[]; fault: Fault }): Store {
  return new Proxy(store, {
    get(target, name: string) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        if (!READERS.test(name)) lines.push(`${name} ${given.flatMap(told).join(' ')}`.trimEnd());
        return fault(name, async () => Reflect.apply(value, target, given) as unknown);
      };
    },
  });
}

/** The store is away whenever this operation is sent. */
const awayAt =
  (verb: string | undefined): Fault =>
  (sent, send) =>
    sent === verb ? Promise.reject(new StoreUnavailableError('away', { applied: 'no' })) : send();

function told(given: unknown): string[] {
  if (typeof given !== 'object' || given === null) return given === undefined ? [] : [shown(given)];
  if ('leaseCounter' in given) return 'handBacks' in given ? [`hand-backs ${String(given.handBacks)}`] : [];
  if ('nonce' in given) return 'sequence' in given ? [`number ${String(given.sequence)}`] : [];
  if ('ensureTrusted' in given) return [`within ${'budgetMs' in given ? 'trust' : 'the session'}`];
  if ('signal' in given) return ['with a signal'];
  if ('runAt' in given && 'id' in given) return [`(${String(given.id)})`];
  return [shown(Array.isArray(given) ? given.flatMap(told) : 'task' in given ? { ...given, lastAttempt: 0 } : given)];
}

/** Returns the lines of its story. */
export async function attempt(scene: Scene): Promise<readonly string[]> {
  let driver: DynamoDriver | undefined;
  const q = openMemoryQueue((one) => (driver = one));
  if (driver === undefined) throw new Error('the queue has no driver');
  const answering = driver.attempt.bind(driver);
  const sessions = createSessionStore(new Sender({ driver, runtime: q.runtime }), q.table);
  const timing = sessionTiming({ ttlMs: 6_000, heartbeatMs: 1_000, lockDelayMs: 0, maxClockSkewMs: 0 });
  const session = await openHolder({ timing, name: 'test', node: 'test' }, { store: sessions, runtime: q.runtime });
  const lines: string[] = [];
  const say = (what: string): void => {
    lines.push(what);
  };
  const handBack = new AbortController();
  const tools: Tools = { q, driver, session, sessions, say, handBack: handBack.abort.bind(handBack) };
  const definition = defineTask({
    name: 'work',
    ...scene.define,
    run: (input, task) => scene.run(input as never, task, tools),
  }) as AnyTask;
  const id = 't';
  await q.client.enqueue('work', scene.input ?? null, { id, ...scene.options });
  await scene.before?.(tools);
  const waiting = (await q.tasks.get({ queue: QUEUE, id })) as ReadyTask;
  const claimed = await q.tasks.claim(waiting, session.id, stampOf(q.runtime));
  if (claimed.kind !== 'applied') throw new Error('the claim was refused');
  const task: RunningTask = { ...claimed.row, ...scene.claimed };
  await scene.after?.(tools, task);
  const log =
    (level: string) =>
    (message: string, facts?: object): void =>
      say(`log ${level}: ${message} ${shown(facts)}`);
  const before = ledgerOf(q.clock);
  const running = runAttempt(
    task,
    definition,
    { takenOver: false },
    {
      tasks: recording(q.tasks, { lines, fault: awayAt(scene.fails) }),
      session,
      spans: undefined,
      runtime: q.runtime,
      log: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
      handBack: handBack.signal,
      deadlineMonotonicMs: q.clock.monotonic() + LIFE_MS,
      graceMs: GRACE_MS,
      lifeMs: LIFE_MS,
      onStalled: (handBacks) => {
        say(`stalled: ${handBacks}`);
      },
      onFollowers: (followers) => {
        say(`followers: ${followers?.map((one) => one.id).join(', ') ?? 'one'}`);
      },
      onCodeEnded: () => {
        say('code ended');
      },
    },
  );
  const began = q.clock.monotonic();
  const report = await q.clock.runUntil(running, () => true).catch((error: unknown) => error);
  const ended = ledgerOf(q.clock);
  driver.attempt = answering;
  say(`${shown(report)} after ${Math.round(q.clock.monotonic() - began)} ms`);
  const listeners = [session.signal, handBack.signal].map((signal) => getEventListeners(signal, 'abort').length);
  if (listeners.some((count) => count > 0)) say(`listeners left: ${listeners.join(', ')}`);
  const others = await Promise.all((scene.others ?? []).map((other) => q.tasks.get({ queue: QUEUE, id: other })));
  const own = await q.tasks.get({ queue: QUEUE, id });
  for (const row of [own, ...others]) say(shown(factsOf(row)));
  if ((await q.read({ ...failureKey(QUEUE, id) })) !== undefined) say('a stack is kept');
  if ((await q.read({ ...payloadKey(QUEUE, id, own?.payload?.nonce ?? '') })) !== undefined) say('the payload is kept');
  const more = Object.entries(grown(before, ended));
  if (more.length > 0) say(`kept while the session lives: ${shown(more)}`);
  await session.end();
  const timers = Object.entries(ledgerOf(q.clock)).filter(([, size]) => size > 0);
  if (timers.length > 0) say(`timers left: ${shown(timers)}`);
  return lines.map((line) => withoutPlaces(line.replaceAll(session.id, 'SESSION')));
}

/** Stacks name lines of the code. */
function withoutPlaces(line: string): string {
  return line.replaceAll(/\\n {4}at [^']*(?=')/g, ' …');
}

function factsOf(task: TaskRecord | undefined): unknown {
  if (task === undefined) return undefined;
  const { id, state, attempts, handBacks, progress, lastError, cancellation, past, input } = task;
  const readyAt = task.state === 'ready' ? { dueAt: new Date(task.readyAt).toISOString() } : {};
  const result = task.state === 'done' ? { result: task.result } : {};
  const how = past.map((one) => one.how);
  const of = { id, input, state, attempts, handBacks, progress, lastError, cancellation, how, ...readyAt, ...result };
  const entries = Object.entries(of).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries);
}
