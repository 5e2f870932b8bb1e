/** Events of a worker for observers; never needed for correctness. */
import { messageOf } from '../../core/errors.ts';
import type { TaskLog } from '../task/context.ts';
import { observed } from '../task/context.ts';
import type { Settlement } from './settle.ts';
import type { ReadyTask, RunningTask, TaskError } from '../task/task.ts';

export interface TaskEvents {
  /** Claimed, or taken over from an expired session. */
  onClaimed?(task: RunningTask, how: { readonly takenOver: boolean }): unknown;
  /** The claim ended in this worker. */
  onSettled?(task: RunningTask, settlement: Settlement): unknown;
  /** The task is dead because it used up its attempts by crashing its workers or outliving them. */
  onDied?(task: RunningTask, error: TaskError): unknown;
  /** The task was dropped, because no worker started it in time. */
  onExpired?(task: ReadyTask): unknown;
}

/** Calls event handlers; an error is logged and stops nothing. */
export function tell(events: TaskEvents | undefined, log: TaskLog, say: (events: TaskEvents) => unknown): void {
  if (events === undefined) return;
  observed(
    () => say(events),
    (error) => log.error('event handler failed', { error: messageOf(error) }),
  );
}
