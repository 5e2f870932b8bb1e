/**
 * A task store for one item of a pack: translates the operations of the item's claim into writes of the pack.
 * With it an item's code runs under the same rules as a task's (`tasks/run/run-claim.ts`): timeouts, cancelling, handing back, trust.
 */
import { utf8Bytes } from '../../core/runtime/bytes.ts';
import { ConfigurationError } from '../../core/errors.ts';
import type { WriteLimits } from '../../core/lease/outcome.ts';
import { DoNotRetry } from '../task/control.ts';
import type { Settled, TaskStore } from '../task/task-store.ts';
import type { Claim, Json, RunningTask } from '../task/task.ts';
import { describeTask } from '../task/task.ts';
import { failedItem, releasedItem, snoozedItem } from './departure.ts';
import type { PackOf } from '../task/pack.ts';
import { ITEM_RESULT_LIMIT_BYTES } from '../task/pack.ts';
import type { BulkPolicy } from '../task/pack-policy.ts';
import type { PackRecorder } from './recorder.ts';
import type { MovedItem } from './pack-store.ts';

interface ItemPorts {
  readonly tasks: TaskStore;
  readonly recorder: PackRecorder;
  readonly policy: BulkPolicy;
  /** Whether the whole pack is about to be cancelled or handed back. */
  readonly isPackStopping: () => boolean;
  /** Another task has the item's id, so the item cannot leave its pack. */
  readonly onStuck: (index: number) => void;
}

export function itemVerbs(pack: PackOf<RunningTask>, index: number, ports: ItemPorts): TaskStore {
  const { tasks, recorder, policy } = ports;
  const leave = async (item: MovedItem, limits: WriteLimits | undefined): Promise<Settled> => {
    const outcome = await recorder.move(item, limits);
    if (outcome.kind === 'refused') return outcome;
    if (outcome.kind === 'applied') return { kind: 'applied', row: undefined };
    ports.onStuck(index);
    return { kind: 'refused', current: undefined, earlierAttempt: 'none' };
  };
  return {
    ...tasks,
    async complete(claim, result, _, limits) {
      const excess = policy.keepsResults ? excessOf(claim, result) : undefined;
      // Its code has already returned, so an error cannot reach it, and running it again would not make the result smaller.
      if (excess !== undefined) throw new DoNotRetry(excess);
      return recorder.complete(index, result, limits);
    },
    async commit(claim, result, effects, _, limits) {
      const excess = policy.keepsResults ? excessOf(claim, result) : undefined;
      if (excess !== undefined) throw new ConfigurationError(excess);
      return recorder.commit(index, result, effects, limits);
    },
    // The recorder raised the bar with the next record of the pack.
    bar: () => Promise.resolve(STAYS),
    retry: (_, { error, readyAt, isRefunded = false }, { now }, limits) =>
      leave(
        isRefunded
          ? releasedItem(pack, index, { error, readyAt }, now)
          : failedItem(pack, index, error, { now, readyAt }),
        limits,
      ),
    discard: (_, error, { now }, limits) => leave(failedItem(pack, index, error, { now }), limits),
    snooze: (_, readyAt, { now }, limits) => leave(snoozedItem(pack, index, readyAt, now), limits),
    // If an item is cancelled with its pack, or handed back early, it stays open in the pack: there is nothing to write.
    giveUp: () => Promise.resolve(ports.isPackStopping() ? STAYS : recorder.giveUp(index)),
    // An item that ran for most of a worker's life would do so again, before the items behind it start. Its own row counts how often.
    release: ({ handBacks = 0 }, { now }, limits) =>
      handBacks === 0
        ? Promise.resolve(STAYS)
        : leave(releasedItem(pack, index, { error: undefined, readyAt: now }, now), limits),
    progress: (claim) => unsupported(claim, 'its progress'),
    waitForChildren: (claim) => unsupported(claim, 'what its children leave'),
  };
}

const STAYS = { kind: 'applied', row: undefined } as const;

/** Explains why a result is too large for its pack; undefined if it fits. */
function excessOf(claim: Claim, result: Json | undefined): string | undefined {
  const bytes = result === undefined ? 0 : utf8Bytes(JSON.stringify(result));
  if (bytes <= ITEM_RESULT_LIMIT_BYTES) return undefined;
  return (
    `the result of ${describeTask(claim)} has ${bytes} bytes as JSON: at most ${ITEM_RESULT_LIMIT_BYTES} of ` +
    'one item are kept in a pack; store it elsewhere and return a reference'
  );
}

function unsupported(claim: Claim, what: string): Promise<never> {
  return Promise.reject(
    new ConfigurationError(
      `${describeTask(claim)} was enqueued in bulk, and its pack has no space for ${what}: enqueue it as a separate task`,
    ),
  );
}
