import type { PermitRecord, SemaphoreRecord } from '../semaphore.ts';
import type { EvictionRequest, SemaphoreStore } from '../semaphore-store.ts';
import { createDeclaringStore } from './declaring-store.ts';
import { decodeSemaphore } from './semaphore-codec.ts';
import { semaphoreName } from '../../../dynamo/engine/keys.ts';
import { Rows } from '../../../dynamo/engine/rows.ts';
import type { Sender } from '../../../dynamo/engine/send.ts';
import { notingTimes } from '../../../dynamo/engine/statement.ts';
import { closedFrom } from '../../../session/session-record.ts';
import * as statements from './semaphore-statements.ts';

export function createSemaphoreStore(sender: Sender, table: string): SemaphoreStore {
  const rows = new Rows(sender, decodeSemaphore);
  return {
    ...createDeclaringStore(sender, table),

    admit: (semaphore, claim, stamp, limits) =>
      rows.write(statements.admitHolder(table, semaphore, claim, stamp), stamp, limits),

    queue: (name, ticket, stamp, limits) =>
      rows.write(statements.queueTicket(table, name, ticket, stamp), stamp, limits),

    release: (name, given, stamp, limits) =>
      rows.write(statements.releaseHolder(table, name, given, stamp), stamp, limits),

    forgo: (name, claim, stamp, limits) => rows.write(statements.forgoClaim(table, name, claim, stamp), stamp, limits),

    async evict(name, permit, eviction, stamp) {
      const times = new Set([stamp.now]);
      const { evictLiveHolder, evictHolder } = statements;
      const result = eviction.isLive
        ? await sender.transact(notingTimes(evictLiveHolder(table, name, permit, eviction, stamp), times), stamp.nonce)
        : await sender.write(notingTimes(evictHolder(table, name, permit, eviction, stamp), times), stamp.nonce);
      if (result.kind === 'applied' && !result.late)
        return { kind: 'applied', closedUntil: closedFrom(result.restampedAt ?? stamp.now, eviction) };
      const isDecided = result.kind === 'canceled' || (result.kind === 'refused' && result.earlierAttempt === 'none');
      if (isDecided) return { kind: 'refused', earlierAttempt: 'none' };
      const found = result.item && decodeSemaphore(result.item);
      if (found === undefined) return { kind: 'refused', earlierAttempt: 'unknown' };
      if (!isEvictedBy(found, permit, eviction, times)) {
        // The row would have our record, unless another permit was evicted since.
        const isOverwritten = found.lastEviction !== undefined && found.lastEviction.token !== permit.token;
        return { kind: 'refused', earlierAttempt: isOverwritten ? 'unknown' : 'none' };
      }
      const left = found.holders.find(({ token }) => token === permit.token);
      return { kind: 'applied', closedUntil: left?.closedUntil ?? 0 };
    },

    async page(prefix, after) {
      const { Items = [], LastEvaluatedKey } = await sender.read(statements.pageOfSemaphores(table, prefix, after));
      return {
        names: Items.map(({ pk, sk }) => semaphoreName({ pk: String(pk), sk: String(sk) })),
        next: LastEvaluatedKey,
      };
    },
  };
}

/**
 * An attempt with a lost response is recognized by the record that it wrote, even if the permit is gone by now, because a permit is evicted
 * only once.
 */
function isEvictedBy(
  { lastEviction }: SemaphoreRecord,
  permit: PermitRecord,
  { by, reason }: EvictionRequest,
  times: ReadonlySet<number>,
): boolean {
  return (
    lastEviction !== undefined &&
    lastEviction.session === permit.session &&
    lastEviction.token === permit.token &&
    lastEviction.by === by &&
    lastEviction.reason === reason &&
    times.has(lastEviction.at)
  );
}
