/** The simulated store behind the port that the protocol calls. */
import type { DynamoCalls, DynamoDriver, DynamoKind } from '../../dynamo/engine/driver.ts';
import { DynamoFault } from '../../dynamo/engine/driver.ts';
import type { SimulatedDynamo } from './simulated-dynamo.ts';

/** Answers at once: a request is either done when the call returns its promise, or was never sent. */
export function simulatedDriver(store: SimulatedDynamo): DynamoDriver {
  return {
    async attempt<K extends DynamoKind>(
      kind: K,
      input: DynamoCalls[K]['input'],
      signal: AbortSignal,
    ): Promise<DynamoCalls[K]['output']> {
      if (signal.aborted) {
        throw new DynamoFault('unanswered', { code: 'AbortError', message: 'Request aborted', cause: signal.reason });
      }
      return store.apply(kind, input);
    },
  };
}
