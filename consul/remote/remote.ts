/** The part of the library that only a gateway needs: leases of holders that speak another protocol and know only a session's id. */
import { LockClient } from '../../shared/coordination/lock/lock-client.ts';
import { createLockStore } from '../../shared/coordination/lock/row/dynamo-lock-store.ts';
import type { LockPorts } from '../../shared/coordination/lock/lock-verdict.ts';
import type { Sender } from '../../shared/dynamo/engine/send.ts';
import { createSessionStore } from '../../shared/session/row/dynamo-session-store.ts';
import { SessionClient } from '../../shared/session/session-client.ts';
import { endIfFailed } from '../health/bound-checks.ts';
import type { CheckStore } from '../health/check-store.ts';
import { createCheckStore } from '../health/row/dynamo-check-store.ts';
import { HealthClient } from '../health/health-client.ts';
import { Prefixes } from './prefixes.ts';
import { RemoteSessions } from './sessions.ts';
import { KeyTransactions } from './transactions.ts';

interface RemotePorts extends Omit<LockPorts, 'endLive'> {
  readonly checks: CheckStore;
}

/** The connection that the stores use. */
interface Foundation extends Pick<LockPorts, 'runtime' | 'gauge'> {
  readonly sender: Sender;
}

export class Remote {
  /** The library's own client of locks, which here judges the checks of holders' sessions. */
  readonly locks: LockClient;
  readonly transactions: KeyTransactions;
  readonly prefixes: Prefixes;
  readonly sessions: RemoteSessions;
  /** All sessions, remote or not. */
  readonly anySessions: SessionClient;
  readonly health: HealthClient;

  static over({ sender, runtime, gauge }: Foundation, options: { table: string; maxClockSkewMs: number }): Remote {
    const { table, maxClockSkewMs } = options;
    const stores = {
      locks: createLockStore(sender, table),
      sessions: createSessionStore(sender, table),
      checks: createCheckStore(sender, table),
    };
    return new Remote({ ...stores, runtime, gauge }, maxClockSkewMs);
  }

  constructor(given: RemotePorts, maxClockSkewMs: number) {
    const ports: LockPorts = { ...given, endLive: (session) => endIfFailed(session, given, maxClockSkewMs) };
    this.locks = new LockClient(ports, maxClockSkewMs);
    this.transactions = new KeyTransactions(ports, maxClockSkewMs);
    this.prefixes = new Prefixes(ports, maxClockSkewMs);
    this.sessions = new RemoteSessions(ports, maxClockSkewMs);
    this.anySessions = new SessionClient(ports, maxClockSkewMs);
    this.health = new HealthClient({ ...given, sessionClient: this.anySessions });
  }
}
