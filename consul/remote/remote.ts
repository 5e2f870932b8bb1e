/** The part of the library that only a gateway needs: leases of holders that speak another protocol and know only a session's id. */
import type { LockPorts } from '../../shared/coordination/lock/lock-verdict.ts';
import { RemoteLocks } from './locks.ts';
import { Prefixes } from './prefixes.ts';
import { RemoteSessions } from './sessions.ts';
import { KeyTransactions } from './transactions.ts';

export class Remote {
  readonly sessions: RemoteSessions;
  readonly locks: RemoteLocks;
  readonly transactions: KeyTransactions;
  readonly prefixes: Prefixes;

  constructor(ports: LockPorts, maxClockSkewMs: number) {
    this.sessions = new RemoteSessions(ports, maxClockSkewMs);
    this.locks = new RemoteLocks(ports, maxClockSkewMs);
    this.transactions = new KeyTransactions(ports, maxClockSkewMs);
    this.prefixes = new Prefixes(ports, maxClockSkewMs);
  }
}
