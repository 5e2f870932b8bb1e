/** After a refused signature: whether the next attempt may sign better, and the credentials and date for it. */
import { getEventListeners } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import type { DynamoFaultKind } from '../../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import type { Credentials, Identity } from '../../../../shared/dynamo/wire/credentials.ts';
import { Renewal, reconsidered, unlessAborted } from '../../../../shared/dynamo/wire/credentials.ts';
import { KeptCredentials } from '../../../../shared/dynamo/wire/kept-credentials.ts';

const NOW = Date.parse('2026-11-27T10:00:00Z');
const MINUTE_MS = 60_000;
const AHEAD = 5 * MINUTE_MS;
const OLD: Identity = { accessKeyId: 'AKID', sessionToken: 'old' };

interface Case {
  readonly code: string;
  readonly message?: string;
  readonly kind?: DynamoFaultKind;
  /** How far the service's clock is ahead. */
  readonly aheadMs?: number;
}

async function outcomeOf({ code, message = 'no', kind = 'rejected', aheadMs }: Case, renewed: () => Promise<boolean>) {
  const headers = aheadMs === undefined ? {} : { date: new Date(NOW + aheadMs).toUTCString() };
  const answer = { status: 400, headers, body: new Uint8Array() };
  const [time, credentials] = [vi.fn<(offsetMs: number) => void>(), vi.fn(renewed)];
  const fault = new DynamoFault(kind, { code, message, cause: 'the cause', item: { pk: 'a' } });

  const found = await reconsidered(
    fault,
    { answer, receivedAt: NOW, signal: new AbortController().signal },
    { time, credentials },
  );

  expect(found).toMatchObject({ code, message, item: { pk: 'a' } });
  if (found === fault) expect(time).not.toHaveBeenCalled();
  return [found.kind, time.mock.calls.flat(), credentials.mock.calls.length];
}

describe('a refusal', () => {
  const SKEWED = 'Signature expired: 20261122T000000Z is now earlier than 20261122T000500Z';
  const EARLY = 'Signature not yet current: 20261122T000500Z is still later than 20261122T000000Z';

  test.each<[Case, DynamoFaultKind, readonly number[], number]>([
    [{ code: 'ExpiredToken' }, 'unverified', [], 1],
    [{ code: 'ExpiredTokenException' }, 'unverified', [], 1],
    [{ code: 'InvalidClientTokenId' }, 'unverified', [], 1],
    [{ code: 'UnrecognizedClientException' }, 'unverified', [], 1],
    [{ code: 'ExpiredToken', kind: 'unanswered' }, 'unanswered', [], 0],
    [{ code: 'RequestExpired', aheadMs: AHEAD }, 'unverified', [AHEAD], 0],
    [{ code: 'RequestTimeTooSkewed', aheadMs: -AHEAD }, 'unverified', [-AHEAD], 0],
    // A request that was frozen, or that a proxy kept: this machine's clock is right.
    [{ code: 'RequestExpired', aheadMs: 4 * MINUTE_MS }, 'unverified', [0], 0],
    [{ code: 'RequestExpired' }, 'unverified', [0], 0],
    [{ code: 'InvalidSignatureException', aheadMs: AHEAD }, 'unverified', [AHEAD], 0],
    [{ code: 'SignatureDoesNotMatch', aheadMs: -AHEAD }, 'unverified', [-AHEAD], 0],
    [{ code: 'InvalidSignatureException', aheadMs: 4 * MINUTE_MS }, 'rejected', [], 0],
    [{ code: 'InvalidSignatureException', message: SKEWED, aheadMs: 0 }, 'unverified', [0], 0],
    [{ code: 'SignatureDoesNotMatch', message: EARLY }, 'unverified', [0], 0],
    [{ code: 'SignatureDoesNotMatch' }, 'rejected', [], 0],
    [{ code: 'AccessDeniedException', message: SKEWED, aheadMs: AHEAD }, 'rejected', [], 0],
  ])('%o is %s', async (refusal, kind, offsets, asked) => {
    expect(await outcomeOf(refusal, () => Promise.resolve(true))).toEqual([kind, offsets, asked]);
  });

  test.each<[string, () => Promise<boolean>, DynamoFaultKind]>([
    ['has others', () => Promise.resolve(true), 'unverified'],
    ['has no others', () => Promise.resolve(false), 'rejected'],
    ['fails', () => Promise.reject(new Error('away')), 'unverified'],
  ])('of credentials whose source %s is %3$s', async (_what, renewed, kind) => {
    expect(await outcomeOf({ code: 'ExpiredToken' }, renewed)).toEqual([kind, [], 1]);
  });
});

/** Credentials differ if one part differs. The secret is not sent, so a refusal does not contain it. */
const OTHERS: readonly [string, Credentials, boolean][] = [
  ['the same', { accessKeyId: 'AKID', secretAccessKey: 's', sessionToken: 'old' }, false],
  ['the same with another secret', { accessKeyId: 'AKID', secretAccessKey: 'other', sessionToken: 'old' }, false],
  ['of another key', { accessKeyId: 'AKID2', secretAccessKey: 's', sessionToken: 'old' }, true],
  ['of another session', { accessKeyId: 'AKID', secretAccessKey: 's', sessionToken: 'new' }, true],
  ['without a session', { accessKeyId: 'AKID', secretAccessKey: 's' }, true],
];

test.each(OTHERS)('credentials that are %s are others than the refused ones: %3$s', async (_what, next, areOthers) => {
  const first = { accessKeyId: 'AKID', secretAccessKey: 's', sessionToken: 'old' };
  const asked: unknown[] = [];
  const renewal = new Renewal((options) => {
    asked.push(options?.forceRefresh);
    return Promise.resolve(options?.forceRefresh === true ? next : first);
  });
  const refreshed = new Renewal(() => Promise.resolve(next));
  let provided = 0;
  const kept = new KeptCredentials(
    () => (provided++ === 0 ? first : next),
    () => NOW,
  );
  await kept.current();

  expect(await renewal.finds(OLD)).toBe(areOthers);
  expect(asked).toEqual([undefined, true]);
  expect(await refreshed.finds(OLD)).toBe(areOthers);
  expect(await kept.areOthersThan(OLD)).toBe(areOthers);
  expect(await kept.areOthersThan(OLD)).toBe(areOthers);
  // Another request has renewed them already, so this one does not ask again.
  expect(provided).toBe(areOthers ? 2 : 3);
  expect(await new KeptCredentials(next, () => NOW).areOthersThan(OLD)).toBe(false);
});

test('kept credentials are used until five minutes before their end, and until the end if no others come', async () => {
  let now = NOW;
  const end = NOW + 10 * MINUTE_MS;
  for (const expiration of [end, new Date(end), new Date(end).toISOString()]) {
    now = NOW;
    let asked = 0;
    const provider = () => {
      if (++asked > 1) throw new Error('away');
      return { accessKeyId: 'AKID', secretAccessKey: 's', expiration };
    };
    const kept = new KeptCredentials(provider, () => now);
    const askedAt = async (at: number): Promise<number> => {
      now = at;
      await kept.current();
      return asked;
    };

    expect(await askedAt(NOW)).toBe(1);
    expect(await askedAt(end - 5 * MINUTE_MS - 1)).toBe(1);
    expect(await askedAt(end - 5 * MINUTE_MS)).toBe(2);
    expect(await askedAt(end - 1)).toBe(3);
    await expect(askedAt(end)).rejects.toThrow('away');
  }
});

test('a wait ends with its promise or its signal, and leaves no listener', async () => {
  const { signal } = new AbortController();
  const failing = unlessAborted(Promise.reject(new Error('away')), signal);

  expect(await unlessAborted(Promise.resolve(1), signal)).toBe(1);
  await expect(failing).rejects.toThrow('away');
  expect(getEventListeners(signal, 'abort')).toEqual([]);

  const never = Promise.withResolvers<never>().promise;
  const giving = new AbortController();
  const ended = (wait: Promise<unknown>) =>
    Promise.race([wait.catch((error: unknown) => (error as Error).message), setImmediate('hangs')]);
  const waiting = unlessAborted(never, giving.signal);
  giving.abort();
  expect(await ended(waiting)).toBe('given up while waiting');
  expect(await ended(unlessAborted(never, giving.signal))).toBe('given up while waiting');
});
