/** Cancelling one item of a page. */
import { stampOf } from '../lease/stamp.ts';
import { settleSession } from '../session/contender.ts';
import type { TaskKey, TaskState } from '../task/task.ts';
import { isOpen, isPage, parseItemId } from '../task/page.ts';
import type { SkewGauge } from '../lease/skew.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { SessionStore } from '../session/store.ts';
import type { TaskOperatorStore } from '../task/operator-store.ts';
import type { QueueStore } from '../task/queue-store.ts';
import type { TaskAndPageStore } from '../bulk/store.ts';

/**
 * At once while its page waits, or while it has not begun; through its holder's next heartbeat if it runs, unless it completes first.
 * @returns undefined when the page moved on meanwhile: look again
 */
export async function cancelItem(
  key: TaskKey,
  ports: OperatorPorts,
  maxClockSkewMs: number,
): Promise<CancelReport | undefined> {
  const place = parseItemId(key);
  const page = place === undefined ? undefined : await ports.tasks.get(place.page);
  if (place === undefined || page === undefined || !isPage(page)) return { kind: 'missing' };
  const { index } = place;
  if (index >= page.input.length) return { kind: 'missing' };
  if (page.bulk.done.has(index)) return { kind: 'ended', state: 'done' };
  if (page.bulk.cancelled.has(index)) return { kind: 'ended', state: 'cancelled' };
  // Its own row was there a moment ago, or has been swept since.
  if (!isOpen(page.bulk, index)) return { kind: 'missing' };
  const { bulk } = ports.tasks;
  const stamp = stampOf(ports.runtime);
  switch (page.state) {
    case 'ready':
      return (await bulk.cancelItem(page, index, stamp)).kind === 'applied' ? { kind: 'cancelled' } : undefined;
    case 'running': {
      const standing = await settleSession(await ports.sessions.get(page.session), ports, maxClockSkewMs);
      if (standing.kind === 'free' || standing.kind === 'closed')
        return (await bulk.cancelItem(page, index, stamp)).kind === 'applied' ? { kind: 'cancelled' } : undefined;
      const { kind } = await bulk.cancelRunningItem(page, index, stamp);
      return kind === 'applied' ? { kind: 'requested', session: page.session } : undefined;
    }
    default:
      return { kind: 'ended', state: page.state };
  }
}

/**
 * `cancelled`  it had not begun, or its holder was dead: it will not run.
 * `requested`  it runs: its holder is told by its next heartbeat, and stops unless it completes first.
 * `ended`      it had ended already, and stays as it is.
 */
export type CancelReport =
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'requested'; readonly session: string }
  | { readonly kind: 'ended'; readonly state: TaskState }
  | { readonly kind: 'missing' };
export interface OperatorPorts {
  readonly tasks: TaskAndPageStore;
  readonly operations: TaskOperatorStore;
  readonly queues: QueueStore;
  readonly sessions: SessionStore;
  readonly runtime: Runtime;
  readonly gauge: SkewGauge;
}
