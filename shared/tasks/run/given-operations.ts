/**
 * The operations whose promises task code was given: `commit`, `snooze`, `waitFor`, `saveProgress`.
 *
 * Code may leave a promise unawaited for a while: `return task.commit(…)` next to `await using lock` releases the lock first.
 * An operation that is refused in that time must not end the process as an unhandled rejection, and one that nobody ever awaits must not
 * end as `done`. So each promise counts as handled, and `ended` throws what was refused and never awaited.
 */
export class GivenOperations {
  /** Those that nobody has awaited, unless they were applied. */
  readonly #unawaited = new Set<Promise<unknown>>();

  /** Returns the promise to hand out. */
  give<T>(operation: Promise<T>): Promise<T> {
    this.#unawaited.add(operation);
    const noLonger = (): void => {
      this.#unawaited.delete(operation);
    };
    operation.then(noLonger, () => undefined);
    return new Given(operation, noLonger);
  }

  /** Waits for the operations that nobody awaits. @throws the error of the first that was refused */
  async ended(): Promise<void> {
    await Promise.all(this.#unawaited);
  }
}

/** A promise that notices when it is awaited. `await` calls the `then` of a subclass, but not of a plain promise. */
class Given<T> extends Promise<T> {
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  readonly #onAwaited: () => void;

  constructor(operation: Promise<T>, onAwaited: () => void) {
    super((resolve, reject) => void operation.then(resolve, reject));
    this.#onAwaited = onAwaited;
    super.then(undefined, () => undefined);
  }

  override then<Kept = T, Instead = never>(
    onKept?: ((value: T) => Kept | PromiseLike<Kept>) | null,
    onBroken?: ((reason: unknown) => Instead | PromiseLike<Instead>) | null,
  ): Promise<Kept | Instead> {
    this.#onAwaited();
    return super.then(onKept, onBroken);
  }
}
