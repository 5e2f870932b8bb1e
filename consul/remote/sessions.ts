/**
 * Remote sessions. Their holders are behind a gateway, speak another protocol, and know only the session's id.
 *
 * Guarantees
 *   - This process does not keep them alive: the holder asks for each renewal, which is one conditional write through any gateway.
 *   - The TTL is a lower bound for renewals through any mix of gateways:
 *     a renewal counts from its receipt by the gateway, a late attempt never
 *     shortens the time that a later renewal has promised, and a contender
 *     waits for the bound on clock differences in addition to the TTL before it ends a session.
 *   - A gateway whose clock is proven wrong refuses the renewal, and the holder renews through another gateway.
 *   - They end like all sessions, in one step, by any contender that finds them expired.
 *     A renewal after the TTL, but before a contender may have
 *     ended the session, is still accepted: the row decides, and all that it holds still belongs to it.
 *
 * Does not guarantee
 *   - A single holder: every caller that knows the id renews it.
 */
import { boundTo, checksOf } from '../health/bound-checks.ts';
import { ensureClockWithin } from '../../shared/core/lease/skew.ts';
import { stampOf } from '../../shared/core/lease/write.ts';
import type { SessionPorts } from '../../shared/session/session-contender.ts';
import { ensureSoundClock, ensureSoundlyOpened } from '../../shared/session/open.ts';
import { settleSession } from '../../shared/session/session-contender.ts';
import { allOf } from '../../shared/core/runtime/all-of.ts';
import { judgeSession } from '../../shared/session/session-record.ts';
import type { LiveSession, SessionRecord } from '../../shared/session/session-record.ts';
import type { NewSession } from '../../shared/session/session-store.ts';

/** The name may be empty. */
interface RemoteSessionSettings extends Pick<NewSession, 'name' | 'node' | 'ttlMs' | 'lockDelayMs' | 'behaviour'> {
  /** Checks of its node that it is bound to. */
  readonly checks: readonly string[];
}

type RenewalResult =
  | { readonly kind: 'renewed'; readonly session: LiveSession }
  /** It has ended, expired, or never was. */
  | { readonly kind: 'gone' }
  /** It is live, and its own holder renews it. */
  | { readonly kind: 'notRemote' };

const RENEWING_NONE = 'renewing no session, whose expiry others would misjudge';

export class RemoteSessions {
  readonly #ports: SessionPorts;
  readonly #maxClockSkewMs: number;

  constructor(ports: SessionPorts, maxClockSkewMs: number) {
    this.#ports = ports;
    this.#maxClockSkewMs = maxClockSkewMs;
  }

  /**
   * One write unit per KB. The caller has checked the settings.
   * @throws ClockSkewError when our clock, by which it expires, is proven wrong by more than half of the bound
   */
  async create({ checks, ...settings }: RemoteSessionSettings): Promise<LiveSession> {
    const { sessions: store, runtime, gauge } = this.#ports;
    const bound = { maxClockSkewMs: this.#maxClockSkewMs };
    for (;;) {
      const id = runtime.ids.unique();
      await ensureSoundClock(id, { store, gauge }, bound);
      const outcome = await store.create({
        ...settings,
        id,
        remote: true,
        consul: boundTo(checks),
        ...stampOf(runtime),
      });
      if (outcome.kind !== 'applied') continue;
      await ensureSoundlyOpened(id, { store, runtime, gauge }, bound);
      return outcome.row;
    }
  }

  /**
   * One conditional write, plus a read of its checks if it has any.
   * @throws ClockSkewError before the write, if our clock is proven wrong by more than half of the bound (the TTL would count from it),
   * or by its answer
   */
  async renew(id: string): Promise<RenewalResult> {
    const { sessions: store, runtime, gauge } = this.#ports;
    const maxClockSkewMs = this.#maxClockSkewMs;
    await ensureSoundClock(id, { store, gauge }, { maxClockSkewMs }, RENEWING_NONE);
    const stamp = stampOf(runtime);
    const outcome = await store.renewRemote({ id, expiredBefore: stamp.now - maxClockSkewMs, ...stamp });
    // The session stays as written, because it may hold keys, and another gateway may still renew it.
    ensureClockWithin(gauge, maxClockSkewMs, RENEWING_NONE);
    if (outcome.kind === 'applied' && checksOf(outcome.row).length === 0)
      return { kind: 'renewed', session: outcome.row };
    const session = await this.liveOf(outcome.kind === 'applied' ? outcome.row : outcome.current);
    if (session === undefined) return { kind: 'gone' };
    // Refused and live: it has no TTL, or was renewed later than this.
    return session.remote === true ? { kind: 'renewed', session } : { kind: 'notRemote' };
  }

  /** The session if it is live, strongly consistent; ends it if it has expired, or if one of its checks has failed. */
  async live(id: string): Promise<LiveSession | undefined> {
    return this.liveOf(await this.#ports.sessions.get(id));
  }

  /**
   * Returns the live ones of sessions that were just read; a session with a failed check ends. Expired ones stay for their contenders.
   */
  async liveAmong(sessions: readonly SessionRecord[]): Promise<readonly LiveSession[]> {
    const now = this.#ports.runtime.clock.now();
    const live = sessions.filter(
      (session): session is LiveSession => judgeSession(session, now, this.#maxClockSkewMs).kind === 'live',
    );
    const ended = await allOf(live.map((session) => this.#ports.endLive?.(session)));
    return live.filter((_, at) => ended[at] === undefined || ended[at].status === 'live');
  }

  /** As `live`, of a session as it was just read. */
  async liveOf(session: SessionRecord | undefined): Promise<LiveSession | undefined> {
    if (session?.status !== 'live') return undefined;
    const standing = await settleSession(session, this.#ports, this.#maxClockSkewMs);
    return standing.kind === 'live' ? session : undefined;
  }
}
