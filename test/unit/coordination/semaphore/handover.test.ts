import { expect, test } from 'vitest';
import { createSemaphoreStore } from '../../../../shared/coordination/semaphore/row/dynamo-semaphore-store.ts';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import { createSessionStore } from '../../../../shared/session/row/dynamo-session-store.ts';
import { LeaseLostError } from '../../../../shared/core/errors.ts';
import { sessionTiming } from '../../../../shared/core/lease/timing.ts';
import { systemRuntime } from '../../../../shared/core/runtime/runtime.ts';
import { Permit } from '../../../../shared/coordination/semaphore/permit.ts';
import { noSkewGauge } from '../../../../shared/core/lease/skew.ts';
import { SessionHolder } from '../../../../shared/session/keep-alive.ts';
import { simulatedWorld } from '../../../support/coordination.ts';

test('hands over a permit as lost if its session is lost at the same moment', async () => {
  const { clock, driver, table } = simulatedWorld();
  const runtime = { ...systemRuntime, clock };
  const sender = new Sender({ driver, runtime });
  const session = await SessionHolder.create(
    {
      timing: sessionTiming({ ttlMs: 3_000, lockDelayMs: 0, maxClockSkewMs: 0 }),
      name: 'test',
      node: 'here',
      behaviour: 'release',
    },
    { store: createSessionStore(sender, table), runtime, gauge: noSkewGauge },
  );
  const record = { session: session.id, since: clock.now(), permits: 1, token: 1 };
  // It was not asked for since.
  clock.step(3_000);

  const permit = new Permit(
    'slots',
    record,
    session,
    { runtime, semaphores: createSemaphoreStore(sender, table) },
    noop,
  );

  expect(permit.signal.aborted).toBe(true);
  expect(permit.signal.reason).toBeInstanceOf(LeaseLostError);
});

function noop(): void {}
