/**
 * Conjuncts that refuse nothing alone, and why. They stay: they cost nothing, document the statement, and refuse a row that breaks the
 * reason for their redundancy.
 */
interface Redundant {
  readonly because: string;
  readonly conjuncts: readonly string[];
}

export const REDUNDANT: readonly Redundant[] = [
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
