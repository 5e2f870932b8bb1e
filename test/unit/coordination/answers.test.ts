/**
 * What each verb of sessions, locks, elections, semaphores, wait groups and rate limiters answers, whole, over one story:
 * also after an expiry, a forced release, and an answer that was lost.
 *
 * After an intended change: `npx vitest run test/unit/coordination/answers.test.ts -u`, and read the difference.
 */
import { expect, test } from 'vitest';
import type { Lock } from '../../../shared/coordination/lock/lock.ts';
import type { Permit } from '../../../shared/coordination/semaphore/permit.ts';
import type { Session } from '../../../shared/client/session.ts';
import { loseNextAnswer } from '../../support/lost-answer.ts';
import { Story, shown } from '../../support/story.ts';

const SECOND = 1_000;

const lockFacts = ({ key, fencingToken, sequencer, value, flags, modifyIndex, signal }: Lock) => ({
  key,
  fencingToken,
  sequencer,
  value,
  flags,
  modifyIndex,
  signal: signal.aborted ? shown(signal.reason) : 'not aborted',
});
const permitFacts = ({ semaphore, fencingToken, record, permits, signal }: Permit) => ({
  semaphore,
  fencingToken,
  record,
  permits,
  signal: signal.aborted ? shown(signal.reason) : 'not aborted',
});

test('sessions, locks and elections', async () => {
  const story = new Story();
  const { here, there } = story;
  const { locks, sessions, elections } = here.leasehold;
  const tell = story.tell.bind(story);
  const open = (settings = {}) => here.leasehold.session({ ttl: '30s', name: 'mine', node: 'n1', ...settings });
  const mine = await tell('session', open, ({ id }: Session) => id);
  const theirs = await there.leasehold.session({ ttl: '30s', lockDelay: '5s', name: 'theirs', node: 'n2' });
  for (const settings of [
    { ttl: null, heartbeat: '2s' },
    { ttl: '1ms' },
    { ttl: '2d' },
    { lockDelay: '61s' },
    { behavior: 'keep' },
    { checks: ['none'] },
    { heartbeat: '11s' },
    { name: '' },
  ])
    await tell(
      `session ${shown(settings)}`,
      () => open(settings),
      ({ id }: Session) => id,
    );

  const lock = await tell('lock', () => mine.lock('k', { value: 'v1', flags: 7 }), lockFacts);
  await tell('lock again', () => mine.tryLock('k'));
  await tell(
    'lock again, reentrant',
    () => mine.tryLock('k', { reentrant: true }),
    (got) => ({ ...got, lock: got.kind === 'acquired' && lockFacts(got.lock) }),
  );
  await tell('tryLock of another', () => theirs.tryLock('k'));
  await tell('lock of another, with a wait', () => theirs.lock('k', { wait: '3s' }));
  await tell(
    'update',
    () => lock.update('v2', { flags: 9 }),
    () => lockFacts(lock),
  );
  await tell('nextSequence', () => [lock.nextSequence(), lock.nextSequence()]);
  await tell('verify', () => here.leasehold.verify(lock.sequencer));
  await tell('verify, changed', () => here.leasehold.verify(`${lock.sequencer}x`));
  await tell('get', () => locks.get('k'));
  await tell('look', () => locks.look('k'));
  await tell('put on a held key', () => locks.put('k', 'mine'));
  await tell('put on a held key all the same', () => locks.put('k', 'mine', { evenIfHeld: true }));
  await tell('put if it is new', () => locks.put('free', 'x', { ifIndex: 0, flags: 3 }));
  await tell('put if it is new, again', () => locks.put('free', 'y', { ifIndex: 0 }));
  await tell('delete with another index', () => locks.delete('free', { ifIndex: 1 }));
  await tell('delete', () => locks.delete('free'));
  await tell('delete again', () => locks.delete('free'));
  await tell('delete of a held key', () => locks.delete('k'));
  await tell('several, one of them held', () => theirs.tryLockAll(['a', 'k']));
  await tell(
    'several twice',
    () => theirs.tryLockAll(['t', 't']),
    ({ kind }) => kind,
  );
  await tell(
    'no key',
    () => theirs.tryLockAll([]),
    (got) => got.kind,
  );
  const several = await tell(
    'several',
    () => mine.lockAll(['b', 'a']),
    (got) => [...got].map(lockFacts),
  );
  await tell(
    'one of several',
    () => several.get('a'),
    (one) => one?.key,
  );
  await tell(
    'list',
    () => Array.fromAsync(locks.list()),
    (found) => found.map(({ key }) => key),
  );
  await tell('several released', () => several[Symbol.asyncDispose]());
  await tell('force with an old counter', () => locks.forceRelease('k', { leaseCounter: 1, by: 'ann', reason: 'old' }));
  const { fencingToken } = lock;
  await tell('force', () =>
    locks.forceRelease('k', { leaseCounter: fencingToken, by: 'ann', reason: 'it hangs', lockDelay: '4s' }),
  );
  await tell('force of a free key', () =>
    locks.forceRelease('k', { leaseCounter: fencingToken, by: 'ann', reason: 'again' }),
  );
  await tell('force without a name', () => locks.forceRelease('k', { leaseCounter: 1, by: '', reason: 'r' }));
  await tell('tryLock of a key that is closed', () => theirs.tryLock('k'));
  await tell('verify after the force', () => here.leasehold.verify(lock.sequencer));
  await tell('watch', () => locks.watch('k', { index: 1 }));
  await story.pass(11 * SECOND);
  await tell('the lock after a heartbeat', () => lock, lockFacts);
  await tell('update of a lost lock', () => lock.update('v3'));
  await tell('release of a lost lock', () => lock.release());
  await tell('ensureBelief of a lost lock', () => {
    lock.ensureBelief();
  });
  await tell(
    'lock of the other',
    () => theirs.tryLock('k'),
    ({ kind }) => kind,
  );

  const lost = await mine.lock('l', { value: 'kept' });
  loseNextAnswer(here.driver, () => Promise.resolve());
  await tell('release without an answer', () => lost.release({ value: 'last' }));
  await tell('and again', () => lost.release());
  await tell('the key', () => locks.get('l'));

  const first = await tell(
    'campaign',
    () => mine.campaign('e', { value: 'http://here' }),
    (got) => [
      got.term,
      got.fencingToken,
      got.sequencer,
      got.value,
      got.election,
      got.nextSequence(),
      got.signal.aborted,
    ],
  );
  await tell('campaign of another', () => theirs.tryCampaign('e', { value: 'http://there' }));
  await tell('leader', () => elections.get('e'));
  await tell(
    'proclaim',
    () => first.proclaim('http://new'),
    () => first.value,
  );
  await tell('belief', () => {
    first.ensureBelief();
  });
  const seen: unknown[] = [];
  const stop = new AbortController();
  const observing = (async () => {
    for await (const reign of elections.observe('e', { signal: stop.signal })) seen.push(reign);
  })();
  await story.pass(2 * SECOND);
  await tell('resign', () => first.resign());
  await tell('resign again', () => first.resign());
  await story.pass(2 * SECOND);
  await tell('leader after that', () => elections.get('e'));
  await tell(
    'election of the other',
    () => theirs.tryCampaign('e', { value: 'http://there' }),
    ({ kind }) => kind,
  );
  await story.pass(2 * SECOND);
  stop.abort();
  await observing;
  await tell('observed', () => seen);

  await tell('sessions', () => Array.fromAsync(sessions.list()));
  await tell('destroy', () => sessions.destroy(theirs.id));
  await tell('destroy again', () => sessions.destroy(theirs.id));
  await tell('destroy of none', () => sessions.destroy('nobody'));
  await tell('tryLock of a destroyed session', () => theirs.tryLock('z'));
  await tell('renew of a destroyed session', () => theirs.renew());
  await tell(
    'tryLock after the other was destroyed',
    () => mine.tryLock('k'),
    (got) => (got.kind === 'acquired' ? 'acquired' : got),
  );
  await tell(
    'lock, which waits for the lock-delay',
    () => mine.lock('k', { wait: '30s' }),
    ({ key }) => key,
  );
  here.driver.isDown = true;
  await tell('tryLock without a store', () => mine.tryLock('y'));
  await tell('tryLock without a store, after the trust', async () => {
    await story.world.clock.advance(31 * SECOND);
    return mine.tryLock('y');
  });
  here.driver.isDown = false;
  await tell('the session', (): unknown => mine.signal.reason);
  await tell('the row', () => sessions.get(mine.id));

  await expect(story.text).toMatchFileSnapshot('./answers.locks.txt');
});

test('semaphores, limiters, wait groups, rate limiters and health checks', async () => {
  const story = new Story();
  const { here, there } = story;
  const { semaphores, health } = here.leasehold;
  const tell = story.tell.bind(story);
  const mine = await here.leasehold.session({ ttl: '30s', name: 'mine', node: 'n1' });
  const theirs = await there.leasehold.session({ ttl: '30s', lockDelay: '5s', name: 'theirs', node: 'n2' });

  const permit = await tell('permit', () => mine.permit('s', { limit: 3, permits: 2 }), permitFacts);
  await tell('with another limit', () => mine.tryPermit('s', { limit: 2 }));
  await tell('more than there are', () => mine.tryPermit('s', { limit: 3, permits: 4 }));
  await tell('more than are free', () => theirs.tryPermit('s', { limit: 3, permits: 2 }));
  await tell('with a wait', () => theirs.permit('s', { limit: 3, permits: 2, wait: '3s' }));
  await tell('in line', () => theirs.permit('s', { limit: 3, permits: 2, wait: '3s', fair: true }));
  await tell('state', () => semaphores.get('s'));
  await tell('names', () => Array.fromAsync(semaphores.list()));
  await tell('verify', () => semaphores.verify('s', permit.fencingToken));
  await tell('verify of another', () => semaphores.verify('s', permit.fencingToken + 1));
  await tell('check', () => permit.check());
  await tell('a higher limit', () => semaphores.setLimit('s', 5));
  await tell('a limit of none', () => semaphores.setLimit('none', 5));
  const other = await tell('the other', () => theirs.permit('s', { limit: 3, permits: 2 }), permitFacts);
  await tell('the declared limit', () => semaphores.setLimit('s', 'declared'));
  await tell('declare', () => semaphores.declareLimit('s', 4));
  await tell('evict', () =>
    semaphores.evict('s', { token: other.fencingToken, by: 'ann', reason: 'it hangs', lockDelay: '2s' }),
  );
  await tell('evict again', () => semaphores.evict('s', { token: other.fencingToken, by: 'ann', reason: 'it hangs' }));
  await tell('evict without a reason', () =>
    semaphores.evict('s', { token: other.fencingToken, by: 'ann', reason: '' }),
  );
  await tell('state after that', () => semaphores.get('s'));
  await story.pass(11 * SECOND);
  await tell('the evicted permit', () => other, permitFacts);
  await tell('release of the evicted permit', () => other.release());
  loseNextAnswer(here.driver, () => Promise.resolve());
  await tell('release without an answer', () => permit.release());
  await tell('release again', () => permit.release());
  await tell('state at the end', () => semaphores.get('s'));

  const limiter = mine.limiter('l', { limit: 1 });
  const id = await tell('add', () => limiter.add());
  await tell('add to a full limiter', () => limiter.add({ wait: '1s' }));
  await tell('done', () => limiter.done(id ?? ''));
  await tell('done again', () => limiter.done(id ?? ''));

  const group = await tell(
    'wait group',
    () => here.leasehold.waitGroup('g'),
    ({ name, generation }) => ({ name, generation }),
  );
  await tell('add two', () => group.add(['a', 'b']));
  await tell('add one of them again', () => group.add(['b', 'c']));
  await tell('add by number', () => group.add(1));
  await tell('add none', () => group.add(0));
  await tell('lease', () => group.lease('a', theirs));
  await tell('lease of a stranger', () => group.lease('z', theirs));
  await tell('done of a stranger', () => group.done('z'));
  await tell('done', () => group.done('b'));
  await tell('done again', () => group.done('b'));
  await tell('wait', () => group.wait({ wait: '2s' }));
  await tell('seal', () => group.seal());
  await tell('add to a sealed group', () => group.add(['late']));
  await tell('members', () => Array.fromAsync(group.members()));
  await tell(
    'the next generation',
    () => group.next(),
    ({ name, generation }) => ({ name, generation }),
  );
  await tell('a generation that never was', () => here.leasehold.waitGroup('g', { generation: 9 }));
  await here.leasehold.sessions.destroy(theirs.id);
  await group.done('c');
  await tell('wait after its session was destroyed', () => group.wait({ wait: '2s' }));
  await tell('lease of a lost member', () => group.lease('a', mine));

  const rates = await tell(
    'rate limiter',
    () => here.leasehold.rateLimiter('r', { rate: 2, per: '1s', burst: 3 }),
    ({ name }) => name,
  );
  await tell('an untouched key', () => rates.get('k'));
  for (let n = 0; n < 4; n++) await tell('take', () => rates.tryTake('k'));
  await tell('too many tokens', () => rates.tryTake('k', { tokens: 4 }));
  await tell('take, waiting', () => rates.take('k', { wait: '1s' }));
  await tell('take, waiting too briefly', () => rates.take('k', { tokens: 3, wait: '1s' }));
  loseNextAnswer(here.driver, () => Promise.resolve());
  await tell('take without an answer', () => rates.tryTake('other'));
  await tell('tokens left', () => rates.get('other'));

  const check = await tell(
    'register',
    () => health.register('n1', 'disk', { ttl: '10s', note: 'fine' }),
    () => 'a check',
  );
  await tell(
    'register the node',
    () => health.registerNode('n1'),
    () => 'a check',
  );
  await tell('a status that is none', () => health.register('n1', 'x', { status: 'odd' as never }));
  await tell('warn', () => check.warn('slow'));
  await tell('checks', () => Array.fromAsync(health.list('n1')));
  const bound = await here.leasehold.session({ ttl: '30s', checks: ['disk'], node: 'n1' });
  await tell('fail', () => check.fail('broken'));
  await tell('a session that is bound to a failed check', () =>
    here.leasehold.session({ ttl: '30s', checks: ['disk'], node: 'n1' }),
  );
  await story.pass(11 * SECOND);
  await tell('the session that was bound to it', (): unknown => bound.signal.reason);
  await tell('pass', () => check.pass());
  await tell('deregister', () => check.deregister());
  await tell('pass after that', () => check.pass());
  await tell('check', () => health.check('n1', 'disk'));
  await tell('deregister the node', () => health.deregisterNode('n1'));
  await tell('checks after that', () => Array.fromAsync(health.list()));

  await expect(story.text).toMatchFileSnapshot('./answers.others.txt');
});
