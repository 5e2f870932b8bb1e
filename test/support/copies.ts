/** Late copies of requests, as a network that resends delivers them. */
import type { DynamoCalls, DynamoDriver, DynamoKind } from '../../shared/dynamo/engine/driver.ts';

const NEVER = new AbortController().signal;

/** A driver that keeps every transaction, so that a test can deliver each once more. */
export class Copies implements DynamoDriver {
  /** Called once, before the next single update is sent. */
  beforeWrite: (() => Promise<void>) | undefined;
  /** The same of a put. */
  beforePut: (() => Promise<void>) | undefined;
  readonly #driver: DynamoDriver;
  readonly #sent: DynamoCalls['transactWrite']['input'][] = [];

  constructor(driver: DynamoDriver) {
    this.#driver = driver;
  }

  async attempt<K extends DynamoKind>(
    kind: K,
    input: DynamoCalls[K]['input'],
    signal: AbortSignal,
  ): Promise<DynamoCalls[K]['output']> {
    if (kind === 'transactWrite') this.#sent.push(input as DynamoCalls['transactWrite']['input']);
    const hook = this.beforeWrite;
    if (kind === 'update' && hook !== undefined) {
      this.beforeWrite = undefined;
      await hook();
    }
    const putHook = this.beforePut;
    if (kind === 'put' && putHook !== undefined) {
      this.beforePut = undefined;
      await putHook();
    }
    return this.#driver.attempt(kind, input, signal);
  }

  /** Delivers a copy of each. Returns how many the store applied. */
  async arrive(): Promise<number> {
    let applied = 0;
    for (const input of this.#sent.splice(0)) {
      const isApplied = await this.#driver.attempt('transactWrite', input, NEVER).then(
        () => true,
        () => false,
      );
      if (isApplied) applied++;
    }
    return applied;
  }
}
