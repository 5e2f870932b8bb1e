/** The needs of every operator action. */
import type { SkewGauge } from '../../core/lease/skew.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { SessionStore } from '../../session/session-store.ts';
import type { QueueStore } from '../task/queue-store.ts';
import type { TaskOperatorStore } from '../task/task-operator-store.ts';
import type { TaskStore } from '../task/task-store.ts';

export interface OperatorPorts {
  readonly tasks: TaskStore;
  readonly operations: TaskOperatorStore;
  readonly queues: QueueStore;
  readonly sessions: SessionStore;
  readonly runtime: Runtime;
  readonly gauge: SkewGauge;
}
