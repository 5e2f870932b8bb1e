/** All scenes. A verb of the protocol without one is named by `test/unit/dynamo/statements.test.ts`. */
import { DURABLE } from './durable.ts';
import { CHILDREN, CLAIMS, ENDS } from './ends.ts';
import { RATE_LIMITS, SEMAPHORES, WAIT_GROUPS } from './coordination.ts';
import { ELECTIONS, LOCKS, SESSIONS } from './locks.ts';
import { ADDING, OPERATIONS, REPAIRS } from './operations.ts';
import { QUEUES, SCHEDULES } from './queues.ts';
import { REMOTE } from './remote.ts';
import type { Scene } from './scene.ts';

const COORDINATION: readonly Scene[] = [
  ...SESSIONS,
  ...LOCKS,
  ...ELECTIONS,
  ...SEMAPHORES,
  ...WAIT_GROUPS,
  ...RATE_LIMITS,
];
const TASKS: readonly Scene[] = [
  ...ADDING,
  ...CLAIMS,
  ...ENDS,
  ...CHILDREN,
  ...DURABLE,
  ...OPERATIONS,
  ...QUEUES,
  ...SCHEDULES,
];

export const SCENES: readonly Scene[] = [...COORDINATION, ...TASKS, ...REPAIRS, ...REMOTE];
