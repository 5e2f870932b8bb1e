/** An isolate's actions at a test's request, the same in every runtime: the same calls of `leasehold` and `leasehold/edge`. */
import type { DynamoCalls } from '../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../shared/dynamo/engine/driver.ts';
import { dynamoFence } from '../../../shared/dynamo/dynamo-fence.ts';
import type { LockSession } from '../../../shared/coordination/lock/lock-session.ts';
import type { Lock } from '../../../shared/coordination/lock/lock.ts';
import type { TaskClient } from '../../../shared/tasks/queue/task-client.ts';
import type { RateOptions } from '../../../shared/coordination/ratelimit/bucket.ts';
import type { RateLimiter } from '../../../shared/coordination/ratelimit/rate-limiter.ts';
import type { Verification } from '../../../shared/session/session-contender.ts';
import type { Duration } from '../../../shared/core/validate/duration.ts';

type Update = DynamoCalls['update']['input'];

/** The common part of both entries. */
interface Table {
  readonly table: string;
  readonly tasks: TaskClient;
  session(settings: { readonly ttl: Duration; readonly lockDelay?: Duration }): Promise<LockSession>;
  rateLimiter(name: string, rate: RateOptions): RateLimiter;
  verify(sequencer: string): Promise<Verification>;
}

export interface Tenure {
  readonly token: number;
  readonly sequencer: string;
  /** A write behind its fence, which it has not sent. */
  readonly write: Update;
}

export type Errand =
  | { readonly kind: 'cycles'; readonly key: string; readonly rounds: number }
  | { readonly kind: 'enqueue'; readonly prefix: string; readonly count: number }
  | { readonly kind: 'takes'; readonly name: string; readonly rate: RateOptions; readonly count: number }
  /** Takes the lock and never gives it back. */
  | { readonly kind: 'hold'; readonly key: string }
  /** Waits for the lock, writes behind its fence, and gives it back. */
  | { readonly kind: 'inherit'; readonly key: string }
  | { readonly kind: 'send'; readonly write: Update }
  | { readonly kind: 'verify'; readonly sequencer: string };

export interface Answers {
  readonly cycles: readonly number[];
  readonly enqueue: { readonly created: number; readonly again: boolean; readonly last: unknown };
  readonly takes: readonly string[];
  readonly hold: Tenure;
  /** And what is said of it while it is held. */
  readonly inherit: Tenure & { readonly standing: string };
  readonly send: 'applied' | 'refused';
  readonly verify: string;
}

/** @param send one request of the runtime's own driver */
export async function perform(
  errand: Errand,
  leasehold: Table,
  send: (write: Update) => Promise<unknown>,
): Promise<Answers[Errand['kind']]> {
  switch (errand.kind) {
    case 'cycles': {
      const tokens: number[] = [];
      await using session = await leasehold.session({ ttl: '1m' });
      for (let round = 0; round < errand.rounds; round++) {
        await using lock = await session.lock(errand.key, { wait: '5m' });
        tokens.push(lock.fencingToken);
      }
      return tokens;
    }
    case 'enqueue': {
      const { tasks } = leasehold;
      const numbers = Array.from({ length: errand.count }, (_, n) => n);
      const id = (n: number): string => `${errand.prefix}-${n}`;
      const requests = await Promise.all(numbers.map((n) => tasks.validate('work', { n }, { id: id(n) })));
      const results = await tasks.enqueueAll(requests);
      const { created: again } = await tasks.enqueue('work', { n: 7 }, { id: id(7) });
      const last = (await tasks.get(id(errand.count - 1)))?.input;
      return { created: results.filter((result) => 'created' in result && result.created).length, again, last };
    }
    case 'takes': {
      const limiter = leasehold.rateLimiter(errand.name, errand.rate);
      const kinds: string[] = [];
      for (let n = 0; n < errand.count; n++) kinds.push((await limiter.tryTake('caller')).kind);
      return kinds;
    }
    case 'hold': {
      // It must live until it has its lock, on a busy machine too.
      const session = await leasehold.session({ ttl: '5s', lockDelay: 0 });
      return tenureOf(await session.lock(errand.key), leasehold.table);
    }
    case 'inherit': {
      await using session = await leasehold.session({ ttl: '1m' });
      await using lock = await session.lock(errand.key, { wait: '5m' });
      const tenure = tenureOf(lock, leasehold.table);
      await send(tenure.write);
      return { ...tenure, standing: (await leasehold.verify(lock.sequencer)).kind };
    }
    case 'send':
      try {
        await send(errand.write);
        return 'applied';
      } catch (error) {
        if (error instanceof DynamoFault && error.kind === 'conditionFailed') return 'refused';
        throw error;
      }
    case 'verify':
      return (await leasehold.verify(errand.sequencer)).kind;
  }
}

function tenureOf(lock: Lock, table: string): Tenure {
  const { fencingToken: token, sequencer, key } = lock;
  const write = dynamoFence(lock).update({
    TableName: table,
    Key: { pk: `behind ${key}`, sk: 'mine' },
    UpdateExpression: 'SET theToken = :token',
    ExpressionAttributeValues: { ':token': token },
  });
  return { token, sequencer, write };
}
