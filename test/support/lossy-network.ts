import type { DynamoCalls, DynamoKind } from '../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../shared/dynamo/engine/driver.ts';
import type { Process } from './coordination.ts';

/** Loses some of a process's requests; `late`: its writes stay in flight until they are delivered; `lateOnce`: only the next one does. */
export class LossyNetwork {
  fate: 'none' | 'loseAnswer' | 'late' | 'lateOnce' = 'none';
  readonly #late: (() => Promise<unknown>)[] = [];

  /** @param which requests, by their text */
  constructor({ driver }: Process, which: RegExp) {
    const attempt = driver.attempt.bind(driver);
    driver.attempt = async <K extends DynamoKind>(
      kind: K,
      input: DynamoCalls[K]['input'],
      signal: AbortSignal,
    ): Promise<DynamoCalls[K]['output']> => {
      const isRead = kind === 'get' || kind === 'batchGet' || kind === 'query';
      const isSpared = this.fate === 'none' || (this.fate !== 'loseAnswer' && isRead);
      if (isSpared || !which.test(JSON.stringify(input))) return attempt(kind, input, signal);
      if (this.fate === 'loseAnswer') await attempt(kind, input, signal).catch(() => undefined);
      else this.#late.push(() => attempt(kind, input, new AbortController().signal));
      if (this.fate === 'lateOnce') this.fate = 'none';
      throw new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' });
    };
  }

  /** Delivers the requests in flight. @returns how many of the requests were applied */
  async deliver(): Promise<number> {
    const outcomes = await Promise.allSettled(this.#late.splice(0).map((send) => send()));
    return outcomes.filter(({ status }) => status === 'fulfilled').length;
  }
}
