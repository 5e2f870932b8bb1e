/**
 * A process that dies at a chosen step: a request that it sends, or a point that its task code passes.
 * A dead process gets no response, sends no request, and goes no further.
 */
import type { DynamoCalls, DynamoDriver, DynamoKind } from '../../shared/dynamo/engine/driver.ts';

export interface Death {
  /** 1 for the first step. */
  readonly step: number;
  /** Whether the step is still taken, and only its answer never heard. */
  readonly how: 'before' | 'after';
}

export class Mortal {
  readonly #death: Death | undefined;
  readonly #died = Promise.withResolvers<undefined>();
  /** Taken so far. */
  steps = 0;
  isDead = false;

  constructor(death?: Death) {
    this.#death = death;
  }

  /** Resolves when it dies, if it does. */
  get death(): Promise<undefined> {
    return this.#died.promise;
  }

  async step<T>(take: () => Promise<T>): Promise<T> {
    if (this.isDead) return silence();
    const death = ++this.steps === this.#death?.step ? this.#death : undefined;
    if (death?.how === 'before') return this.#die();
    const taken = await take();
    return death === undefined ? this.#orSilence(taken) : this.#die();
  }

  /** Dies of what its task code does. */
  kill(): Promise<never> {
    return this.#die();
  }

  driver(driver: DynamoDriver): DynamoDriver {
    return {
      attempt: <K extends DynamoKind>(kind: K, input: DynamoCalls[K]['input'], signal: AbortSignal) =>
        this.step(() => driver.attempt(kind, input, signal)),
    };
  }

  #orSilence<T>(value: T): T | Promise<never> {
    return this.isDead ? silence() : value;
  }

  #die(): Promise<never> {
    this.isDead = true;
    this.#died.resolve(undefined);
    return silence();
  }
}

function silence(): Promise<never> {
  return Promise.withResolvers<never>().promise;
}
