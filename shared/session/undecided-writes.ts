/**
 * Retries unresolved writes of a session, whose response was lost, with each heartbeat until they are resolved or the session ends.
 *
 * Ending the session settles everything, because that releases all it holds. Until then a key or a permit that no code here knows about
 * would stay closed to everyone for as long as the session lives. Costs nothing without unresolved writes.
 */

/** @returns whether it is resolved */
export type Settle = () => Promise<boolean>;

interface SettlingPorts {
  /** Waits until the next try. Ends at once when the session is over. */
  pause(): Promise<void>;
  isOver(): boolean;
  onFailed(error: unknown): void;
}

export class UndecidedWrites {
  readonly #ports: SettlingPorts;
  readonly #open = new Map<string, Settle>();
  #loop: Promise<void> | undefined;

  constructor(ports: SettlingPorts) {
    this.#ports = ports;
  }

  /** @param what names the write. If it is already unresolved, this `settle` replaces the earlier one */
  add(what: string, settle: Settle): void {
    this.#open.set(what, settle);
    this.#loop ??= this.#run();
  }

  has(what: string): boolean {
    return this.#open.has(what);
  }

  get areDecided(): boolean {
    return this.#open.size === 0;
  }

  /** Resolves when no retry is in flight. */
  async idle(): Promise<void> {
    await this.#loop;
  }

  async #run(): Promise<void> {
    while (this.#open.size > 0) {
      await this.#ports.pause();
      if (this.#ports.isOver()) break;
      await Promise.all([...this.#open].map(([what, settle]) => this.#try(what, settle)));
    }
    this.#loop = undefined;
  }

  async #try(what: string, settle: Settle): Promise<void> {
    try {
      const isDecided = await settle();
      // A newer write with the same name may have replaced this one.
      if (isDecided && this.#open.get(what) === settle) this.#open.delete(what);
    } catch (error) {
      this.#ports.onFailed(error);
    }
  }
}
