/** `leaseholdOf`: the client of the worker that runs a task. */
import { ConfigurationError, LeaseLostError } from '../core/errors.ts';
import type { AttemptLink } from '../tasks/run/attempt-link.ts';
import { linkOf } from '../tasks/run/attempt-link.ts';
import type { TaskContext } from '../tasks/task/context.ts';
import type { LeaseholdFoundation, LeaseholdSettings, SessionSettings } from './leasehold.ts';
import { Leasehold } from './leasehold.ts';
import type { Session } from './session.ts';
import type { Waiters } from './waiters.ts';
import { newWaiters } from './waiters.ts';

/** The worker's input to `leaseholdOf`. */
export interface WorkerClient {
  readonly foundation: LeaseholdFoundation;
  readonly settings: LeaseholdSettings;
}

/** The waiters of one worker share their lines. */
const waiters = new WeakMap<object, Waiters>();
const clients = new WeakMap<AttemptLink, Leasehold>();

/**
 * Returns the client of the worker that runs this task: the same table, region and credentials; in a test kit, the kit's.
 * Sessions that it opens end with the attempt, however that ends.
 * @throws ConfigurationError unless the argument is the context of a running task
 */
export function leaseholdOf(task: Pick<TaskContext, 'id' | 'queue'>): Leasehold {
  const link = linkOf(task);
  if (link?.client === undefined)
    throw new ConfigurationError(
      'leaseholdOf requires the context that the code of a task is called with: run(input, task)',
    );
  const known = clients.get(link) ?? new AttemptLeasehold(link, link.client as WorkerClient);
  clients.set(link, known);
  return known;
}

class AttemptLeasehold extends Leasehold {
  readonly #link: AttemptLink;

  constructor(link: AttemptLink, { foundation, settings }: WorkerClient) {
    const lines = foundation.waiters ?? waiters.get(foundation) ?? newWaiters(foundation.runtime.clock);
    waiters.set(foundation, lines);
    super({ ...foundation, waiters: lines }, settings);
    this.#link = link;
  }

  override async session(settings?: SessionSettings): Promise<Session> {
    this.#ensureRunning();
    const session = await super.session(settings);
    await this.#link.onEnd(() => session.end());
    this.#ensureRunning();
    return session;
  }

  override close(): void {
    throw new ConfigurationError('leaseholdOf(task) is the client of the worker, which closes it: leave it open');
  }

  #ensureRunning(): void {
    if (this.#link.isOver)
      throw new LeaseLostError('the session of a task', 'released', 'the attempt that it belongs to has ended');
  }
}
