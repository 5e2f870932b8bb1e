/** A driver that loses what a network loses, on demand. */
import type { DynamoCalls, DynamoDriver, DynamoKind } from '../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../shared/dynamo/engine/driver.ts';

export type Accident =
  /** The request never arrives. */
  | 'dropRequest'
  /** It is applied, and its answer is lost. */
  | 'dropResponse'
  | 'throttle'
  | 'conflict';

export class FaultyDriver implements DynamoDriver {
  /** The accidents of the next writes, in order; writes beyond are spared. Reads always are. */
  readonly accidents: (Accident | 'none')[] = [];
  readonly attempts: DynamoKind[] = [];
  readonly #driver: DynamoDriver;

  constructor(driver: DynamoDriver) {
    this.#driver = driver;
  }

  async attempt<K extends DynamoKind>(
    kind: K,
    input: DynamoCalls[K]['input'],
    signal: AbortSignal,
  ): Promise<DynamoCalls[K]['output']> {
    this.attempts.push(kind);
    const isRead = kind === 'get' || kind === 'batchGet' || kind === 'query';
    const accident = isRead ? 'none' : (this.accidents.shift() ?? 'none');
    if (accident === 'none') return this.#driver.attempt(kind, input, signal);
    if (accident === 'throttle')
      throw new DynamoFault('throttled', { code: 'ThrottlingException', message: 'slow down' });
    if (accident === 'conflict')
      throw new DynamoFault('conflict', { code: 'TransactionConflictException', message: 'busy' });
    // The service's response is lost, including a refusal.
    if (accident === 'dropResponse') await this.#driver.attempt(kind, input, signal).catch(() => undefined);
    throw new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' });
  }
}
