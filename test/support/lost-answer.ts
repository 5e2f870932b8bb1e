/** An answer that is lost, and what happens before its sender asks again. */
import type { DynamoDriver } from '../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../shared/dynamo/engine/driver.ts';

/** The next write through `driver` is applied and not answered; `meanwhile` is over before it is sent again. */
export function loseNextAnswer(driver: DynamoDriver, meanwhile: () => Promise<unknown>): void {
  const attempt = driver.attempt.bind(driver);
  driver.attempt = async (kind, input, signal) => {
    if (kind === 'get' || kind === 'batchGet' || kind === 'query') return attempt(kind, input, signal);
    driver.attempt = attempt;
    await attempt(kind, input, signal);
    await meanwhile();
    throw new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' });
  };
}
