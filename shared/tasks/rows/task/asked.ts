/** The task row, continued: a request's attributes, as parts of the update that gives a task other work. */
import { defined } from '../../../core/defined.ts';
import type { NewTask } from '../../task/task-store.ts';
import type { Priority, TaskKey } from '../../task/task.ts';
import type { UpdateParts } from '../../../dynamo/engine/statement.ts';
import type { StoredText } from '../../../dynamo/engine/stored-json.ts';
import { storedJson } from '../../../dynamo/engine/stored-json.ts';
import { keyAttribute, payloadAttribute, policyAttribute } from './attributes.ts';
import { moveTo } from './place.ts';

/** A request's work, as stored in a row. */
interface Work {
  readonly name: string;
  /** JSON. */
  readonly input: StoredText;
  readonly priority: Priority;
  readonly runAt: number;
  readonly expiresAt?: unknown;
  readonly key?: unknown;
  readonly payload?: unknown;
  readonly traceparent?: unknown;
  readonly policy?: unknown;
}

/** Optional attributes: set if given, otherwise removed. An attribute can be in only one clause. */
const OPTIONAL = ['expiresAt', 'key', 'payload', 'traceparent', 'policy'] as const;

export function workOf(task: NewTask, nonce: string, { isApart = false } = {}): Work {
  const { queue, name, priority, runAt, expiresAt, links, payload, traceparent, policy } = task;
  return {
    name,
    input: storedJson(task.input),
    priority,
    runAt,
    ...defined({ expiresAt }),
    ...(links?.concurrency === undefined ? {} : { key: keyAttribute(queue, links.concurrency) }),
    ...(payload === undefined ? {} : { payload: payloadAttribute(payload, nonce, { isApart }) }),
    ...defined({ traceparent }),
    ...(policy === undefined ? {} : { policy: policyAttribute(policy) }),
  };
}

/** The rest of a `SET` clause. */
export function asked(
  work: Work,
  task: TaskKey & { readonly tenant?: string | undefined },
  shards: number,
  { nonce, isHeld }: { readonly nonce: string; readonly isHeld: boolean },
): Pick<UpdateParts, 'effect' | 'values'> {
  const { name, input, priority, runAt } = work;
  const { queue, id, tenant } = task;
  const place = moveTo({ queue, id, tenant, priority }, runAt, shards, isHeld);
  const given = OPTIONAL.filter((attribute) => work[attribute] !== undefined);
  return {
    effect:
      `#name = :name, #input = :input, #priority = :priority, ${place.effect}, #nonce = :nonce` +
      given.map((attribute) => `, #${attribute} = :${attribute}`).join(''),
    values: {
      ':name': name,
      ':input': input,
      ':priority': priority,
      ':nonce': nonce,
      ...place.values,
      ...Object.fromEntries(given.map((attribute) => [`:${attribute}`, work[attribute]])),
    },
  };
}

/** A `REMOVE` clause, to which more may be added. */
export function dropped(work: Work): string {
  const absent = OPTIONAL.filter((attribute) => work[attribute] === undefined);
  return `REMOVE ${['cancellation', ...absent].map((attribute) => `#${attribute}`).join(', ')}`;
}
