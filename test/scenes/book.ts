/** All scenes. */
import type { SentVerb } from '../../shared/dynamo/engine/verb.ts';
import { DURABLE } from './durable.ts';
import { CHILDREN, CLAIMS, ENDS } from './ends.ts';
import { RATE_LIMITS, SEMAPHORES, WAIT_GROUPS } from './coordination.ts';
import { ELECTIONS, LOCKS, SESSIONS } from './locks.ts';
import { ADDING, OPERATIONS, REPAIRS } from './operations.ts';
import { QUEUES, SCHEDULES } from './queues.ts';
import { REMOTE } from './remote.ts';
import type { Scene } from './scene.ts';

const ALL = [
  ...SESSIONS,
  ...LOCKS,
  ...ELECTIONS,
  ...SEMAPHORES,
  ...WAIT_GROUPS,
  ...RATE_LIMITS,
  ...ADDING,
  ...CLAIMS,
  ...ENDS,
  ...CHILDREN,
  ...DURABLE,
  ...OPERATIONS,
  ...QUEUES,
  ...SCHEDULES,
  ...REPAIRS,
  ...REMOTE,
] as const;

/** Does not compile while a verb has no scene: the error names it. */
type Told<Untold extends never> = readonly Scene<SentVerb | Untold>[];
export const SCENES: Told<Exclude<SentVerb, (typeof ALL)[number]['verb']>> = ALL;
