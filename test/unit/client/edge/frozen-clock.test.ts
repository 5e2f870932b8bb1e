/** Trust at the edge, whose clocks do not advance while a program computes, only with each response. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { DynamoCalls, DynamoDriver, DynamoKind } from '../../../../shared/dynamo/engine/driver.ts';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import type { EdgeConnection } from '../../../../shared/client/edge/edge-connection.ts';
import { lockSession } from '../../../../shared/client/edge/edge-sessions.ts';
import { LeaseLostError } from '../../../../shared/core/errors.ts';
import { noSkewGauge } from '../../../../shared/core/lease/skew.ts';
import type { Clock } from '../../../../shared/core/runtime/clock.ts';
import { systemRuntime } from '../../../../shared/core/runtime/runtime.ts';
import { memoryDynamo } from '../../../../shared/testing/memory-table.ts';
import { simulatedDriver } from '../../../../shared/testing/simulated-dynamo/driver.ts';

const TABLE = 'edge';
const TTL_MS = 10_000;
const BOUND_MS = 1_000;

/** The world's clock, and an isolate's view of it: the moment of its last response. Its timers never fire. */
class Isolate {
  readonly connection: EdgeConnection;
  #seen: number;

  constructor(world: { now: number }, store: DynamoDriver, table: string) {
    this.#seen = world.now;
    const clock: Clock = {
      now: () => this.#seen,
      monotonic: () => this.#seen,
      sleep: () => Promise.withResolvers<undefined>().promise,
      after: () => () => undefined,
    };
    const driver: DynamoDriver = {
      attempt: async <K extends DynamoKind>(kind: K, input: DynamoCalls[K]['input'], signal: AbortSignal) => {
        try {
          return await store.attempt(kind, input, signal);
        } finally {
          this.#seen = world.now;
        }
      },
    };
    const runtime = { ...systemRuntime, clock };
    this.connection = {
      table,
      queue: undefined,
      shards: 1,
      maxClockSkewMs: BOUND_MS,
      gauge: noSkewGauge,
      runtime,
      sender: new Sender({ driver, runtime }),
    };
  }
}

describe('a session with a clock that stops between answers', () => {
  let world: { now: number };
  let open: () => Isolate;

  beforeEach(() => {
    const moment = { now: Date.parse('2026-11-22T12:00:00Z') };
    const store = simulatedDriver(memoryDynamo(TABLE, () => moment.now));
    world = moment;
    open = () => new Isolate(moment, store, TABLE);
  });

  const sessionIn = (isolate: Isolate) => lockSession(isolate.connection, { ttl: TTL_MS, lockDelay: 0 });

  test('judges trust by the response to renew, not by elapsed computing', async () => {
    const session = await sessionIn(open());
    world.now += TTL_MS + 1;

    // By its own clock not a moment has passed.
    expect(session.signal.aborted).toBe(false);
    await expect(session.renew()).rejects.toThrow(LeaseLostError);
    expect(session.signal.aborted).toBe(true);
  });
});
