/**
 * Reads all keys below a prefix, and waits for a change.
 *
 * Waiting is one poll per prefix and process, shared by all that wait for it.
 * Each poll is a short read: half a read unit for the listing and for each row, and every third time as much for sessions; every time
 * for sessions that are bound to health checks.
 * Only if a short read differs from the one before, the prefix is read completely, and its waiters are notified.
 */
import { LockReader } from '../../shared/coordination/lock/lock-reader.ts';
import { validKey } from '../../shared/coordination/lock/lock-record.ts';
import type { LockPorts } from '../../shared/coordination/lock/lock-verdict.ts';
import { sideBySide } from '../../shared/core/runtime/in-flight.ts';
import { pollUntil } from '../../shared/core/wait/poll-until.ts';
import type { Due } from '../../shared/core/wait/shared-poll.ts';
import { SharedPoll, oneByOne } from '../../shared/core/wait/shared-poll.ts';
import type { PrefixView } from './prefix.ts';
import { PrefixReader } from './prefix.ts';

const POLL_MS = { min: 750, max: 900 };
/**
 * Reads for queries that are under way at once. They are one flow in the gateway's one thread and on its connections:
 * a write waits for a few of them at most, however many there are.
 */
const LOOKS_IN_FLIGHT = 8;
/** Read the sessions only on every third poll: a session costs as much as its key. */
const SESSIONS_EVERY = 3;

/** State of a prefix between polls. */
interface Seen {
  polls: number;
  lastGlance: string | undefined;
  isBound: boolean;
}

export class Prefixes {
  readonly #reader: PrefixReader;
  readonly #poll: SharedPoll<PrefixView, Seen>;
  readonly #inTurn = sideBySide(LOOKS_IN_FLIGHT);

  constructor(ports: LockPorts, maxClockSkewMs: number) {
    const { clock, random } = ports.runtime;
    this.#reader = new PrefixReader(ports, new LockReader(ports, maxClockSkewMs));
    this.#poll = new SharedPoll<PrefixView, Seen>(clock, {
      begin: () => ({ polls: 0, lastGlance: undefined, isBound: false }),
      pauseMs: () => POLL_MS.min + (POLL_MS.max - POLL_MS.min) * random.next(),
      read: oneByOne((due) => this.#inTurn(() => this.#read(due))),
    });
  }

  /** All entries under a prefix, as if at one moment (see `prefix.ts`), for a write: it does not wait for queries. */
  viewAtOnce(prefix: string): Promise<PrefixView> {
    return this.#reader.read(prefix);
  }

  /** The same for a query. */
  view(prefix: string): Promise<PrefixView> {
    return this.#inTurn(() => this.#reader.read(prefix));
  }

  /**
   * Waits until the entries under a prefix are news to the caller, or `over` aborts; returns what there is then.
   * @throws StoreUnavailableError: watching goes no further
   */
  watch(prefix: string, isNews: (view: PrefixView) => boolean, over: AbortSignal): Promise<PrefixView> {
    const read = (): Promise<PrefixView> => this.view(prefix);
    const next = (isOurs: typeof isNews, ended: AbortSignal) => this.#poll.next(prefix, isOurs, ended);
    return pollUntil({ read, isNews, next }, over);
  }

  /** Waits until a key that was just created is listed, for a caller that then tells its writer that it is there. */
  awaitListed(key: string): Promise<void> {
    return this.#reader.awaitListed(validKey(key));
  }

  /** This process has just written these keys: local watchers of their prefixes skip the pause before the next poll. */
  nudge(keys: readonly string[]): void {
    this.#poll.nudge((prefix) => keys.some((key) => key.startsWith(prefix)));
  }

  /** A session that was just ended by this process: it may have held a key below any prefix. */
  nudgeAll(): void {
    this.#poll.nudge(() => true);
  }

  /** Undefined where nothing has changed. */
  async #read({ key: prefix, memory, isNudged, hasNewcomer }: Due<Seen>): Promise<PrefixView | undefined> {
    const withSessions = memory.polls++ % SESSIONS_EVERY === 0 || memory.isBound;
    const glance = isNudged ? undefined : await this.#reader.glance(prefix, { withSessions });
    if (withSessions) memory.isBound = glance?.isBound ?? true;
    if (!isNudged && glance?.fingerprint === memory.lastGlance && !hasNewcomer) return undefined;
    const view = await this.#reader.read(prefix);
    memory.lastGlance = glance?.fingerprint;
    return view;
  }
}
