/**
 * A task store as one item of a page sees it: the verbs of its claim, said of a page.
 * With it an item's code runs under the very rules that a task's does (`run/run.ts`): timeouts, cancelling, handing back, belief.
 */
import { utf8Bytes } from '../runtime/bytes.ts';
import { ConfigurationError } from '../errors.ts';
import type { WriteLimits } from '../lease/outcome.ts';
import { DoNotRetry } from '../task/control.ts';
import type { Settled, TaskStore } from '../task/store.ts';
import type { Claim, Json, RunningTask } from '../task/task.ts';
import { describeTask } from '../task/task.ts';
import type { Departure } from './departure.ts';
import { departed, failedItem, snoozedItem } from './departure.ts';
import type { PageOf } from '../task/page.ts';
import { ITEM_RESULT_LIMIT_BYTES } from '../task/page.ts';
import type { BulkPolicy } from '../task/page-policy.ts';
import type { PageRecorder } from './recorder.ts';

export interface ItemPorts {
  readonly tasks: TaskStore;
  readonly recorder: PageRecorder;
  readonly policy: BulkPolicy;
  /** Whether the page as a whole is to be given up, or back. */
  readonly isPageStopping: () => boolean;
  /** The item's id is taken by another task, so that it cannot leave its page. */
  readonly onStuck: (index: number) => void;
}

export function itemVerbs(page: PageOf<RunningTask>, index: number, ports: ItemPorts): TaskStore {
  const { tasks, recorder, policy } = ports;
  const leave = async (departure: Departure, limits: WriteLimits | undefined): Promise<Settled> => {
    const outcome = await recorder.move(departed(page, departure), departure.settlement, limits);
    if (outcome.kind === 'refused') return outcome;
    if (outcome.kind === 'applied') return { kind: 'applied', row: undefined };
    ports.onStuck(index);
    return { kind: 'refused', current: undefined, earlierAttempt: 'none' };
  };
  return {
    ...tasks,
    async complete(claim, result, _, limits) {
      const excess = policy.keepsResults ? excessOf(claim, result) : undefined;
      // Its code has returned and cannot be told; doing it again would make it no smaller.
      if (excess !== undefined) throw new DoNotRetry(excess);
      return recorder.complete(index, result, limits);
    },
    async commit(claim, result, effects, _, limits) {
      const excess = policy.keepsResults ? excessOf(claim, result) : undefined;
      if (excess !== undefined) throw new ConfigurationError(excess);
      return recorder.commit(index, result, effects, limits);
    },
    retry: (_, { error, readyAt }, { now }, limits) =>
      leave({ ...failedItem(page, index, error, now), settlement: 'retried', readyAt }, limits),
    discard: (_, error, { now }, limits) => leave(failedItem(page, index, error, now), limits),
    snooze: (_, readyAt, { now }, limits) => leave(snoozedItem(page, index, readyAt, now), limits),
    // An item that is cancelled with its page stays open in it, as one that is handed back does: there is nothing to be written.
    giveUp: () => Promise.resolve(ports.isPageStopping() ? STAYS : recorder.giveUp(index)),
    release: () => Promise.resolve(STAYS),
    progress: (claim) => unsupported(claim, 'its progress'),
    waitForChildren: (claim) => unsupported(claim, 'what its children leave'),
  };
}

const STAYS = { kind: 'applied', row: undefined } as const;

/** In words, why a result is too large for its page. */
function excessOf(claim: Claim, result: Json | undefined): string | undefined {
  const bytes = result === undefined ? 0 : utf8Bytes(JSON.stringify(result));
  if (bytes <= ITEM_RESULT_LIMIT_BYTES) return undefined;
  return `the result of ${describeTask(claim)} has ${bytes} bytes as JSON: at most ${ITEM_RESULT_LIMIT_BYTES} of one item are kept in a page; store it elsewhere and return a reference`;
}

function unsupported(claim: Claim, what: string): Promise<never> {
  return Promise.reject(
    new ConfigurationError(
      `${describeTask(claim)} was enqueued in bulk, and its page has no room for ${what}: enqueue it as a task of its own`,
    ),
  );
}
