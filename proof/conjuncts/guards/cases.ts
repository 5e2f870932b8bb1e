/** All cases: each conjunct that some late write meets alone. */
import { GROUP_CASES, RATE_CASES } from './coordination.ts';
import { LOCK_CASES, SESSION_CASES } from './locks.ts';
import { JOURNAL_CASES } from './journal.ts';
import { KEY_CASES } from './keys.ts';
import { OTHER_CASES } from './others.ts';
import { FOLLOWER_CASES } from './followers.ts';
import { SEMAPHORE_CASES } from './semaphores.ts';
import { TASK_CASES } from './tasks.ts';

export const CASES = Object.entries({
  ...TASK_CASES,
  ...FOLLOWER_CASES,
  ...JOURNAL_CASES,
  ...LOCK_CASES,
  ...SESSION_CASES,
  ...SEMAPHORE_CASES,
  ...GROUP_CASES,
  ...RATE_CASES,
  ...KEY_CASES,
  ...OTHER_CASES,
});
