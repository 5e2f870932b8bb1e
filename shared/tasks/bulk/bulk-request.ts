/**
 * A request for many tasks of one definition, cut into packs.
 *
 * Packs have identities: pack `n` of bulk `b` has the id `b/n`,
 * and its item `i` has the id `b/n/i`, even if the item never gets its own row.
 * Guaranteed: a repeated request for the same bulk, with the same inputs in the same
 * order and the same pack size, adds the missing packs and nothing twice.
 * Other inputs are refused. An item can be found by its id as long as its pack is kept.
 * Not guaranteed: that equal inputs are one task. The same input in two bulks, or at two positions, is two tasks. If it must be one,
 * give it an id and its own row (`enqueue`).
 */
import { utf8Bytes } from '../../core/runtime/bytes.ts';
import { ConfigurationError } from '../../core/errors.ts';
import { validName } from '../../core/validate/name.ts';
import { validOptions } from '../../core/validate/options.ts';
import type { EnqueueOptions, RequestDefaults, TaskReference } from '../task/task-request.ts';
import { ENQUEUE_OPTIONS, optionsIn, plainTaskOf } from '../task/task-request.ts';
import type { NewTask } from '../task/task-store.ts';
import type { Json } from '../task/task.ts';
import { INPUT_LIMIT_BYTES } from '../task/task.ts';
import { PACK_INPUT_LIMIT_BYTES, PACK_SIZE_LIMIT, itemId } from '../task/pack.ts';
import { DEFAULT_BULK, validPackSize } from '../task/pack-policy.ts';
import type { NewPack } from './pack-store.ts';

/** The options of `enqueue` that a pack can have; they apply to all of its items. */
export type BulkOptions = Pick<
  EnqueueOptions,
  'queue' | 'priority' | 'runAt' | 'delay' | 'traceparent' | 'expiresAt' | 'expiresIn'
> & {
  /** Identity of the bulk. Default: a new, time-ordered id, so a repeated call adds everything again. */
  readonly id?: string;
  /** Items in a pack, 1 to 100. Default: from the definition, or 16. */
  readonly packSize?: number;
};

export interface NewBulk {
  readonly id: string;
  readonly queue: string;
  readonly packs: readonly NewPack[];
  /** Ids of all items, in the order of their inputs. */
  readonly items: readonly string[];
}

const BULK_OPTIONS = [...optionsIn('bulk'), 'packSize'] as const;
const OF_ONE_TASK: readonly string[] = ENQUEUE_OPTIONS.filter(
  (name) => !(BULK_OPTIONS as readonly string[]).includes(name),
);

/** Checks everything that can be checked before anything is written. @throws ConfigurationError */
export async function newBulkOf(
  task: TaskReference<unknown>,
  inputs: readonly unknown[],
  options: BulkOptions,
  defaults: RequestDefaults,
): Promise<NewBulk> {
  ensureSupported(options);
  if (!Array.isArray(inputs) || inputs.length === 0)
    throw new ConfigurationError('a bulk has no inputs: pass a list of at least one');
  const { id = defaults.runtime.ids.ordered(), packSize = defaultPackSize(task), ...common } = options;
  const size = validPackSize('packSize', packSize);
  validName('bulk id', id);
  validName('the id of an item', itemId(itemId(id, inputs.length), PACK_SIZE_LIMIT));
  const tasks = await Promise.all(inputs.map((input) => plainTaskOf(task, input, { ...common, id }, defaults)));
  const large = tasks.findIndex(({ payload }) => payload !== undefined);
  if (large >= 0)
    throw new ConfigurationError(
      `input ${large} of bulk ${id} has ${tasks[large]?.payload?.bytes} bytes as JSON: at most ` +
        `${INPUT_LIMIT_BYTES} fit into a pack; enqueue it by itself`,
    );
  const packs = cut(tasks, size).map((pack, n) => ({ ...pack, id: itemId(id, n) }));
  const queue = packs[0]?.queue ?? defaults.queue;
  return { id, queue, packs, items: packs.flatMap((pack) => pack.input.map((_, index) => itemId(pack.id, index))) };
}

/** Divides tasks into packs of at most `size` items and at most the byte limit of a pack. A single item may exceed that limit. */
function cut(tasks: readonly NewTask[], size: number): NewPack[] {
  const packs: (NewTask & { readonly input: Json[] })[] = [];
  let bytes = Infinity;
  for (const task of tasks) {
    const weight = utf8Bytes(JSON.stringify(task.input));
    const last = packs.at(-1);
    bytes += weight;
    if (last === undefined || last.input.length === size || bytes > PACK_INPUT_LIMIT_BYTES) {
      packs.push({ ...task, input: [task.input] });
      bytes = weight;
    } else last.input.push(task.input);
  }
  return packs;
}

function defaultPackSize(task: TaskReference<unknown>): number {
  return typeof task === 'string' ? DEFAULT_BULK.packSize : task.bulk.packSize;
}

/** Rejects options that need a row per task. */
function ensureSupported(options: BulkOptions): void {
  const given = Object.entries((options as Record<string, unknown> | null) ?? {});
  const [unsupported] = given.find(([name, value]) => value !== undefined && OF_ONE_TASK.includes(name)) ?? [];
  if (unsupported !== undefined)
    throw new ConfigurationError(
      `${unsupported} applies to single tasks, and tasks of a bulk share rows: enqueue them one by one, or omit it`,
    );
  validOptions('the options of a bulk', options, BULK_OPTIONS);
}
