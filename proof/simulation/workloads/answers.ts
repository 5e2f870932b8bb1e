/** Durable tasks for a history, and the people who answer what their code asks. */
import { StoreUnavailableError } from '../../../shared/core/errors.ts';
import { callbackKeyOf } from '../../../shared/tasks/durable/callback-id.ts';
import { Callbacks } from '../../../shared/tasks/durable/callbacks.ts';
import { TaskOperator } from '../../../shared/tasks/queue/task-operator.ts';
import type { Profile } from '../profile.ts';
import { taskRow } from '../observed-stores.ts';
import type { Question } from './durable-code.ts';
import { DURABLE } from './durable-code.ts';
import type { ProducerPorts } from './producer.ts';
import { askAgain, enqueue } from './producer.ts';
import type { WorkerPlace } from './worker-place.ts';
import { QUEUE, storesAt } from './worker-place.ts';

const AGAIN_AFTER_MS = 4_000;
const LOOK_EVERY_MS = 100;
/** Callbacks with a timeout. */
const IGNORED_SHARE = 0.3;
/** Callbacks whose task is cancelled at once, just before it waits. */
const CALLED_OFF_SHARE = 0.1;
/** Two people who know of one question. */
const TWICE_SHARE = 0.3;

export function durableIds({ durables }: Pick<Profile, 'durables'>): readonly string[] {
  return Array.from({ length: durables }, (_, n) => `durable${n + 1}`);
}

export async function produceDurables(ports: ProducerPorts): Promise<void> {
  const { process, profile, prng, half } = ports;
  const again = prng.fork('again');
  for (const id of durableIds(profile)) {
    await process.runtime.clock.sleep(prng.exponential((0.5 * profile.faultyMs) / profile.durables));
    await enqueue(ports, DURABLE, { id, input: { kind: DURABLE, half } });
    if (again.chance(profile.dedupShare)) await askAgain(ports, again, { id, kind: DURABLE, options: {} });
  }
}

/** Answers until the history is over: the next person continues after a killed one. */
export async function answer(place: WorkerPlace, questions: Map<string, Question>): Promise<void> {
  const { process, prng, profile } = place;
  const { clock } = process.runtime;
  for (;;) {
    await clock.sleep(LOOK_EVERY_MS);
    const [question] = questions.values();
    if (question === undefined) continue;
    const { callbackId, hasTimeout, hasHeartbeats } = question;
    const callbacks = new Callbacks({ store: storesAt(place).tasks, runtime: process.runtime });
    if (profile.operator && prng.chance(CALLED_OFF_SHARE)) await callOff(place, callbackId);
    if (hasTimeout && prng.chance(IGNORED_SHARE)) {
      questions.delete(callbackId);
      continue;
    }
    await clock.sleep(prng.exponential(1_000));
    if (hasHeartbeats) await insist(place, () => callbacks.heartbeat(callbackId));
    const people = prng.chance(TWICE_SHARE) ? [1, 2] : [1];
    const told = await Promise.all(people.map(() => say(place, callbacks, callbackId)));
    questions.delete(callbackId);
    // An operator may retry the cancelled task: then it waits for this very answer.
    if (!hasTimeout && !told.includes('accepted'))
      void clock.sleep(AGAIN_AFTER_MS).then(() => questions.set(callbackId, question));
  }
}

async function callOff(place: WorkerPlace, callbackId: string): Promise<void> {
  const { process, profile, seen } = place;
  const stores = { ...storesAt(place), runtime: process.runtime, gauge: place.gauge };
  const operator = new TaskOperator(stores, { queue: QUEUE, maxClockSkewMs: profile.maxClockSkewMs });
  try {
    const { kind } = await operator.cancel(callbackKeyOf(callbackId).id, { reason: 'simulated' });
    seen(`durable: called off, ${kind}`);
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
  }
}

async function say(
  place: WorkerPlace,
  callbacks: Callbacks,
  callbackId: string,
): Promise<'accepted' | 'over' | 'unknown'> {
  const { process, prng, recorder, seen } = place;
  const text = `${process.name} ${prng.next().toString(36).slice(2)}`;
  await process.runtime.clock.sleep(prng.between(0, 200));
  // One in five is larger than what stays in the row.
  const answer = prng.chance(0.2) ? text.padEnd(1_500, '.') : text;
  const isYes = prng.chance(0.8);
  const since = process.now;
  const how = await insist(place, () =>
    isYes
      ? callbacks.succeed(callbackId, JSON.stringify(answer))
      : callbacks.fail(callbackId, { name: 'Declined', message: `no ${answer}` }),
  );
  const { openKey, ...task } = callbackKeyOf(callbackId);
  seen(`answer: ${how}`);
  const value = JSON.stringify({ openKey, how, since, text: isYes ? JSON.stringify(answer) : `no ${answer}` });
  recorder.emit({
    kind: 'acknowledged',
    at: process.now,
    process: process.name,
    what: 'answered',
    row: taskRow(task),
    value,
  });
  return how;
}

/** @returns the response, or `unknown` if its task has ended before it */
async function insist(
  { process }: WorkerPlace,
  ask: () => Promise<'accepted' | 'over'>,
): Promise<'accepted' | 'over' | 'unknown'> {
  for (let times = 0; times < 40; times++) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      await process.runtime.clock.sleep(300);
    }
  }
  return 'unknown';
}
