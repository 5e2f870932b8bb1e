/**
 * AbortController and AbortSignal as code under test sees them while a history runs:
 * what Node's do, without what a simulation must not have.
 *
 * Node's follow one another by weak references, and keep the listeners of a signal in a registry until they are removed:
 * a process that is killed removes nothing, so whole worlds would stay in memory for ever.
 * Node's also make an event object with every abort, and every request of the protocol ends in one: a seventh of all time.
 *
 * @see proof/simulation/abort-signal.test.ts for the comparison with Node's
 */

interface AbortEvent {
  readonly type: 'abort';
  readonly target: SimulatedAbortSignal;
}

type Listener = (event: AbortEvent) => void;

interface Registration {
  readonly listener: Listener;
  isRemoved: boolean;
}

class SimulatedAbortSignal {
  #aborted = false;
  #reason: unknown = undefined;
  #registrations: Registration[] | undefined;
  /** Those made of this one by `any`, in the order of their making. */
  #followers: Set<SimulatedAbortSignal> | undefined;
  /** What this one was made of; signals that were themselves made of others stand for those. */
  #sources: Set<SimulatedAbortSignal> | undefined;

  static abort(reason: unknown = abortError()): SimulatedAbortSignal {
    const signal = new SimulatedAbortSignal();
    signal.#aborted = true;
    signal.#reason = reason;
    return signal;
  }

  static any(signals: Iterable<SimulatedAbortSignal>): SimulatedAbortSignal {
    const sources = [...signals];
    // Asked as all code asks: a signal may compute its answer.
    const aborted = sources.find((source) => source.aborted);
    if (aborted !== undefined) return SimulatedAbortSignal.abort(aborted.reason);
    const signal = new SimulatedAbortSignal();
    signal.#sources = new Set(sources.flatMap((source) => [...(source.#sources ?? [source])]));
    for (const source of signal.#sources) (source.#followers ??= new Set()).add(signal);
    return signal;
  }

  /** Whether a signal has been aborted, without asking it to find out. */
  static wasAborted(signal: SimulatedAbortSignal): boolean {
    return signal.#aborted;
  }

  /** What a controller does: all that it reaches is aborted before a listener hears of it. */
  static abortBy(signal: SimulatedAbortSignal, reason: unknown): void {
    if (signal.#aborted) return;
    signal.#aborted = true;
    signal.#reason = reason;
    const followers = signal.#followers;
    if (followers === undefined) {
      signal.#tell();
      return;
    }
    signal.#followers = undefined;
    const reached = [...followers].filter((follower) => !follower.#aborted);
    for (const follower of reached) {
      follower.#aborted = true;
      follower.#reason = reason;
    }
    signal.#tell();
    for (const follower of reached) follower.#tell();
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }

  addEventListener(
    _type: 'abort',
    listener: Listener,
    options?: { readonly once?: boolean; readonly signal?: SimulatedAbortSignal },
  ): void {
    const until = options?.signal;
    if (until?.aborted === true) return;
    until?.addEventListener('abort', () => this.removeEventListener('abort', listener));
    // An abort happens once, so no listener could hear of it twice; and after it none hears anything.
    if (this.#aborted) return;
    const registrations = (this.#registrations ??= []);
    for (const known of registrations) if (known.listener === listener) return;
    registrations.push({ listener, isRemoved: false });
  }

  removeEventListener(_type: 'abort', listener: Listener): void {
    const registrations = this.#registrations;
    if (registrations === undefined) return;
    for (let at = 0; at < registrations.length; at++) {
      const registration = registrations[at];
      if (registration?.listener !== listener) continue;
      registration.isRemoved = true;
      registrations.splice(at, 1);
      return;
    }
  }

  #tell(): void {
    const registrations = this.#registrations;
    if (registrations === undefined) return;
    const event: AbortEvent = { type: 'abort', target: this };
    // One of them may remove another that is still to come.
    for (const registration of [...registrations]) if (!registration.isRemoved) hear(registration.listener, event);
    this.#registrations = undefined;
  }
}

class SimulatedAbortController {
  readonly signal = new SimulatedAbortSignal();

  abort(reason?: unknown): void {
    if (!SimulatedAbortSignal.wasAborted(this.signal))
      SimulatedAbortSignal.abortBy(this.signal, reason === undefined ? abortError() : reason);
  }
}

/** Whether a signal of code under test has been aborted, without asking it to find out. */
export function wasAborted(signal: AbortSignal): boolean {
  return SimulatedAbortSignal.wasAborted(signal as unknown as SimulatedAbortSignal);
}

/** Puts the simulated ones in the place of Node's while `run` runs. */
export async function withSimulatedAborts<T>(run: () => Promise<T>): Promise<T> {
  const { AbortController, AbortSignal } = globalThis;
  Object.assign(globalThis, { AbortController: SimulatedAbortController, AbortSignal: SimulatedAbortSignal });
  try {
    return await run();
  } finally {
    Object.assign(globalThis, { AbortController, AbortSignal });
  }
}

function hear(listener: Listener, event: AbortEvent): void {
  try {
    listener.call(event.target, event);
  } catch (error) {
    // As with Node's: the listener's fault alone.
    process.nextTick(() => {
      throw error;
    });
  }
}

function abortError(): DOMException {
  return new DOMException('This operation was aborted', 'AbortError');
}
