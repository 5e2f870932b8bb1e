/**
 * Sessions at the edge: leases that live within one request.
 *
 * | an isolate lacks | consequence for a session |
 * | --- | --- |
 * | timers after the response | its heartbeat ends with the request, and its TTL then ends it: end it before you answer, or within `waitUntil` |
 * | clocks that run while it computes | `signal` and `remainingTrustMs` are as fresh as the last answer of any request: `renew` asks the store, and judges then |
 * | a guaranteed lifetime | others take over after the TTL, as from any crashed process: choose a short one |
 *
 * A write of a stale holder is still refused: its tenure guards it, or your fence does.
 */
import { createHolderLockStore } from '../../coordination/lock/row/dynamo-lock-store.ts';
import { createHolderSessionStore } from '../../session/row/dynamo-session-store.ts';
import { sessionTiming } from '../../core/lease/timing.ts';
import { LockSession } from '../../coordination/lock/lock-session.ts';
import type { Refusal } from '../../coordination/lock/lock-record.ts';
import { SessionLocks } from '../../coordination/lock/session-locks.ts';
import type { SessionEvents } from '../../session/keep-alive.ts';
import { SessionHolder } from '../../session/keep-alive.ts';
import type { Duration } from '../../core/validate/duration.ts';
import { givenMs } from '../../core/validate/duration.ts';
import { validName, validOptions } from '../../core/validate/options.ts';
import { WaiterQueue } from '../../core/wait/waiter-queue.ts';
import type { EdgeConnection } from './edge-connection.ts';
import { validConnection } from './edge-connection.ts';

export interface EdgeSessionSettings {
  /** Lease duration. Absent: 30 s. */
  readonly ttl?: Duration | undefined;
  readonly heartbeat?: Duration | undefined;
  /** How long the session's keys stay closed after the session is lost: 0 to 60 seconds. */
  readonly lockDelay?: Duration | undefined;
  /** Display name; does not have to be unique. Absent: `leasehold`. */
  readonly name?: string | undefined;
  /** Name of the location where it runs. Default: `edge`. */
  readonly node?: string | undefined;
  readonly events?: SessionEvents | undefined;
}

const SETTINGS = ['ttl', 'heartbeat', 'lockDelay', 'name', 'node', 'events'] as const;

/**
 * Opens a session that can only acquire locks, one by one: the smallest bundle with a lease.
 * @throws ConfigurationError when a setting is out of its range, or two settings conflict
 * @throws StoreUnavailableError when the store did not confirm it in time
 * @throws ClockSkewError when the isolate's clock is proven wrong by more than half of the bound
 */
export async function lockSession(
  connection: EdgeConnection,
  settings: EdgeSessionSettings = {},
): Promise<LockSession> {
  const { sender, table, runtime, gauge } = validConnection(connection);
  const stores = { locks: createHolderLockStore(sender, table), sessions: createHolderSessionStore(sender, table) };
  const holder = await openHolder(connection, settings);
  const turns = new WaiterQueue<Refusal>(runtime.clock);
  return new LockSession(holder, new SessionLocks(holder, { ...stores, table, runtime, gauge, turns }));
}

/** The session itself, for features built on it. */
export function openHolder(connection: EdgeConnection, settings: EdgeSessionSettings): Promise<SessionHolder> {
  const { sender, table, runtime, gauge, maxClockSkewMs } = connection;
  const given = validOptions('the settings of a session', settings, SETTINGS);
  const { name = 'leasehold', node = 'edge', events, ttl, heartbeat, lockDelay } = given;
  const options = {
    name: validName('session name', name),
    node: validName('node', node),
    behaviour: 'release' as const,
    timing: sessionTiming({
      ttlMs: givenMs('ttl', ttl),
      heartbeatMs: givenMs('heartbeat', heartbeat),
      lockDelayMs: givenMs('lockDelay', lockDelay),
      maxClockSkewMs,
    }),
  };
  const store = createHolderSessionStore(sender, table);
  return SessionHolder.create(options, { store, runtime, gauge, ...(events && { events }) });
}
