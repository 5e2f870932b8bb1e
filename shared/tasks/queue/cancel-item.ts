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
 * Cancels at once while its pack waits, or before the item begins; through its holder's next heartbeat if it runs, unless it completes
 * first.
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
  // Its own row existed a moment ago, or TTL has deleted it since.
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
 * `cancelled`  it had not begun, or its holder's session had expired: it will not run.
 * `requested`  it runs: its holder learns of it at its next heartbeat, and stops unless it completes first.
 * `ended`      it had already ended, and stays as it is.
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
