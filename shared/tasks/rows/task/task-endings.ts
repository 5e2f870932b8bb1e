/**
 * The writes after which an attempt is over, or a task that has not begun.
 * Almost every one is a single write. `DependentRows` takes over if the task has links, or if the write is refused because of a follower.
 */
import type { WriteLimits, Stamp } from '../../../core/lease/write.ts';
import { outcomeOf } from '../../../dynamo/engine/rows.ts';
import type { Sender } from '../../../dynamo/engine/send.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import type { ChildEnding } from '../../task/batch.ts';
import { ListedQueues } from '../../task/listed-queues.ts';
import type { SequencedStamp, Settled } from '../../task/task-store.ts';
import type {
  Cancellation,
  Claim,
  EndFacts,
  Json,
  PastAttempt,
  ReadyTask,
  RunningTask,
  TaskError,
  TaskKey,
} from '../../task/task.ts';
import type { TaskStoreOptions } from './adding-store.ts';
import type { Change, Linked } from './change-parts.ts';
import { DependentRows, followerIn } from './dependent-rows.ts';
import type { EndStamp } from './ended-entries.ts';
import { endedPlace } from './ended-entries.ts';
import { promoteFollower, promoteWaiting } from './follower-statements.ts';
import { cancelAbandonedTask, cancelWaitingTask } from './operator-statements.ts';
import { glanceAtQueue, listingIn } from '../queue-statements.ts';
import { decodeTask } from './task-codec.ts';

interface Ending {
  /** The task's state afterwards. */
  readonly to: 'ready' | ChildEnding;
  /** The task's holder: the writer, a holder whose session has ended, or nobody yet. */
  readonly of: 'holder' | 'deadHolder' | 'nobody';
  /** The record of the attempt if its task continues with a follower. */
  readonly how?: PastAttempt['how'];
}

const ENDINGS = {
  complete: { to: 'done', of: 'holder', how: 'done' },
  discard: { to: 'dead', of: 'holder', how: 'failed' },
  giveUp: { to: 'cancelled', of: 'holder', how: 'cancelled' },
  retry: { to: 'ready', of: 'holder', how: 'failed' },
  release: { to: 'ready', of: 'holder', how: 'released' },
  snooze: { to: 'ready', of: 'holder', how: 'snoozed' },
  markDead: { to: 'dead', of: 'deadHolder', how: 'died' },
  abandon: { to: 'cancelled', of: 'deadHolder', how: 'cancelled' },
  cancel: { to: 'cancelled', of: 'nobody' },
  expire: { to: 'cancelled', of: 'nobody' },
  passTurn: { to: 'cancelled', of: 'nobody' },
} as const satisfies Readonly<Record<string, Ending>>;

type Verb = keyof typeof ENDINGS;

interface EndOptions extends Pick<Change, 'early'> {
  readonly limits?: WriteLimits | undefined;
  /** The result of a done task, for a durable task that waits for it. */
  readonly result?: Json | undefined;
  /** The same of a dead one. Also kept in the past of a task that continues with a follower. */
  readonly error?: TaskError | undefined;
}

export class TaskEndings {
  /** Writes the ends that need more than the task's own row. */
  readonly linked: DependentRows;
  readonly #sender: Sender;
  readonly #table: string;
  readonly #shards: number;
  readonly #listed: ListedQueues;

  constructor(sender: Sender, { table, shards, listed = new ListedQueues() }: TaskStoreOptions) {
    this.linked = new DependentRows(sender, { table, shards });
    this.#listed = listed;
    this.#sender = sender;
    this.#table = table;
    this.#shards = shards;
  }

  /** The stamp of the write that ends a task, with its entry if its queue lists finished tasks. */
  stampOf<S extends Stamp>(task: TaskKey & EndFacts & Linked, state: ChildEnding, stamp: S): S & EndStamp {
    if (!this.#listed.has(task.queue)) return stamp;
    return { ...stamp, place: endedPlace(task, state, { now: stamp.now, shards: this.#shards }) };
  }

  /** @param own the task's own write */
  async end(
    verb: Verb,
    task: Linked,
    own: Statement<'update'>,
    stamp: Stamp,
    { limits, early, ...outcome }: EndOptions = {},
  ): Promise<Settled> {
    const change = { ...this.changeOf(verb, task, own, stamp, outcome), early };
    if (task.links !== undefined) return this.linked.settle(change, stamp, limits);
    const result = await this.#sender.write(own, stamp.nonce, limits);
    if (result.kind === 'applied') return { kind: 'applied', row: result.item && decodeTask(result.item) };
    const refused = outcomeOf(result, decodeTask, decodeTask);
    const followed = followerIn(change, refused);
    return followed === undefined ? refused : this.linked.settle(change, stamp, limits, followed);
  }

  changeOf(
    verb: Verb,
    task: Linked,
    own: Statement<'update'>,
    stamp: Stamp & Partial<SequencedStamp>,
    outcome: Change['outcome'] = {},
  ): Change {
    const { to, of, how }: Ending = ENDINGS[verb];
    if (of === 'nobody' || how === undefined) return { task, own, from: 'ready', to };
    const claim = task as Claim;
    const { error } = outcome;
    return {
      task,
      own,
      to,
      outcome,
      promote: (followed) => promoteFollower(this.#table, claim, { how, error, ...followed }, this.#shards, stamp),
    };
  }

  /**
   * Cancels a waiting task, or a running one whose session the caller has seen ended. If it has a follower, the task continues with that.
   */
  async cancel(observed: ReadyTask | RunningTask, cancellation: Cancellation, stamp: Stamp): Promise<Settled> {
    await this.#learn(observed.queue);
    const ending = this.stampOf(observed, 'cancelled', stamp);
    if (observed.state === 'running')
      return this.end('abandon', observed, cancelAbandonedTask(this.#table, observed, cancellation, ending), stamp);
    const { follower } = observed;
    if (follower !== undefined) {
      const promotion = promoteWaiting(this.#table, observed, follower, this.#shards, stamp);
      return this.linked.settle({ task: observed, own: promotion, from: 'ready', to: 'ready' }, stamp);
    }
    const own = cancelWaitingTask(this.#table, observed, cancellation, ending);
    const early = cancelWaitingTask(this.#table, observed, cancellation, stamp, this.#shards);
    return this.end('cancel', observed, own, stamp, { early });
  }

  /** An operator and a dispatcher, who claim nothing, read the queue's row now and then. */
  async #learn(queue: string): Promise<void> {
    const monotonicMs = this.#sender.patience.clock.monotonic();
    if (this.#listed.isKnown(queue, monotonicMs)) return;
    const { Item } = await this.#sender.read(glanceAtQueue(this.#table, queue));
    this.#listed.note(queue, Item && listingIn(Item), monotonicMs);
  }
}
