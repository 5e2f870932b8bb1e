/** The task row, continued: a request's attributes, as parts of the update that gives a task other work. */
import type { Stamp } from '../../../core/lease/write.ts';
import type { NewTask } from '../../task/task-store.ts';
import type { Priority } from '../../task/task.ts';
import type { StoredText } from '../../../dynamo/engine/stored-json.ts';
import { storedJson } from '../../../dynamo/engine/stored-json.ts';
import type { OptionAttributes } from './attributes.ts';
import { optionAttributes } from './attributes.ts';
import type { Move, Standing } from './place.ts';
import { moveTo } from './place.ts';

/** A request's work, as stored in a row. An option without a value is removed. */
interface Work {
  readonly name: string;
  /** JSON. */
  readonly input: StoredText;
  readonly priority: Priority;
  readonly runAt: number;
  readonly options: OptionAttributes;
}

export function workOf(task: NewTask): Work {
  const { name, priority, runAt } = task;
  return { name, input: storedJson(task.input), priority, runAt, options: optionAttributes(task) };
}

/**
 * The rest of a `SET` clause, and the index attributes to remove. @param task where it stood, and the limit of the work's key, or its line
 */
export function asked(work: Work, task: Omit<Standing, 'priority'>, shards: number, { now }: Stamp): Move {
  const { name, input, priority, runAt, options } = work;
  const place = moveTo({ ...task, priority }, { readyAt: runAt, now, shards });
  // An attribute can be in only one clause.
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return {
    effect:
      `#name = :name, #input = :input, #priority = :priority, ${place.effect}, #nonce = :nonce` +
      given.map(([attribute]) => `, #${attribute} = :${attribute}`).join(''),
    values: {
      ':name': name,
      ':input': input,
      ':priority': priority,
      ...place.values,
      ...Object.fromEntries(given.map(([attribute, value]) => [`:${attribute}`, value])),
    },
    left: place.left,
  };
}

/** Part of a `SET` clause: another work begins. Uses the value `:one`. */
export const COUNT_WORK = '#work = if_not_exists(#work, :one) + :one';

/** A `REMOVE` clause, to which more may be added. */
export function dropped({ options }: Work): string {
  const absent = Object.entries(options).flatMap(([attribute, value]) => (value === undefined ? [attribute] : []));
  return `REMOVE ${['cancellation', ...absent].map((attribute) => `#${attribute}`).join(', ')}`;
}
