/** Cancels one item of a pack. */
import { stampOf } from '../../core/lease/stamp.ts';
import { settleSession } from '../../session/session-contender.ts';
import type { TaskKey, TaskState } from '../task/task.ts';
import { isOpen, isPack, parseItemId } from '../task/pack.ts';
import type { SkewGauge } from '../../core/lease/skew.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { SessionStore } from '../../session/session-store.ts';
import type { TaskOperatorStore } from '../task/task-operator-store.ts';
import type { QueueStore } from '../task/queue-store.ts';
import type { TaskAndPackStore } from '../bulk/pack-store.ts';

/**
 * Cancels an item at once if its pack waits or the item has not started. If it runs, the holder learns of it at its next heartbeat, and the
 * item may complete first.
 * @returns undefined if the pack has changed since: read it again
 */
export async function cancelItem(
  key: TaskKey,
  ports: OperatorPorts,
  maxClockSkewMs: number,
): Promise<CancelReport | undefined> {
  const place = parseItemId(key);
  const pack = place === undefined ? undefined : await ports.tasks.get(place.pack);
  if (place === undefined || pack === undefined || !isPack(pack)) return { kind: 'missing' };
  const { index } = place;
  if (index >= pack.input.length) return { kind: 'missing' };
  if (pack.bulk.done.has(index)) return { kind: 'ended', state: 'done' };
  if (pack.bulk.cancelled.has(index)) return { kind: 'ended', state: 'cancelled' };
  // Its own row existed a moment ago; TTL may have deleted it since then.
  if (!isOpen(pack.bulk, index)) return { kind: 'missing' };
  const { bulk } = ports.tasks;
  const stamp = stampOf(ports.runtime);
  switch (pack.state) {
    case 'ready':
      return (await bulk.cancelItem(pack, index, stamp)).kind === 'applied' ? { kind: 'cancelled' } : undefined;
    case 'running': {
      const standing = await settleSession(await ports.sessions.get(pack.session), ports, maxClockSkewMs);
      if (standing.kind === 'free' || standing.kind === 'closed')
        return (await bulk.cancelItem(pack, index, stamp)).kind === 'applied' ? { kind: 'cancelled' } : undefined;
      const { kind } = await bulk.cancelRunningItem(pack, index, stamp);
      return kind === 'applied' ? { kind: 'requested', session: pack.session } : undefined;
    }
    default:
      return { kind: 'ended', state: pack.state };
  }
}

/**
 * `cancelled`  the item had not started, or its holder's session had expired: it will not run.
 * `requested`  the item runs: its holder learns of the request at its next heartbeat, and stops it unless it completes first.
 * `ended`      the item had already ended, and stays as it is.
 */
export type CancelReport =
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'requested'; readonly session: string }
  | { readonly kind: 'ended'; readonly state: TaskState }
  | { readonly kind: 'missing' };
export interface OperatorPorts {
  readonly tasks: TaskAndPackStore;
  readonly operations: TaskOperatorStore;
  readonly queues: QueueStore;
  readonly sessions: SessionStore;
  readonly runtime: Runtime;
  readonly gauge: SkewGauge;
}
