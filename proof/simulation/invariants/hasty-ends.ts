/**
 * Ends that their callers asked to take effect before the holder's trust is over, with a lock-delay of their own.
 * Nothing else excuses two holders that believe at once.
 */
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import type { Applied, Called, RightName } from '../history.ts';
import { isLock, isSemaphore, isSession } from './rule.ts';

export class HastyEnds {
  /** Sessions, and rights by row and counter. */
  readonly #ended = new Set<string>();
  /** By session: its expiry, which its holder's trust does not outlast. */
  readonly #expiries = new Map<string, number>();

  /** @param call the call that the write belongs to */
  note({ row, before, after }: Applied, call: Called | undefined): void {
    if (isSession(row) && after !== undefined) this.#expiries.set(String(after.id), Number(after.expiresAt));
    if (call?.asksDelay !== true) return;
    if (isSession(row) && after?.status === 'invalid' && Number(after.notBefore ?? 0) < Number(after.expiresAt))
      this.#ended.add(String(after.id));
    if (isLock(row) && before?.session !== undefined)
      this.#noteRight(
        { row, token: Number(before.leaseCounter), session: before.session as string },
        Number(after?.notBefore ?? 0),
      );
    if (isSemaphore(row) && call.claim !== undefined) this.#noteRight(call.claim, closedUntilIn(after, call.claim));
  }

  excuses({ row, token, session }: RightName): boolean {
    return this.#ended.has(session) || this.#ended.has(`${row} ${token}`);
  }

  #noteRight({ row, token, session }: RightName, opensAt: number): void {
    if (opensAt < (this.#expiries.get(session) ?? 0)) this.#ended.add(`${row} ${token}`);
  }
}

/** Until when an evicted permit is closed, by the row's picture. */
function closedUntilIn(after: DynamoItem | undefined, { token }: RightName): number {
  const holders = Object.values((after?.holders ?? {}) as Readonly<Record<string, unknown>>);
  const evicted = holders.find(
    (value): value is readonly [number, number] => Array.isArray(value) && value[0] === token,
  );
  return evicted?.[1] ?? 0;
}
