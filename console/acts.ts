/**
 * What operators do from the page. Each act names what they saw when they decided, is written down before it is done,
 * and is refused when the thing is not, or no longer, as they saw it.
 */
import { ConfigurationError, MismatchError, assertNever } from '../shared/errors.ts';
import { validName } from '../shared/lease/name.ts';
import { describeTask } from '../shared/task/task.ts';
import type { Desk, Stores } from './desk.ts';
import type { Act, ActAnswer } from './model.ts';

type ActOf<Verb extends Act['verb']> = Extract<Act, { readonly verb: Verb }>;
type TaskAct = ActOf<'task.retry' | 'task.redrive' | 'task.cancel'>;

/** @throws ConfigurationError naming what is missing or of the wrong kind */
export function parseAct(body: unknown): Act {
  if (typeof body !== 'object' || body === null) throw new ConfigurationError('give an act as a JSON object');
  const given = body as Readonly<Record<string, unknown>>;
  const reason = validName('reason', given.reason);
  const verb = given.verb as Act['verb'];
  switch (verb) {
    case 'task.retry':
    case 'task.redrive':
    case 'task.cancel': {
      const key = { queue: validName('queue', given.queue), id: validName('id', given.id) };
      return { verb, reason, ...key, leaseCounter: counterIn(given) };
    }
    case 'queue.pause':
    case 'queue.resume':
    case 'queue.redrive':
      return { verb, reason, queue: validName('queue', given.queue) };
    case 'lock.release':
      return { verb, reason, key: validName('key', given.key), leaseCounter: counterIn(given) };
    case 'semaphore.evict':
      return { verb, reason, name: validName('name', given.name), leaseCounter: counterIn(given) };
    case 'session.destroy':
      return { verb, reason, id: validName('id', given.id) };
    default:
      throw new ConfigurationError(`verb = ${JSON.stringify(given.verb)}: there is no such act`);
  }
}

export async function perform(desk: Desk, act: Act): Promise<ActAnswer> {
  const stores = desk.open();
  const { verb, reason } = act;
  const deed = { verb, target: targetOf(act), by: desk.options.by, reason };
  try {
    return await stores.audit.record(
      deed,
      () => carryOut(stores, act, desk),
      ({ kind }) => kind,
    );
  } catch (error) {
    if (error instanceof MismatchError) return refused(error.message);
    throw error;
  }
}

function counterIn({ leaseCounter }: Readonly<Record<string, unknown>>): number {
  if (Number.isSafeInteger(leaseCounter) && (leaseCounter as number) >= 0) return leaseCounter as number;
  throw new ConfigurationError(`counter = ${JSON.stringify(leaseCounter)}: give the whole number that the page shows`);
}

/** As the command writes it down, and of a task the counter that was seen as well. */
function targetOf(act: Act): string {
  switch (act.verb) {
    case 'task.retry':
    case 'task.redrive':
    case 'task.cancel':
      return `${act.queue}/${act.id} ${act.leaseCounter}`;
    case 'queue.redrive':
      return `${act.queue}/*`;
    case 'queue.pause':
    case 'queue.resume':
      return act.queue;
    case 'lock.release':
      return `${act.key} ${act.leaseCounter}`;
    case 'semaphore.evict':
      return `${act.name} ${act.leaseCounter}`;
    case 'session.destroy':
      return act.id;
    default:
      return assertNever(act, 'act');
  }
}

function carryOut(stores: Stores, act: Act, desk: Desk): Promise<ActAnswer> {
  switch (act.verb) {
    case 'task.retry':
      return retry(stores, act, desk);
    case 'task.redrive':
      return redrive(stores, act);
    case 'task.cancel':
      return cancel(stores, act);
    case 'queue.pause':
    case 'queue.resume':
      return hold(stores, act);
    case 'queue.redrive':
      return redriveAll(stores, act);
    case 'lock.release':
      return release(stores, act, desk);
    case 'semaphore.evict':
      return evict(stores, act, desk);
    case 'session.destroy':
      return destroy(stores, act);
    default:
      return assertNever(act, 'act');
  }
}

async function retry({ leasehold }: Stores, act: TaskAct, desk: Desk): Promise<ActAnswer> {
  const { queue, leaseCounter } = act;
  const report = await leasehold.operator.reschedule(act.id, { runAt: desk.now() }, { queue, leaseCounter });
  if (report.kind === 'rescheduled') return done(`${describeTask(act)} is due now`);
  return report.kind === 'missing' ? missing(act) : unfit(act, report.state, 'only one that waits can be made due');
}

async function redrive({ leasehold }: Stores, act: TaskAct): Promise<ActAnswer> {
  const { queue, leaseCounter } = act;
  const report = await leasehold.operator.redrive(act.id, { queue, leaseCounter });
  if (report.kind === 'redriven') return done(`${describeTask(act)} is ready again, with all its attempts`);
  return report.kind === 'missing' ? missing(act) : unfit(act, report.state, 'only a dead or cancelled one comes back');
}

async function cancel({ leasehold }: Stores, act: TaskAct): Promise<ActAnswer> {
  const { queue, leaseCounter, reason } = act;
  const report = await leasehold.operator.cancel(act.id, { queue, leaseCounter, reason });
  if (report.kind === 'missing') return missing(act);
  if (report.kind === 'ended') return unfit(act, report.state, 'it has ended already');
  return report.kind === 'cancelled'
    ? done(`${describeTask(act)} is cancelled`)
    : done(`${describeTask(act)} runs: session ${report.session} is told by its next heartbeat`);
}

async function hold(
  { leasehold }: Stores,
  { verb, queue, reason }: ActOf<'queue.pause' | 'queue.resume'>,
): Promise<ActAnswer> {
  const { operator } = leasehold;
  const options = { queue, reason };
  const record = await (verb === 'queue.pause' ? operator.pause(options) : operator.resume(options));
  return done(`queue ${queue} is ${record.isPaused ? 'paused: what runs goes on to its end' : 'open'}`);
}

async function redriveAll({ leasehold }: Stores, { queue }: ActOf<'queue.redrive'>): Promise<ActAnswer> {
  const redriven = await leasehold.operator.redriveAll({ queue });
  return done(`brought back ${redriven} dead ${redriven === 1 ? 'task' : 'tasks'} of queue ${queue}`);
}

async function release(
  { leasehold }: Stores,
  { key, leaseCounter, reason }: ActOf<'lock.release'>,
  { options: { by } }: Desk,
): Promise<ActAnswer> {
  const result = await leasehold.locks.forceRelease(key, { by, reason, leaseCounter });
  if (result.kind === 'released') return done(`lock ${key} was taken away from its holder`);
  const holder = result.current?.holder;
  const found = holder === undefined ? 'nobody holds it' : `it is held with counter ${holder.leaseCounter}`;
  return refused(`lock ${key} is not held with counter ${leaseCounter}: ${found}; nothing was done`);
}

async function evict(
  { leasehold }: Stores,
  { name, leaseCounter, reason }: ActOf<'semaphore.evict'>,
  { options: { by } }: Desk,
): Promise<ActAnswer> {
  const permit = await leasehold.semaphores.evict(name, { token: leaseCounter, by, reason });
  return permit === undefined
    ? refused(`semaphore ${name} has no permit with token ${leaseCounter} (any more); nothing was done`)
    : done(`the permit of session ${permit.session} was taken away; its place opens when its lock-delay is over`);
}

async function destroy({ leasehold }: Stores, { id }: ActOf<'session.destroy'>): Promise<ActAnswer> {
  const { kind } = await leasehold.sessions.destroy(id);
  return kind === 'destroyed'
    ? done(`session ${id} has ended; what it held opens when its lock-delay is over`)
    : refused(`session ${id} had ended already, or there is none; nothing was done`);
}

function done(message: string): ActAnswer {
  return { kind: 'done', message };
}

function refused(message: string): ActAnswer {
  return { kind: 'refused', message };
}

function missing(act: TaskAct): ActAnswer {
  return refused(`there is no ${describeTask(act)}: it was swept two weeks after its end; nothing was done`);
}

function unfit(act: TaskAct, state: string, why: string): ActAnswer {
  return refused(`${describeTask(act)} is ${state}: ${why}; nothing was done`);
}
