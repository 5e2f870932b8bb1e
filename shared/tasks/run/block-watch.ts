/**
 * Tasks that compute: one begins only if the session's trust covers the latest block of the event loop here.
 *
 * Several such tasks, each shorter than the trust, would otherwise run back to back, without a turn of the loop in which the session could
 * be renewed. If the trust is too short, a renewal is confirmed first.
 * A block is measured where code runs until its first `await`; a later one by the heartbeat that it made late.
 */
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import type { TaskLog } from '../task/context.ts';

interface BlockPorts {
  readonly session: Pick<SessionHolder, 'remainingTrustMs' | 'renew' | 'takeLateMs' | 'timing'>;
  readonly runtime: Runtime;
  readonly log: TaskLog;
}

/** Shorter ones cost no trust worth a renewal. */
const SHORTEST_MS = 50;
/** How long a block counts. */
const LATELY_MS = 600_000;
/** How long one task may block, as a share of the TTL. Between two heartbeats the trust is rarely shorter, so few renewals are added. */
const BEARABLE = 0.6;

/** One for each worker, and so for each session. */
const watches = new WeakMap<object, BlockWatch>();

export function blockWatchOf(ports: BlockPorts): BlockWatch {
  const known = watches.get(ports.session) ?? new BlockWatch(ports);
  watches.set(ports.session, known);
  return known;
}

class BlockWatch {
  readonly #ports: BlockPorts;
  #longestMs = 0;
  #longestAt = -Infinity;
  #count = 0;
  /** This is the first code here, so it may compute for as long as we promise to bear. */
  #isFresh = true;

  constructor(ports: BlockPorts) {
    this.#ports = ports;
  }

  /**
   * Calls `code` when the trust covers it, and notes how long it blocks.
   * @throws LeaseLostError
   */
  async run<Result>(
    task: { readonly id: string; readonly name: string },
    code: () => Result,
  ): Promise<Awaited<Result>> {
    const { session, runtime } = this.#ports;
    for (let seen = -1; !this.#isCovered() && seen !== this.#count;) {
      seen = this.#count;
      await session.renew();
      await runtime.clock.sleep(0);
    }
    // No `await` since the check: other code would run, and might block.
    const startedAt = runtime.clock.monotonic();
    const ranMs = (): number => runtime.clock.monotonic() - startedAt;
    session.takeLateMs();
    try {
      const begun = this.#sync(task, code, ranMs);
      return await begun;
    } finally {
      this.#isFresh = false;
      const lateMs = session.takeLateMs();
      if (lateMs > SHORTEST_MS) this.#note(task, Math.min(ranMs(), lateMs + session.timing.heartbeatMs));
    }
  }

  #sync<Result>(task: { readonly id: string; readonly name: string }, code: () => Result, ranMs: () => number): Result {
    try {
      return code();
    } finally {
      this.#note(task, ranMs());
    }
  }

  #isCovered(): boolean {
    const { session, runtime } = this.#ports;
    const bearableMs = (session.timing.ttlMs ?? Infinity) * BEARABLE;
    const isRecent = runtime.clock.monotonic() < this.#longestAt + LATELY_MS;
    const expectedMs = this.#isFresh ? bearableMs : isRecent ? this.#longestMs : 0;
    return session.remainingTrustMs() >= Math.min(expectedMs, bearableMs);
  }

  #note({ id, name }: { readonly id: string; readonly name: string }, blockedMs: number): void {
    if (blockedMs < SHORTEST_MS) return;
    const { runtime, session, log } = this.#ports;
    const now = runtime.clock.monotonic();
    this.#count++;
    if (blockedMs >= this.#longestMs || now >= this.#longestAt + LATELY_MS) {
      this.#longestMs = blockedMs;
      this.#longestAt = now;
    }
    if (blockedMs > session.timing.heartbeatMs)
      log.warn('task blocked the event loop', { task: id, name, blockedMs: Math.round(blockedMs) });
  }
}
