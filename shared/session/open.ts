/**
 * Opens a session with one write, and checks that its holder can trust it.
 * A process whose clock is proven wrong cannot open a session.
 * Otherwise others would find its sessions expired at once and take over its tasks, each at the cost of an attempt,
 * or would wait long after it has crashed.
 */
import { StoreUnavailableError } from '../core/errors.ts';
import type { SkewGauge } from '../core/lease/skew.ts';
import { ensureClockWithin } from '../core/lease/skew.ts';
import { stampOf } from '../core/lease/write.ts';
import type { SessionTiming } from '../core/lease/timing.ts';
import { trustDurationMs } from '../core/lease/timing.ts';
import type { TrustWindow } from '../core/lease/trust.ts';
import { momentOf, remainingTrustMs } from '../core/lease/trust.ts';
import type { Runtime } from '../core/runtime/runtime.ts';
import type { LiveSession, SessionBehavior } from './session-record.ts';
import type { HolderSessionStore } from './session-store.ts';

export interface SessionOptions {
  readonly timing: SessionTiming;
  readonly name: string;
  readonly node: string;
  readonly codeVersion?: string | undefined;
  readonly behaviour: SessionBehavior;
  /** Default: true. */
  readonly listed?: boolean | undefined;
}

export interface OpeningPorts {
  readonly store: HolderSessionStore;
  readonly runtime: Runtime;
  readonly gauge: SkewGauge;
}

const REFUSING = 'opening no session, which others would misjudge';

/**
 * @throws StoreUnavailableError when the store did not confirm it within the trust window
 * @throws ClockSkewError when our clock is proven wrong by more than half of the bound
 */
export async function openSession(
  options: SessionOptions,
  { store, runtime, gauge }: OpeningPorts,
): Promise<{ readonly record: LiveSession; readonly trust: TrustWindow }> {
  const { timing, ...described } = options;
  const id = runtime.ids.unique();
  await ensureSoundClock(id, { store, gauge }, timing);
  const opened = momentOf(runtime.clock);
  const trust: TrustWindow = { opened, durationMs: trustDurationMs(timing) };
  const { ttlMs, lockDelayMs } = timing;
  const nonce = runtime.ids.unique();
  const session = { ...described, id, ttlMs, lockDelayMs, now: opened.wallMs, nonce };
  const outcome = await store.create(session, { budgetMs: ttlMs ?? undefined });
  if (outcome.kind === 'refused' || remainingTrustMs(trust, momentOf(runtime.clock)) <= 0)
    throw new StoreUnavailableError('creating a session took longer than its own TTL; try again', {
      applied: 'unknown',
    });
  await ensureSoundlyOpened(id, { store, runtime, gauge }, timing);
  return { record: outcome.row, trust };
}

/**
 * Checks our clock before the write.
 * @param refusing the refused operation, for the message
 * @throws ClockSkewError when our clock is proven wrong by more than half of the bound
 */
export async function ensureSoundClock(
  id: string,
  { store, gauge }: Pick<OpeningPorts, 'store' | 'gauge'>,
  { maxClockSkewMs }: Pick<SessionTiming, 'maxClockSkewMs'>,
  refusing = REFUSING,
): Promise<void> {
  // The proof may be old, and the clock may have been corrected since then, so a read measures it again.
  if (gauge.provenSkewMs() > maxClockSkewMs / 2) await store.get(id);
  ensureClockWithin(gauge, maxClockSkewMs, refusing);
}

/**
 * Checks our clock after the first write, because its response may be the first one that the process gets.
 * If the clock is proven wrong, the session is ended before it holds anything.
 * @throws ClockSkewError if our clock is proven wrong by more than half of the bound
 */
export async function ensureSoundlyOpened(
  id: string,
  { store, runtime, gauge }: OpeningPorts,
  { maxClockSkewMs }: Pick<SessionTiming, 'maxClockSkewMs'>,
): Promise<void> {
  try {
    ensureClockWithin(gauge, maxClockSkewMs, REFUSING);
  } catch (error) {
    // If there is no response, the session expires.
    await store.invalidate({ id, reason: 'ended', ...stampOf(runtime) }).catch(() => undefined);
    throw error;
  }
}
