/** A right that an operator, or a failed check, revokes goes to another session only after its holder has stopped. */
import { describe, expect, test } from 'vitest';
import { DynamoFault } from '../../../shared/dynamo/engine/driver.ts';
import type { Session } from '../../../shared/client/session.ts';
import type { Process, World } from '../../support/coordination.ts';
import { passTime, simulatedWorld } from '../../support/coordination.ts';

const TTL_MS = 30_000;
const BY = { by: 'ann', reason: 'stuck' };
/** A choice that cannot wait. */
const AT_ONCE = { lockDelay: 0 };
type Delay = Partial<typeof AT_ONCE>;

interface Right {
  readonly signal: AbortSignal;
  readonly fencingToken: number;
}

interface Scene {
  readonly world: World;
  readonly operator: Process;
  readonly session: Session;
  readonly right: Right;
}

type Take = (scene: Scene, delay: Delay) => Promise<unknown>;
type Acquire = (session: Session) => Promise<Right>;

const lock: Acquire = (session) => session.lock('k', { value: 'v', wait: '2m' });
const permit: Acquire = (session) => session.permit('s', { limit: 1, wait: '2m' });

const destroy: Take = ({ operator, session }, delay) => operator.leasehold.sessions.destroy(session.id, delay);
const forceRelease: Take = ({ operator, right }, delay) =>
  operator.leasehold.locks.forceRelease('k', { ...BY, leaseCounter: right.fencingToken, ...delay });
const remove: Take = ({ operator, right: _ }, delay) =>
  operator.leasehold.locks.delete('k', { evenIfHeld: true, ...delay });
const evict: Take = ({ operator, right }, delay) =>
  operator.leasehold.semaphores.evict('s', { ...BY, token: right.fencingToken, ...delay });

/** Writes to session rows are throttled, and nothing else is. */
function throttleSessions({ driver }: Process): void {
  const attempt = driver.attempt.bind(driver);
  driver.attempt = (kind, input, signal) => {
    const { pk = '' } = (input as { readonly Key?: { readonly pk?: string } }).Key ?? {};
    if (kind === 'update' && pk.startsWith('session#'))
      throw new DynamoFault('throttled', { code: 'ThrottlingException', message: 'slow' });
    return attempt(kind, input, signal);
  };
}

/** @returns when another has it, and when its holder stops, in milliseconds since the act, and the act's answer */
async function take(
  acquire: Acquire,
  act: Take,
  options: { readonly delay?: Delay; readonly lockDelay?: string | number; readonly isThrottled?: boolean },
) {
  const { delay = {}, lockDelay = '15s', isThrottled = true } = options;
  const world = simulatedWorld();
  const [here, there, operator] = [world.start(), world.start(), world.start()];
  const session = await here.leasehold.session({ lockDelay } as object);
  const right = await acquire(session);
  const other = await there.leasehold.session({ ttl: '5m' });
  // A heartbeat has renewed it, so its trust does not begin with its row.
  await world.clock.advance(12_000);
  if (isThrottled) throttleSessions(here);
  const at = world.clock.now();
  const answer = await passTime(world, act({ world, operator, session, right }, delay));
  let stopsAt: number | undefined;
  right.signal.addEventListener('abort', () => {
    stopsAt ??= world.clock.now() - at;
  });
  await passTime(world, acquire(other));
  const othersAt = world.clock.now() - at;
  const isTrustedTwice = !right.signal.aborted;
  while (!right.signal.aborted) await world.clock.advance(100);
  return { at, answer, othersAt, isTrustedTwice, stopsAt: stopsAt ?? 0 };
}

describe.each<[string, Acquire, Take]>([
  ['a lock, when its session is destroyed', lock, destroy],
  ['a permit, when its session is destroyed', permit, destroy],
  ['a lock that is released by force', lock, forceRelease],
  ['a lock whose entry is deleted', lock, remove],
  ['a permit that is evicted', permit, evict],
])('%s', (_what, acquire, act) => {
  test.each([0, '5s', '15s'])(
    'is given to no other while its holder trusts it, with a lock-delay of %s',
    async (lockDelay) => {
      const { othersAt, isTrustedTwice, stopsAt } = await take(acquire, act, { lockDelay });

      expect(isTrustedTwice).toBe(false);
      expect(stopsAt).toBeGreaterThan(15_000);
      expect(othersAt).toBeLessThan(TTL_MS + 10_000);
    },
  );

  test('is closed for its lock-delay if that is longer', async () => {
    const { othersAt, stopsAt } = await take(acquire, act, { lockDelay: '45s', isThrottled: false });

    expect(stopsAt).toBeLessThan(10_001);
    expect(othersAt).toBeGreaterThanOrEqual(45_000);
  });
});

describe.each<[string, Acquire, Take]>([
  ['a lock, when its session is destroyed', lock, destroy],
  ['a permit, when its session is destroyed', permit, destroy],
  ['a lock that is released by force', lock, forceRelease],
  ['a lock whose entry is deleted', lock, remove],
  ['a permit that is evicted', permit, evict],
])('%s by an operator who cannot wait', (_what, acquire, act) => {
  test('opens, and the answer says until when its holder may continue', async () => {
    const { at, answer, othersAt, isTrustedTwice, stopsAt } = await take(acquire, act, { delay: AT_ONCE });

    expect(othersAt).toBeLessThan(5_000);
    expect(isTrustedTwice).toBe(true);
    const { trustedUntil, session } = answer as { trustedUntil?: number; session?: { expiresAt?: number } };
    const until = (trustedUntil ?? session?.expiresAt ?? 0) - at;
    expect(until).toBeGreaterThanOrEqual(stopsAt);
    expect(until).toBeLessThan(stopsAt + 2_000);
  });
});

test('a destroyed session that does not know it yet acquires nothing that others get while it trusts itself', async () => {
  const world = simulatedWorld();
  const [here, there, operator] = [world.start(), world.start(), world.start()];
  const [mine, theirs] = [await here.leasehold.session(), await there.leasehold.session({ ttl: '5m' })];
  await operator.leasehold.sessions.destroy(mine.id);
  throttleSessions(here);
  await world.clock.advance(17_000);
  const rights = [await passTime(world, mine.lock('new')), await passTime(world, mine.permit('new', { limit: 1 }))];

  await passTime(world, theirs.lock('new', { wait: '2m' }));
  await passTime(world, theirs.permit('new', { limit: 1, wait: '2m' }));

  expect(rights.map(({ signal }) => signal.aborted)).toEqual([true, true]);
});

test('a renewal between the read of a session and the write that takes its lock lengthens the wait', async () => {
  const world = simulatedWorld();
  const [here, there, operator] = [world.start(), world.start(), world.start()];
  const session = await here.leasehold.session();
  const held = await lock(session);
  const other = await there.leasehold.session({ ttl: '5m' });
  await world.clock.advance(5_000);
  const attempt = operator.driver.attempt.bind(operator.driver);
  let isFirst = true;
  operator.driver.attempt = async (kind, input, signal) => {
    if (kind === 'transactWrite' && isFirst) {
      isFirst = false;
      await session.holder.renew();
      throttleSessions(here);
    }
    return attempt(kind, input, signal);
  };

  await passTime(world, forceRelease({ world, operator, session, right: held }, {}));
  await passTime(world, lock(other));

  expect(held.signal.aborted).toBe(true);
});
