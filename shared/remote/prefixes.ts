/** All keys below a prefix: looking at them, and waiting for a change. */
import { LockReader } from '../lock/reader.ts';
import { validKey } from '../lock/record.ts';
import type { LockPorts } from '../lock/standing.ts';
import { lookAndWait } from '../wait/look-and-wait.ts';
import type { PrefixView } from './prefix.ts';
import { PrefixReader } from './prefix.ts';
import { PrefixWatch } from './prefix-watch.ts';

export class Prefixes {
  readonly #reader: PrefixReader;
  readonly #watch: PrefixWatch;

  constructor(ports: LockPorts, maxClockSkewMs: number) {
    this.#reader = new PrefixReader(ports, new LockReader(ports, maxClockSkewMs));
    this.#watch = new PrefixWatch(ports, this.#reader);
  }

  /** All entries under a prefix, as if at one moment: see `prefix.ts`. */
  view(prefix: string): Promise<PrefixView> {
    return this.#reader.read(prefix);
  }

  /** Waits until the entries under a prefix are news to the caller, or `over` aborts; returns what there is then. */
  watch(prefix: string, isNews: (view: PrefixView) => boolean, over: AbortSignal): Promise<PrefixView> {
    const look = (): Promise<PrefixView> => this.view(prefix);
    const next = (isOurs: typeof isNews, ended: AbortSignal) => this.#watch.next(prefix, isOurs, ended);
    return lookAndWait({ look, isNews, next }, over);
  }

  /** Waits until a key that was just created is listed, for a caller that then tells its writer that it is there. */
  awaitListed(key: string): Promise<void> {
    return this.#reader.awaitListed(validKey(key));
  }

  /** Keys that were just written by this process: those who watch a prefix of them here need not wait for the next poll. */
  nudge(keys: readonly string[]): void {
    this.#watch.nudge(keys);
  }

  /** A session that was just ended by this process: it may have held a key below any prefix. */
  nudgeAll(): void {
    this.#watch.nudgeAll();
  }
}
