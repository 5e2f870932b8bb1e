/** The caller's own writes in one transaction with a task: their check, and what a refusal of one of them means. */
import { ConfigurationError, shown } from '../../core/errors.ts';
import type { WriteRefusal } from './control.ts';
import { CommitRefusedError } from './control.ts';
import { TRANSACTION_ACTIONS_LIMIT } from './spawning.ts';
import type { Effect, EffectReason, NewTask, UserWrite } from './task-store.ts';
import type { TaskKey } from './task.ts';
import { describeTask } from './task.ts';

/** The action kinds of `TransactWriteItems`. */
const ACTIONS: ReadonlySet<string> = new Set(['Put', 'Update', 'Delete', 'ConditionCheck']);
/** The rows of a task: its own, its input's, and its line's. */
const TASK_ACTIONS = 3;
const REFUSED = 'ConditionalCheckFailed';
/** Codes of an action that another try may pass, or whose condition was false. Any other code is refused each time. */
const SOUND: ReadonlySet<string> = new Set([
  ...['None', REFUSED],
  ...['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded'],
]);

/** An option of `enqueue` alone. */
export interface OwnWrites {
  /**
   * Writes of your own, in one transaction with the task, as `commit` takes them. They are applied if and only if this call creates the
   * task: not with `created: false`.
   */
  readonly writes?: readonly UserWrite[];
}

/** Separates the writes from the other options. @throws ConfigurationError */
export function ownWrites<Options>(options: Options & OwnWrites): {
  readonly writes: readonly UserWrite[];
  readonly rest: Options;
} {
  // Other values than objects are refused with the other options.
  if (typeof options !== 'object' || (options as unknown) === null) return { writes: [], rest: options };
  const { writes = [], ...rest } = options;
  ensureWrites('the writes of enqueue', writes);
  return { writes, rest: rest as Options };
}

/** @throws ConfigurationError */
export function ensureWrites(what: string, writes: readonly UserWrite[]): void {
  if (!Array.isArray(writes))
    throw new ConfigurationError(`${what} must be a list such as [{ Put: { TableName, Item } }]`);
  const stranger = writes.findIndex((write: unknown) => !isWrite(write));
  if (stranger >= 0)
    throw new ConfigurationError(
      `${what}: number ${stranger + 1} is not a write: must be an object with one of ${[...ACTIONS].join(', ')}`,
    );
}

/** Checks a new task with writes of its caller. @throws ConfigurationError */
export function ensureEnqueuedWith(task: TaskKey & Pick<NewTask, 'dedup'>, writes: readonly UserWrite[]): void {
  if (writes.length === 0) return;
  const { policy = 'reject', windowMs } = task.dedup ?? {};
  const option = windowMs === undefined ? `onDuplicate = ${policy}` : 'window';
  if ((policy !== 'reject' && policy !== 'keep') || windowMs !== undefined)
    throw new ConfigurationError(
      `${describeTask(task)} has writes and ${option}: the writes are applied with a new task, or not at all; ` +
        "leave the option out, or use onDuplicate = 'keep'",
    );
  if (writes.length + TASK_ACTIONS > TRANSACTION_ACTIONS_LIMIT)
    throw new ConfigurationError(
      `${describeTask(task)} has ${writes.length} writes: one transaction takes ${TRANSACTION_ACTIONS_LIMIT} actions, ` +
        `and up to ${TASK_ACTIONS} are the task's`,
    );
}

function isWrite(write: unknown): boolean {
  if (typeof write !== 'object' || write === null) return false;
  const given = Object.entries(write).filter(([, action]) => action !== undefined);
  const [[name, action] = []] = given;
  return given.length === 1 && ACTIONS.has(String(name)) && typeof action === 'object' && action !== null;
}

/** Whether an action stopped its transaction: its condition was false, or it is refused each time. */
export function isFinal({ code }: Pick<WriteRefusal, 'code'>): boolean {
  return code === REFUSED || !SOUND.has(code);
}

/** The error of a transaction that was not applied because of its effects. @param what names the intended change */
export function refusalOf(what: string, reasons: readonly EffectReason[]): ConfigurationError | CommitRefusedError {
  const faulty = reasons.filter(({ code }) => !SOUND.has(code));
  const taken = reasons.flatMap(describeTaken);
  const refused = (faulty.length > 0 ? faulty : reasons).flatMap((reason) =>
    describeRefused(reason, reasons.indexOf(reason)),
  );
  const found =
    taken.length > 0 && faulty.length === 0
      ? `${what} was refused: ${taken.join(', ')}; derive ids from the work (\`\${task.runId}/mail\`), or spawn only what is missing`
      : `${what} was refused by a write of its own (${refused.join(', ')})`;
  if (faulty.length > 0)
    return new ConfigurationError(`${found}, which DynamoDB refuses each time; nothing was applied`);
  const ofEffects = reasons
    .filter(({ effect }) => effect !== undefined)
    .map(({ effect, code, item }, index) => ({ code, item, ...(effect && placeOf(effect, index)) }));
  return new CommitRefusedError(`${found}; nothing was applied`, ofEffects);
}

/** Describes a child whose id is taken. */
function describeTaken({ effect, code, item }: EffectReason): readonly string[] {
  if (effect === undefined || !('spawn' in effect) || code !== REFUSED) return [];
  const { state } = item ?? {};
  return [`${describeTask(effect.spawn)} exists already${typeof state === 'string' ? ` (${state})` : ''}`];
}

/** Describes a write of the user's that was refused, or the row that counts children. */
function describeRefused({ effect, code, message }: EffectReason, index: number): readonly string[] {
  if (code === 'None') return [];
  const found = SOUND.has(code) || message === undefined ? code : `${code}: ${message}`;
  const place = effect && placeOf(effect, index);
  if (place === undefined) return [found];
  return [
    `writes[${index}] of table ${place.table}${place.key === undefined ? '' : `, ${shown(place.key)}`}: ${found}`,
  ];
}

/** Writes come before the tasks to spawn. */
function placeOf(effect: Effect, index: number): Required<Pick<WriteRefusal, 'index' | 'table' | 'key'>> | undefined {
  if ('spawn' in effect) return undefined;
  const [action] = Object.values(effect) as readonly {
    readonly TableName: string;
    readonly Key?: Record<string, unknown>;
  }[];
  return action && { index, table: action.TableName, key: action.Key };
}
