/** Lets a crowd call one verb at one moment, in virtual time, and counts what it costs. */
import { noSkewGauge } from '../../shared/core/lease/skew.ts';
import { Leasehold } from '../../shared/client/leasehold.ts';
import type { DynamoDriver } from '../../shared/dynamo/engine/driver.ts';
import { createMeter } from '../../shared/dynamo/engine/meter.ts';
import { Sender } from '../../shared/dynamo/engine/send.ts';
import { MAX_SOCKETS } from '../../shared/dynamo/wire/http.ts';
import { simulatedWorld, TABLE } from '../table.ts';
import type { Scene } from './scenes.ts';

export interface Crowd {
  readonly callers: number;
  readonly processes: number;
  /** Whether requests that meet on a row refuse each other, and partitions and connections have their limits. */
  readonly isStrict: boolean;
}

export interface Measured {
  readonly scene: string;
  readonly callers: number;
  readonly processes: number;
  /** Of a caller. */
  readonly requests: number;
  readonly writeUnits: number;
  readonly readUnits: number;
  readonly lastMs: number;
  readonly errors: readonly string[];
}

export async function measure(scene: Scene, { callers, processes, isStrict }: Crowd): Promise<Measured> {
  const limits = { conflicts: isStrict, writeUnits: isStrict, readUnits: isStrict };
  const world = simulatedWorld({ ...limits, ...(isStrict ? { connections: MAX_SOCKETS } : {}) });
  const meter = createMeter();
  let isCounting = false;
  let requests = 0;
  const members = Array.from({ length: processes }, (_, number) => {
    const { driver: plain, runtime } = world.placeOf(`process-${number}`);
    const driver: DynamoDriver = {
      connections: plain.connections,
      attempt: (...attempt) => {
        if (isCounting) requests++;
        return plain.attempt(...attempt);
      },
    };
    const observer = {
      onAttempt: (attempt: Parameters<typeof meter.onAttempt>[0]) => {
        if (isCounting) meter.onAttempt(attempt);
      },
    };
    const sender = new Sender({ driver, runtime, observer });
    return { runtime, leasehold: new Leasehold({ sender, gauge: noSkewGauge, runtime }, { table: TABLE }) };
  });
  const [{ runtime, leasehold: first }] = members as [(typeof members)[number]];
  return world.run(async () => {
    await scene.before?.(first);
    const calls = await Promise.all(
      Array.from({ length: callers }, (_, number) => {
        const { leasehold, runtime: own } = members[number % processes] ?? { leasehold: first, runtime };
        return scene.ready({ leasehold, number, clock: own.clock, session: () => leasehold.session() });
      }),
    );
    isCounting = true;
    const startedAt = runtime.clock.monotonic();
    const results = await Promise.allSettled(calls.map((call) => call()));
    isCounting = false;
    const { readUnits, writeUnits } = meter.read();
    return {
      scene: scene.name,
      callers,
      processes,
      requests: requests / callers,
      writeUnits: writeUnits / callers,
      readUnits: readUnits / callers,
      lastMs: Math.round(runtime.clock.monotonic() - startedAt),
      errors: results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : [])),
    };
  });
}
