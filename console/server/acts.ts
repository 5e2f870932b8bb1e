/**
 * Operator actions from the page: a request from the page becomes an operation, and its report a sentence.
 * An action is refused if its object is no longer as the operator saw it.
 */
import { openingText } from '../../cli/forced.ts';
import { lockDelayEndsAt, trustedUntil } from '../../shared/session/session-record.ts';
import { ConfigurationError, MismatchError, assertNever } from '../../shared/core/errors.ts';
import { validName } from '../../shared/core/validate/options.ts';
import type { Selection } from '../../shared/tasks/queue/cancel-selection.ts';
import { SELECTION, selecting } from '../../shared/tasks/queue/cancel-selection.ts';
import { isPausedTenant } from '../../shared/tasks/task/queue-store.ts';
import { waitsFor } from '../../shared/tasks/task/batch.ts';
import { describeTask } from '../../shared/tasks/task/task.ts';
import type { Operator } from '../../shared/operate/operations.ts';
import type { ConsoleConnection } from './connection.ts';
import type { Json } from '../../shared/tasks/task/task.ts';
import type { Act, ActAnswer } from '../model.ts';

type TaskAct = Extract<Act, { readonly verb: 'task.run-now' | 'task.retry' | 'task.cancel' }>;

type Valid<Value> = (what: string, given: unknown) => Value;
type ActOf<Verb> = Act extends infer Each
  ? Each extends { readonly verb: infer Own }
    ? Verb extends Own
      ? Each
      : never
    : never
  : never;
type FieldsOf<Each> = { readonly [Field in Exclude<keyof Each, 'verb' | 'reason'>]-?: Valid<Each[Field]> };

const TASK = { queue: validName, id: validName, leaseCounter: token };
const ANSWER = { callbackId: validName, text: answer };
const TENANT = { queue: validName, tenant: optionalName };
const SCHEDULE = { queue: validName, name: validName };

/** The fields of each action, without its reason. */
const FIELDS: { readonly [Verb in Act['verb']]: FieldsOf<ActOf<Verb>> } = {
  'task.run-now': TASK,
  'task.retry': TASK,
  'task.cancel': TASK,
  'callback.succeed': ANSWER,
  'callback.fail': ANSWER,
  'queue.pause': TENANT,
  'queue.resume': TENANT,
  'queue.cancel': { ...TENANT, key: optionalName, name: optionalName, batch: optionalName },
  'queue.retry': { queue: validName, name: optionalName, fault: optionalName, diedUntil: optionalCount },
  'schedule.run': SCHEDULE,
  'schedule.pause': SCHEDULE,
  'schedule.resume': SCHEDULE,
  // The input was JSON a moment ago.
  'task.enqueue': {
    ...SCHEDULE,
    id: optionalName,
    input: (_, given) => (given ?? null) as Json,
    delayMs: optionalCount,
  },
  'lock.release': { key: validName, leaseCounter: token, lockDelayMs: optionalCount },
  'semaphore.evict': { name: validName, leaseCounter: token, lockDelayMs: optionalCount },
  'session.destroy': { id: validName, lockDelayMs: optionalCount },
};

/** @throws ConfigurationError naming what is missing or of the wrong kind */
export function parseAct(body: unknown): Act {
  if (typeof body !== 'object' || body === null) throw new ConfigurationError('the action must be a JSON object');
  const given = body as Readonly<Record<string, unknown>>;
  const { verb } = given;
  if (typeof verb !== 'string' || !Object.hasOwn(FIELDS, verb))
    throw new ConfigurationError(`verb = ${JSON.stringify(verb)}: there is no such act`);
  const fields = Object.entries<Valid<unknown>>(FIELDS[verb as Act['verb']]);
  const values = fields.map(([field, valid]) => [field, valid(field, given[field])]);
  return { verb, reason: validName('reason', given.reason), ...Object.fromEntries(values) } as Act;
}

/** Executes the action as defined in `shared/operate/operations.ts`, and reports the outcome. */
export async function execute(connection: ConsoleConnection, act: Act): Promise<ActAnswer> {
  try {
    return await answerTo(act, connection, { by: connection.options.by, reason: act.reason });
  } catch (error) {
    if (error instanceof MismatchError) return refused(error.message);
    throw error;
  }
}

function token(_: string, given: unknown): number {
  const found = optionalCount('token', given);
  if (found !== undefined) return found;
  throw new ConfigurationError('the token is missing: pass the whole number that the page shows');
}

function answer(_: string, given: unknown): string {
  if (typeof given === 'string') return given;
  throw new ConfigurationError('the text is missing: pass the answer, which may be empty');
}

/** @throws ConfigurationError for an empty selection */
export function selectionIn(given: Readonly<Record<string, unknown>>): Selection {
  const parts = SELECTION.flatMap((part) => (given[part] === undefined ? [] : [[part, validName(part, given[part])]]));
  const selection = Object.fromEntries(parts) as Selection;
  selecting(selection);
  return selection;
}

function optionalName(what: string, name: unknown): string | undefined {
  return name === undefined ? undefined : validName(what, name);
}

function optionalCount(what: string, count: unknown): number | undefined {
  if (count === undefined || (Number.isSafeInteger(count) && (count as number) >= 0))
    return count as number | undefined;
  throw new ConfigurationError(`${what} = ${JSON.stringify(count)}: must be a whole number`);
}

async function answerTo(act: Act, connection: ConsoleConnection, operator: Operator): Promise<ActAnswer> {
  const { operations } = connection.open();
  const opening = (taken: Parameters<typeof openingText>[0]): string => openingText(taken, connection.now());
  switch (act.verb) {
    case 'task.run-now': {
      const report = await operations.execute(act.verb, act, operator);
      if (report.kind === 'rescheduled') return done(`${describeTask(act)} is due now`);
      if (report.kind === 'missing') return missing(act);
      return report.kind === 'waits'
        ? unfit(act, 'ready', `it ${waitsFor(report.children)}, and runs when the last of them has`)
        : unfit(act, report.state, 'only a waiting task can be made due');
    }
    case 'task.retry': {
      const report = await operations.execute(act.verb, act, operator);
      if (report.kind === 'retried') return done(`${describeTask(act)} is ready again, with all its attempts`);
      return report.kind === 'missing'
        ? missing(act)
        : unfit(act, report.state, 'only a dead or cancelled one comes back');
    }
    case 'task.cancel': {
      const report = await operations.execute(act.verb, act, operator);
      if (report.kind === 'missing') return missing(act);
      if (report.kind === 'ended') return unfit(act, report.state, 'it has ended already');
      return report.kind === 'cancelled'
        ? done(`${describeTask(act)} is cancelled`)
        : done(`${describeTask(act)} runs: session ${report.session} learns of it with its next heartbeat`);
    }
    case 'callback.succeed':
    case 'callback.fail': {
      const { verb, callbackId, text } = act;
      const answered =
        verb === 'callback.succeed'
          ? await operations.execute(verb, { callbackId, result: text }, operator)
          : await operations.execute(verb, { callbackId, failure: { message: text } }, operator);
      return answered === 'accepted'
        ? done('the answer is accepted; the task goes on')
        : refused('it was answered before, has timed out, or its task has ended; nothing was done');
    }
    case 'queue.pause':
    case 'queue.resume': {
      const { queue, tenant } = act;
      const record = await operations.execute(act.verb, { queue, tenant }, operator);
      const isPaused = tenant === undefined ? record.isPaused : isPausedTenant(record, tenant);
      const what = tenant === undefined ? `queue ${queue}` : `tenant ${tenant} of queue ${queue}`;
      return done(`${what} is ${isPaused ? 'paused: what runs goes on to its end' : 'active'}`);
    }
    case 'queue.cancel': {
      const { verb, queue, ...given } = act;
      const selection = selectionIn(given);
      const input = { queue, shards: connection.options.shards, ...selection };
      const { cancelled, requested, left } = await operations.execute(verb, input, operator);
      const what = Object.entries(selection).map((part) => part.join(' '));
      if (cancelled + requested === 0)
        return refused(`queue ${queue} has no unfinished task of ${what.join(', ')}: nothing was done`);
      const told = requested === 0 ? '' : `; ${requested} run, and are told by their next heartbeats`;
      const again = left === 0 ? '' : `; ${left} changed during the call: cancel them again`;
      return done(`cancelled ${cancelled} waiting tasks of ${what.join(', ')} in queue ${queue}${told}${again}`);
    }
    case 'schedule.run': {
      const report = await operations.execute(act.verb, act, operator);
      if (report.kind === 'enqueued') return { ...done(`${describeTask(report.task)} is added`), id: report.task.id };
      return report.kind === 'missing'
        ? missingSchedule(act)
        : refused(`schedule ${act.name} skipped this run: an earlier task of it has not ended; nothing was done`);
    }
    case 'schedule.pause':
    case 'schedule.resume': {
      const schedule = await operations.execute(act.verb, act, operator);
      if (schedule === undefined) return missingSchedule(act);
      return done(
        `schedule ${act.name} is ${schedule.pausedAt === undefined ? 'active' : 'paused: runs that pass are left out'}`,
      );
    }
    case 'queue.retry': {
      const retried = await operations.execute(act.verb, act, operator);
      return done(`${retried} dead ${retried === 1 ? 'task' : 'tasks'} of queue ${act.queue} will run again`);
    }
    case 'task.enqueue': {
      const { id, created } = await operations.execute(act.verb, act, operator);
      return {
        ...done(`${describeTask({ queue: act.queue, id })} ${created ? 'is added' : 'existed already'}`),
        id,
      };
    }
    case 'lock.release': {
      const { key, leaseCounter, lockDelayMs: lockDelay } = act;
      const report = await operations.execute(act.verb, { key, leaseCounter, lockDelay }, operator);
      if (report.kind === 'released')
        return done(`lock ${key} was taken away from its holder; it is ${opening(report)}`);
      const holder = report.current?.holder;
      const found = holder === undefined ? 'it is free' : `it is held with token ${holder.leaseCounter}`;
      return refused(`lock ${key} is not held with token ${leaseCounter}: ${found}; nothing was done`);
    }
    case 'semaphore.evict': {
      const { name, leaseCounter: token, lockDelayMs: lockDelay } = act;
      const permit = await operations.execute(act.verb, { name, token, lockDelay }, operator);
      return permit === undefined
        ? refused(`semaphore ${name} has no permit with token ${token}; nothing was done`)
        : done(`the permit of session ${permit.session} was revoked; its slot is ${opening(permit)}`);
    }
    case 'session.destroy': {
      const { id, lockDelayMs: lockDelay } = act;
      const report = await operations.execute(act.verb, { id, lockDelay }, operator);
      if (report.kind !== 'destroyed')
        return refused(`session ${id} had ended already, or there is none; nothing was done`);
      const { maxClockSkewMs } = connection.options;
      const taken = {
        closedUntil: lockDelayEndsAt(report.session, maxClockSkewMs),
        trustedUntil: trustedUntil(report.session, { now: connection.now(), maxClockSkewMs }),
      };
      return done(`session ${id} has ended; what it held is ${opening(taken)}`);
    }
    default:
      return assertNever(act, 'act');
  }
}

function done(message: string): ActAnswer {
  return { kind: 'done', message };
}

function refused(message: string): ActAnswer {
  return { kind: 'refused', message };
}

function missing(act: TaskAct): ActAnswer {
  return refused(
    `there is no ${describeTask(act)}: finished tasks are deleted 14 days after they end; nothing was done`,
  );
}

function missingSchedule({ queue, name }: { readonly queue: string; readonly name: string }): ActAnswer {
  return refused(`there is no schedule ${name} in queue ${queue}; nothing was done`);
}

function unfit(act: TaskAct, state: string, why: string): ActAnswer {
  return refused(`${describeTask(act)} is ${state}: ${why}; nothing was done`);
}
