/** Reads and lists the sessions of any process, waits for their end, and ends them. */
import { ConfigurationError } from '../core/errors.ts';
import { pagesOf } from '../core/runtime/take.ts';
import type { Duration } from '../core/validate/duration.ts';
import { givenMs } from '../core/validate/duration.ts';
import { validName, validOptions } from '../core/validate/options.ts';
import { validSignal } from '../core/wait/wait.ts';
import { stampOf } from '../core/lease/write.ts';
import type { SessionPorts } from './session-contender.ts';
import { settleSession } from './session-contender.ts';
import type { InvalidSession, SessionRecord } from './session-record.ts';

export interface DestroyOptions {
  /**
   * How long its keys stay closed. Default: its lock-delay, and as long as its holder may trust them. With less, two holders may trust a
   * key at once.
   */
  readonly lockDelay?: Duration | undefined;
}

export type DestroyResult =
  | { readonly kind: 'destroyed'; readonly session: InvalidSession }
  /** The session had already ended, or does not exist. */
  | { readonly kind: 'gone'; readonly session: SessionRecord | undefined };

/** A session's end is polled about once a second, at one read unit each time. */
const POLL_MS = { min: 750, max: 1_000 };

/** The sessions of any process: read, list, destroy, wait for their end. */
export class SessionClient {
  readonly #ports: SessionPorts;
  readonly #maxClockSkewMs: number;

  constructor(ports: SessionPorts, maxClockSkewMs: number) {
    this.#ports = ports;
    this.#maxClockSkewMs = maxClockSkewMs;
  }

  /** Strongly consistent. Undefined for an unknown id, or after TTL deleted the row weeks after the session's end. */
  get(id: string): Promise<SessionRecord | undefined> {
    return this.#ports.sessions.get(validName('session id', id));
  }

  /**
   * Lists sessions whose name begins with `prefix`, by name: live ones and, for some weeks, expired ones. Eventually consistent.
   * @param onDamaged receives rows that do not decode, which are missing from the list
   */
  async *list(prefix = '', onDamaged?: (error: unknown) => void): AsyncGenerator<SessionRecord> {
    const { sessions } = this.#ports;
    for await (const { ids } of pagesOf((after) => sessions.page(prefix, after))) {
      const records = await sessions.getMany(ids, (_, error) => onDamaged?.(error));
      for (const id of ids) {
        const record = records.get(id);
        if (record !== undefined) yield record;
      }
    }
  }

  /**
   * For operators: ends a session, possibly of another process. Its holder learns of it at the next heartbeat, and trusts it until it
   * would have expired if none gets through; its keys open after that, and after its lock-delay.
   */
  async destroy(id: string, options: DestroyOptions = {}): Promise<DestroyResult> {
    const { lockDelay } = validOptions('the options of destroying a session', options, ['lockDelay']);
    const { sessions, runtime } = this.#ports;
    const outcome = await sessions.invalidate({
      id: validName('session id', id),
      reason: 'destroyed',
      lockDelayMs: givenMs('lockDelay', lockDelay),
      ...stampOf(runtime),
    });
    if (outcome.kind === 'applied') return { kind: 'destroyed', session: outcome.row };
    return { kind: 'gone', session: outcome.current };
  }

  /**
   * Waits for a session's end, and ends it if it expires in the meantime.
   * @returns the ended session; undefined if its row is gone, or if `signal` aborts first
   */
  async waitForEnd(
    id: string,
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<InvalidSession | undefined> {
    const { signal } = validOptions('the options of waiting for the end of a session', options, ['signal']);
    validSignal(signal);
    const { sessions, runtime } = this.#ports;
    while (signal?.aborted !== true) {
      const session = await sessions.get(validName('session id', id));
      if (session?.status !== 'live') return session;
      const standing = await settleSession(session, this.#ports, this.#maxClockSkewMs);
      if (standing.kind === 'damaged')
        throw new ConfigurationError(
          `session ${id} has an implausible expiry: inspect it by hand, and destroy it if its holder is gone`,
        );
      if (standing.kind === 'closed' || standing.kind === 'free') continue;
      await runtime.clock.sleep(POLL_MS.min + (POLL_MS.max - POLL_MS.min) * runtime.random.next(), signal);
    }
    return undefined;
  }
}
