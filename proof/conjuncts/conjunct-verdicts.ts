/**
 * The verdict on each conjunct of each guard: a late write that it alone refuses (`proof/conjuncts/guards`), or why it is redundant.
 *
 * Redundant ones stay. They cost nothing, document the statement, and refuse a row that breaks the reason for their redundancy.
 */
import { CASES } from './guards/cases.ts';

interface Redundant {
  readonly because: string;
  readonly conjuncts: readonly string[];
}

const REDUNDANT: readonly Redundant[] = [
  {
    because:
      '`#leaseCounter` with `#state`: each claim raises the counter, so a task that runs under this counter runs under the session of that claim',
    conjuncts: [
      ...['task.complete', 'task.commit', 'task.discard', 'task.giveUp', 'task.retry', 'task.release', 'task.snooze'],
      ...['task.progress', 'task.bar', 'task.wait', 'task.promote'],
      ...['task.checkpoint', 'task.spill', 'task.suspend'],
    ].map((verb) => `${verb}: #session = :session`),
  },
  {
    because: '`#session`: a task that does not run has none',
    conjuncts: ['task.promote: #state = :running'],
  },
  {
    because: '`#leaseCounter` with `#state`: as those of a holder',
    conjuncts: ['task.takeOver', 'task.markDead', 'task.cancel', 'task.requestCancel'].map(
      (verb) => `${verb}: #session = :observedSession`,
    ),
  },
  {
    because: '`#nonce`: every write that changes the state of a task stamps its own, and the caller has seen the state',
    conjuncts: [
      ...[
        'task.claim',
        'task.join',
        'task.cancel',
        'task.expire',
        'task.replace',
        'task.reschedule',
        'task.follow',
        'task.promote',
      ].map((verb) => `${verb}: #state = :ready`),
      ...['task.revive', 'task.renew'].map((verb) => `${verb}: #state = :observedState`),
    ],
  },
  {
    because: '`#nonce`: every write that raises the counter of a task stamps its own',
    conjuncts: ['task.claim', 'task.join'].map((verb) => `${verb}: #leaseCounter = :observedCounter`),
  },
  {
    because: '`#nonce`: every write that changes the holder of a lock, or its counter, stamps its own',
    conjuncts: ['lock.update: #session = :session', 'lock.update: #leaseCounter = :counter'],
  },
  {
    because: '`#nonce`: what ends a session stamps its own',
    conjuncts: ['session.renew: #status = :live'],
  },
];

/** Guards that histories send, and the scenes do not. */
export const OF_HISTORIES: readonly string[] = [
  ...['(attribute_not_exists(#window) OR #window < :window)', '#window = :window', '#started < :count'].map(
    (conjunct) => `key, SET #v = :v: ${conjunct}`,
  ),
  ...['#state = :ready', '#children = :batch'].map((conjunct) => `task, SET #readyAt = :readyAt: ${conjunct}`),
  ...['task.claim: #expiresAt > :now', 'lock.put: #nonce = :observedNonce', 'lock.acquireAll: #nonce = :observedNonce'],
  'lock, SET #nonce = :nonce: #nonce = :observedNonce',
];

const CASE_NAMES: ReadonlySet<string> = new Set(CASES.map(([conjunct]) => conjunct));

interface Verdict {
  readonly kind: 'killed' | 'redundant';
  readonly by: string;
}

export function verdictOf(conjunct: string): Verdict | undefined {
  if (CASE_NAMES.has(conjunct)) return { kind: 'killed', by: 'proof/conjuncts/guards' };
  const redundant = REDUNDANT.find(({ conjuncts }) => conjuncts.includes(conjunct));
  return redundant && { kind: 'redundant', by: redundant.because };
}

/** All that have one. */
export const JUDGED: readonly string[] = [...CASE_NAMES, ...REDUNDANT.flatMap(({ conjuncts }) => conjuncts)];
