import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { Prng } from '../../test/support/machines/prng.ts';
import type { Fate } from './profile.ts';
import { FATES } from './profile.ts';
import { FaultProxy } from './proxy.ts';

/** The sender's view of one request, and the number of its arrivals at the service. */
type Seen = { readonly answer: number | 'reset' | 'nothing'; readonly arrivals: number };

/** How long a sender without a response waits, counted from the moment when the request has met its fate. */
const PATIENCE_MS = 150;

describe('FaultProxy', () => {
  test.each<{ fate: Fate; seen: Seen; ambiguous: 'applied' | 'lost' | 'not' }>([
    { fate: 'dropRequest', seen: { answer: 'nothing', arrivals: 0 }, ambiguous: 'lost' },
    { fate: 'dropResponse', seen: { answer: 'nothing', arrivals: 1 }, ambiguous: 'applied' },
    { fate: 'delay', seen: { answer: 200, arrivals: 1 }, ambiguous: 'not' },
    { fate: 'duplicate', seen: { answer: 200, arrivals: 1 }, ambiguous: 'not' },
    { fate: 'errorBefore', seen: { answer: 500, arrivals: 0 }, ambiguous: 'lost' },
    { fate: 'errorAfter', seen: { answer: 500, arrivals: 1 }, ambiguous: 'applied' },
    { fate: 'throttle', seen: { answer: 400, arrivals: 0 }, ambiguous: 'not' },
    { fate: 'resetBefore', seen: { answer: 'reset', arrivals: 0 }, ambiguous: 'lost' },
    { fate: 'resetAfter', seen: { answer: 'reset', arrivals: 1 }, ambiguous: 'applied' },
    { fate: 'halfOpen', seen: { answer: 'nothing', arrivals: 0 }, ambiguous: 'lost' },
  ])('makes a write meet $fate', async ({ fate, seen, ambiguous }) => {
    const { proxy, arrivals } = await started({ [fate]: 1 });

    const hasMetIt = (): boolean => proxy.tally.fates[fate] === 1 && arrivals() === seen.arrivals;
    const answer = await write(proxy, 'worker-1', seen.answer === 'nothing' ? hasMetIt : undefined);

    expect({ answer, arrivals: arrivals() }).toEqual(seen);
    expect(proxy.tally.fates[fate]).toBe(1);
    await expect
      .poll(() => proxy.tally.ambiguous)
      .toEqual({
        applied: Number(ambiguous === 'applied'),
        lost: Number(ambiguous === 'lost'),
      });
  });

  test('lets a duplicate arrive later', async () => {
    const { proxy, arrivals } = await started({ duplicate: 1 });

    await write(proxy, 'worker-1');

    await expect.poll(arrivals).toBe(2);
  });

  test('forwards a delayed write even when its sender has given up', async () => {
    const { proxy, arrivals } = await started({ delay: 1 }, { low: 5_000, high: 5_001 });

    expect(await write(proxy, 'worker-1', () => proxy.tally.fates.delay === 1)).toBe('nothing');

    await expect.poll(arrivals).toBe(1);
    await expect.poll(() => proxy.tally.ambiguous.applied).toBe(1);
  });

  test('cuts off one sender and no other, whole or on the way back', async () => {
    const { proxy, arrivals } = await started({});
    proxy.partition('worker-1', 60_000, { oneWay: false });
    proxy.partition('worker-2', 60_000, { oneWay: true });

    expect(await write(proxy, 'worker-1', () => proxy.tally.partitioned === 1)).toBe('nothing');
    expect(arrivals()).toBe(0);
    expect(await write(proxy, 'worker-2', () => arrivals() === 1)).toBe('nothing');
    expect(arrivals()).toBe(1);
    expect(await write(proxy, 'worker-3')).toBe(200);
  });

  test('strikes a sender once, before its write is forwarded or after', async () => {
    const { proxy, arrivals } = await started({});
    const seen: number[] = [];
    const strike = (): void => {
      seen.push(arrivals());
    };

    proxy.ambush('worker-1', 'request', strike);
    await write(proxy, 'worker-1');
    proxy.ambush('worker-1', 'response', strike);
    await write(proxy, 'worker-1');
    await write(proxy, 'worker-1');

    expect(seen).toEqual([0, 2]);
  });

  test('spares the nameless, and everybody once it is healed', async () => {
    const { proxy } = await started({ errorBefore: 1 });

    expect(await write(proxy, undefined)).toBe(200);
    expect(await write(proxy, 'worker-1')).toBe(500);
    proxy.heal();
    expect(await write(proxy, 'worker-1')).toBe(200);
  });
});

async function started(rates: Partial<Record<Fate, number>>, delayMs = { low: 1, high: 10 }) {
  let count = 0;
  const service = createServer((request, response) => {
    count++;
    request.resume();
    response.end('{}');
  });
  service.listen(0, '127.0.0.1');
  await once(service, 'listening');
  const proxy = new FaultProxy({
    upstream: `http://127.0.0.1:${(service.address() as AddressInfo).port}`,
    random: new Prng(1n),
    rates: { ...(Object.fromEntries(FATES.map((fate) => [fate, 0])) as Record<Fate, number>), ...rates },
    delayMs,
  });
  await proxy.start();
  onTestFinished(async () => {
    await proxy.stop();
    service.closeAllConnections();
    service.close();
  });
  return { proxy, arrivals: () => count };
}

/** @param hasMetItsFate for a sender that is to give up: when its patience begins */
async function write(
  proxy: FaultProxy,
  sender: string | undefined,
  hasMetItsFate?: () => boolean,
): Promise<Seen['answer']> {
  const patience = new AbortController();
  const givenUp = (async () => {
    if (hasMetItsFate === undefined) return;
    await expect.poll(hasMetItsFate, { interval: 10 }).toBe(true);
    await pause(PATIENCE_MS);
    patience.abort();
  })();
  try {
    const response = await fetch(proxy.endpoint, {
      method: 'POST',
      headers: {
        'x-amz-target': 'DynamoDB_20120810.PutItem',
        'user-agent': sender === undefined ? 'sdk' : `sdk app/${sender}`,
      },
      body: '{}',
      signal: patience.signal,
    });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return patience.signal.aborted ? 'nothing' : 'reset';
  } finally {
    await givenUp;
  }
}

function pause(ms: number): Promise<void> {
  return systemRuntime.clock.sleep(ms);
}
