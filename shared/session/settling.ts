/**
 * What a session left undecided, because an answer was lost: tried again with its heartbeats until it is decided, or the session is over.
 *
 * A session's own end decides everything, for all that hangs on it goes with it; until then a key or a permit that no code here knows of
 * would be closed to all others for as long as the session lives. Costs nothing while nothing is undecided.
 */

/** @returns whether it is decided */
export type Settle = () => Promise<boolean>;

export interface SettlingPorts {
  /** Until the next try; ends at once when the session is over. */
  pause(): Promise<void>;
  isOver(): boolean;
  onFailed(error: unknown): void;
}

export class Settling {
  readonly #ports: SettlingPorts;
  readonly #open = new Map<string, Settle>();
  #loop: Promise<void> | undefined;

  constructor(ports: SettlingPorts) {
    this.#ports = ports;
  }

  /** @param what names it: what is undecided already is tried again, with this */
  add(what: string, settle: Settle): void {
    this.#open.set(what, settle);
    this.#loop ??= this.#run();
  }

  has(what: string): boolean {
    return this.#open.has(what);
  }

  /** Resolves when nothing is under way any more. */
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
      // What was added meanwhile is another matter.
      if (isDecided && this.#open.get(what) === settle) this.#open.delete(what);
    } catch (error) {
      this.#ports.onFailed(error);
    }
  }
}
