/** The parts that all endpoints share: the library, the settings and the tokens. */
import { MAX_TTL_MS } from '../../shared/core/lease/timing.ts';
import type { Remote } from '../remote/remote.ts';
import type { Runtime } from '../../shared/core/runtime/runtime.ts';
import type { PrefixIndexes } from './prefix-index.ts';
import type { Polls } from './polls.ts';
import type { TokenBook } from './tokens.ts';
import type { WaitLimits, Waits } from './waits.ts';

export interface GatewaySettings {
  /** Name of the agent that this gateway plays: the node of sessions that name none. */
  readonly node: string;
  readonly datacenter: string;
  /** Bounds on the TTL of sessions. */
  readonly minTtlMs: number;
  readonly maxTtlMs: number;
  /** The library's bound on the difference between any two clocks. */
  readonly maxClockSkewMs: number;
  /** No blocking query waits longer, whatever it asks for. */
  readonly maxWaitMs: number;
  readonly waits: WaitLimits;
}

export const DEFAULT_SETTINGS = {
  datacenter: 'dc1',
  /** As Consul has them. */
  minTtlMs: 10_000,
  maxTtlMs: MAX_TTL_MS,
  maxWaitMs: 600_000,
  waits: { token: 64, address: 64, total: 256 },
} as const;

export interface Gateway {
  /** The library, as far as a gateway needs it. */
  readonly remote: Remote;
  readonly runtime: Runtime;
  readonly settings: GatewaySettings;
  readonly tokens: TokenBook;
  /** The latest index given out for each prefix. */
  readonly indexes: PrefixIndexes;
  /** Polls sessions, checks and nodes for blocking queries. */
  readonly polls: Polls;
  /** Counts the queries that wait. */
  readonly waits: Waits;
  /** Aborts when the gateway closes: no wait lasts longer. */
  readonly closing: AbortSignal;
  readonly onFailure: ReportFailure;
}

/**
 * Told of a request that the gateway could not serve: the store did not answer, or something threw that no caller asked for.
 * The path is without its query, in which clients may send their token.
 */
type ReportFailure = (failure: { readonly method: string; readonly path: string; readonly error: unknown }) => void;

/** Wakes local requests that wait for these keys, or for prefixes of them. */
export function tellWritten({ remote }: Gateway, keys: readonly string[]): void {
  remote.locks.nudge(keys);
  remote.prefixes.nudge(keys);
}

/** Wakes local requests that wait for a session that was just ended, or for a key it held. */
export function tellEnded({ remote, polls }: Gateway, session: string): void {
  remote.locks.nudgeHeldBy(session);
  remote.prefixes.nudgeAll();
  polls.nudge();
}
