import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import * as sdk from '@aws-sdk/client-lambda';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createStarter } from '../../functions/starter.ts';

const EVENT = { queue: 'q', homeShards: [0] };
const SETTINGS = { attempts: 1, requestTimeoutMs: 200 };

/** As much of the SDK as starts need: its client counts what is under way, and fails what it is told to. */
function sdkThatCounts(isFailing: (call: number) => boolean) {
  const count = { calls: 0, underWay: 0, most: 0 };
  class LambdaClient {
    async send(): Promise<void> {
      const call = count.calls++;
      count.most = Math.max(count.most, ++count.underWay);
      await setImmediate();
      count.underWay--;
      if (isFailing(call)) throw new Error(`call ${call}`);
    }

    destroy(): void {
      // It has no connections.
    }
  }
  return { count, sdk: { ...sdk, LambdaClient: LambdaClient as unknown as typeof sdk.LambdaClient } };
}

describe('a start', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  test('that Lambda takes and never answers fails in its time', async () => {
    const silent = createServer((socket) => {
      socket.resume();
    });
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    vi.stubEnv('AWS_ENDPOINT_URL_LAMBDA', `http://127.0.0.1:${(silent.address() as AddressInfo).port}`);
    vi.stubEnv('AWS_REGION', 'us-east-1');
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
    using starter = createStarter(sdk, SETTINGS);

    await expect(starter.start('worker', EVENT)).rejects.toThrow(/timeout|timed out|did not return a response/i);
    silent.close();
  });

  test('waits while fifty others are under way', async () => {
    const { count, sdk: counting } = sdkThatCounts(() => false);
    using starter = createStarter(counting, SETTINGS);

    await Promise.all(Array.from({ length: 120 }, () => starter.start('worker', EVENT)));

    expect(count).toEqual({ calls: 120, underWay: 0, most: 50 });
  });

  test('that fails stops none of the others', async () => {
    const { count, sdk: counting } = sdkThatCounts((call) => call === 0);
    using starter = createStarter(counting, SETTINGS);

    const starts = await Promise.allSettled(Array.from({ length: 120 }, () => starter.start('worker', EVENT)));

    expect(starts.filter(({ status }) => status === 'rejected')).toHaveLength(1);
    expect(count.calls).toBe(120);
  });
});
