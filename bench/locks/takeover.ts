/** How long after its death a holder's key is taken over: the holder acquires and then goes silent. */
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { createStores } from '../../shared/client/stores.ts';
import { stampOf } from '../../shared/core/lease/stamp.ts';
import { createLeasehold } from '../../shared/client/leasehold.ts';
import { systemClock as clock } from '../../shared/core/runtime/clock.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { TABLE } from './contestants.ts';
import type { Acquire, Peer } from './peers.ts';
import { deliveryHero, lockClient } from './peers.ts';
import { median } from '../figures.ts';

const LEASE_MS = 2_000;
/** Early, late, and after the lease is over. */
const ARRIVALS_MS = [100, 1_500, 3_000];
const REPETITIONS = 3;

interface Rescue {
  readonly name: string;
  /** Takes the key and dies. */
  readonly holdForEver: (key: string) => Promise<void>;
  readonly acquire: Acquire;
  readonly close: () => Promise<void> | void;
}

export async function takeovers(endpoint: string): Promise<readonly { name: string; ms: readonly number[] }[]> {
  const peerOptions = [false, true].map((trustsClock) => ({ endpoint, leaseMs: LEASE_MS, trustsClock }));
  const peers = peerOptions.flatMap((options) => [lockClient('FailOpen', options), deliveryHero(options)]);
  const rescues = [await ours(endpoint, 0), await ours(endpoint, 1_000), ...peers.map(rescueOf)];
  const rows = [];
  for (const rescue of rescues) {
    const ms = await Promise.all(ARRIVALS_MS.map((arrivesMs) => medianOf(rescue, arrivesMs)));
    rows.push({ name: rescue.name, ms });
    await rescue.close();
  }
  return rows;
}

async function medianOf(rescue: Rescue, arrivesMs: number): Promise<number> {
  const times = await Promise.all(
    Array.from({ length: REPETITIONS }, async (_, repetition) => {
      const key = `takeover-${rescue.name}-${arrivesMs}-${repetition}`;
      await rescue.holdForEver(key);
      const diedAt = clock.monotonic();
      await clock.sleep(arrivesMs);
      const release = await rescue.acquire(key);
      const ms = clock.monotonic() - diedAt;
      await release();
      return ms;
    }),
  );
  return median(times);
}

/** Without lock-delay, which no other has: this is about noticing. */
async function ours(endpoint: string, maxClockSkewMs: number): Promise<Rescue> {
  const leasehold = createLeasehold({ table: TABLE, endpoint, maxClockSkew: maxClockSkewMs });
  const session = await leasehold.session({ ttl: '1h', lockDelay: 0 });
  const connection = connectDynamo({ endpoint }, systemRuntime);
  const { sessions, locks } = createStores(connection.sender, { table: TABLE, shards: 1 });
  return {
    name: `leasehold, clock bound ${maxClockSkewMs} ms`,
    holdForEver: async (key) => {
      const id = systemRuntime.ids.unique();
      const settings = { name: 'dead', node: 'bench', behaviour: 'release', lockDelayMs: 0, ttlMs: LEASE_MS } as const;
      await sessions.create({ id, ...settings, ...stampOf(systemRuntime) });
      const request = { key, session: id, content: undefined, isListed: true, openBefore: clock.now() };
      await locks.acquire(request, stampOf(systemRuntime));
    },
    acquire: async (key) => {
      const lock = await session.lock(key);
      return async () => {
        await lock.release();
      };
    },
    close: async () => {
      await session.end();
      leasehold.close();
      connection.close();
    },
  };
}

function rescueOf(peer: Peer): Rescue {
  return {
    name: peer.name,
    acquire: peer.acquire,
    close: () => peer.close(),
    holdForEver: async (key) => {
      await peer.acquire(key);
    },
  };
}
