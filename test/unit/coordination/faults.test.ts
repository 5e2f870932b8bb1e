/**
 * Each request of each verb meets each accident, once: what the verb then answers, and what the table holds half a minute later.
 *
 * `lost`: the answer is lost once. `away`: the request does not arrive, and the store is away until the verb has ended.
 * `lost, away`: it is applied, and then the store is away. `rival`: another process is faster.
 * A verb that ended with an error is then called again.
 *
 * After an intended change: `npx vitest run test/unit/coordination/faults.test.ts -u`, and read the difference.
 */
import { expect, test } from 'vitest';
import type { Session } from '../../../shared/client/session.ts';
import { DynamoFault } from '../../../shared/dynamo/engine/driver.ts';
import { passTime } from '../../support/coordination.ts';
import { Story, shown } from '../../support/story.ts';

const SECOND = 1_000;
const STARTS_AT = Date.parse('2026-03-01T12:00:00Z');
const BY = { by: 'ann', reason: 'it hangs' };
const FULL = { limit: 1 };
const RATE = { rate: 1, per: '1s', burst: 3 } as const;

interface Scene extends Pick<Story, 'here' | 'there' | 'pass'> {
  readonly mine: Session;
  readonly theirs: Session;
}

type Act<Given> = (scene: Scene, given: Given) => Promise<unknown>;

interface Verb {
  /** Before the verb, without accidents. */
  readonly prepare: (scene: Scene) => Promise<unknown>;
  readonly act: Act<never>;
  /** What another process does before the request arrives. */
  readonly rival: Act<never> | undefined;
}

function verb<Given>(prepare: (scene: Scene) => Promise<Given>, act: Act<Given>, rival?: Act<Given>): Verb {
  return { prepare, act, rival };
}
const nothing = () => Promise.resolve();
/** The other process stops without a word, and its session expires. */
const dies = async ({ there, pass }: Scene): Promise<void> => {
  there.driver.isDown = true;
  await pass(52 * SECOND);
};
const takes = ({ theirs }: Scene) => theirs.tryLock('k');
const forces = async ({ there }: Scene) => {
  const { leaseCounter = 0 } = (await there.leasehold.locks.get('k')) ?? {};
  return there.leasehold.locks.forceRelease('k', { ...BY, leaseCounter, lockDelay: '3s' });
};
const puts = ({ there }: Scene) => there.leasehold.locks.put('k', 'theirs', { evenIfHeld: true });
const holdsLock = ({ mine }: Scene) => mine.lock('k', { value: 'v' });
const theyHoldLock = ({ theirs }: Scene) => theirs.lock('k', { value: 'v' });
const holdsPermit = ({ mine }: Scene) => mine.permit('s', { limit: 2 });
const group = ({ here }: Scene) => here.leasehold.waitGroup('g');
const members = (count: number) => Array.from({ length: count }, (_, at) => `m${String(at).padStart(3, '0')}`);
const check = ({ here }: Scene) => here.leasehold.health.register('n1', 'disk', { ttl: '1h' });
const bound = async (scene: Scene) => {
  const given = await check(scene);
  await scene.here.leasehold.session({ ttl: '2m', node: 'n1', checks: ['disk'] });
  return given;
};

const LOCKS: Readonly<Record<string, Verb>> = {
  'open a session': verb(nothing, async ({ here }) => (await here.leasehold.session({ ttl: '2m', name: 'late' })).id),
  'renew a session': verb(
    nothing,
    ({ mine }) => mine.renew(),
    ({ there, mine }) => there.leasehold.sessions.destroy(mine.id),
  ),
  'end a session': verb(holdsLock, ({ mine }) => mine.end()),
  'end a session that deletes': verb(
    async ({ here }) => {
      const session = await here.leasehold.session({ ttl: '2m', behavior: 'delete' });
      await session.lock('k', { value: 'v' });
      return session;
    },
    (_scene, session) => session.end(),
    forces,
  ),
  'destroy a session': verb(theyHoldLock, ({ here, theirs }) => here.leasehold.sessions.destroy(theirs.id)),
  lock: verb(nothing, ({ mine }) => mine.tryLock('k', { value: 'v' }), takes),
  'lock a key that was held before': verb(
    async (scene) => (await holdsLock(scene)).release(),
    ({ mine }) => mine.tryLock('k'),
    takes,
  ),
  'lock a key that was freed elsewhere': verb(
    async (scene) => (await theyHoldLock(scene)).release(),
    ({ mine }) => mine.tryLock('k'),
    takes,
  ),
  'take a lock over': verb(
    async (scene) => {
      await theyHoldLock(scene);
      await dies(scene);
      return scene.there.leasehold;
    },
    ({ mine }) => mine.tryLock('k'),
  ),
  'lock again, reentrant': verb(holdsLock, ({ mine }) => mine.tryLock('k', { reentrant: true, value: 'w' }), forces),
  update: verb(holdsLock, (_scene, lock) => lock.update('w', { flags: 5 }), puts),
  'update a lock that is released by force': verb(holdsLock, (_scene, lock) => lock.update('w'), forces),
  release: verb(holdsLock, (_scene, lock) => lock.release({ value: 'last', flags: 3 }), puts),
  'release a lock that is released by force': verb(holdsLock, (_scene, lock) => lock.release(), forces),
  'lock several': verb(nothing, ({ mine }) => mine.tryLockAll(['j', 'k'], { value: 'v' }), takes),
  'lock several, one of them again': verb(
    holdsLock,
    ({ mine }) => mine.tryLockAll(['j', 'k'], { reentrant: true, value: 'w' }),
    forces,
  ),
  put: verb(nothing, ({ here }) => here.leasehold.locks.put('k', 'v', { flags: 2 }), puts),
  'put if it is new': verb(nothing, ({ here }) => here.leasehold.locks.put('k', 'v', { ifIndex: 0 }), puts),
  delete: verb(puts, ({ here }) => here.leasehold.locks.delete('k'), takes),
  'delete while it is held': verb(theyHoldLock, ({ here }) => here.leasehold.locks.delete('k', { evenIfHeld: true })),
  'release by force': verb(
    theyHoldLock,
    ({ here }, { leaseCounter }) => here.leasehold.locks.forceRelease('k', { ...BY, leaseCounter }),
    (_scene, lock) => lock.release(),
  ),
  'read a key of an expired session': verb(
    async (scene) => {
      await theyHoldLock(scene);
      await dies(scene);
    },
    ({ here }) => here.leasehold.locks.get('k'),
  ),
  campaign: verb(
    nothing,
    ({ mine }) => mine.tryCampaign('e', { value: 'here' }),
    ({ theirs }) => theirs.tryCampaign('e'),
  ),
  proclaim: verb(
    ({ mine }) => mine.campaign('e', { value: 'here' }),
    (_scene, leadership) => leadership.proclaim('there'),
  ),
  resign: verb(
    ({ mine }) => mine.campaign('e', { value: 'here' }),
    (_scene, leadership) => leadership.resign(),
  ),
};

const OTHERS: Readonly<Record<string, Verb>> = {
  'take the first permit': verb(
    nothing,
    ({ mine }) => mine.tryPermit('s', FULL),
    ({ theirs }) => theirs.tryPermit('s', FULL),
  ),
  'take a permit': verb(
    async (scene) => (await holdsPermit(scene)).release(),
    ({ mine }) => mine.tryPermit('s', { limit: 2, permits: 2 }),
    ({ theirs }) => theirs.tryPermit('s', { limit: 2 }),
  ),
  'find a semaphore full': verb(
    ({ theirs }) => theirs.permit('s', FULL),
    ({ mine }) => mine.tryPermit('s', FULL),
    (_scene, permit) => permit.release(),
  ),
  'take a permit over': verb(
    async (scene) => {
      await scene.theirs.permit('s', FULL);
      await dies(scene);
    },
    ({ mine }) => mine.tryPermit('s', FULL),
  ),
  'queue for a permit': verb(
    ({ theirs }) => theirs.permit('s', FULL),
    ({ mine }) => mine.permit('s', { ...FULL, fair: true, wait: '1s' }),
  ),
  'release a permit': verb(
    holdsPermit,
    (_scene, permit) => permit.release(),
    ({ there }, { fencingToken: token }) => there.leasehold.semaphores.evict('s', { ...BY, token, lockDelay: '3s' }),
  ),
  'evict a permit': verb(
    ({ theirs }) => theirs.permit('s', FULL),
    ({ here }, { fencingToken: token }) => here.leasehold.semaphores.evict('s', { ...BY, token, lockDelay: '3s' }),
    (_scene, permit) => permit.release(),
  ),
  'set a limit': verb(
    holdsPermit,
    ({ here }) => here.leasehold.semaphores.setLimit('s', 4),
    ({ theirs }) => theirs.tryPermit('s', { limit: 2 }),
  ),
  'declare a new limit': verb(
    nothing,
    ({ here }) => here.leasehold.semaphores.declareLimit('s', 4),
    ({ there }) => there.leasehold.semaphores.declareLimit('s', 5),
  ),
  'add to a limiter': verb(
    nothing,
    ({ mine }) => mine.limiter('l', FULL).add({ wait: '1s' }),
    ({ theirs }) => theirs.limiter('l', FULL).add(),
  ),
  'leave a limiter': verb(
    ({ mine }) => mine.limiter('l', FULL).add(),
    ({ mine }, id) => mine.limiter('l', FULL).done(id ?? ''),
  ),
  "leave another process's limiter": verb(
    ({ theirs }) => theirs.limiter('l', FULL).add(),
    ({ mine }, id) => mine.limiter('l', FULL).done(id ?? ''),
  ),
  'open a wait group': verb(
    nothing,
    async (scene) => (await group(scene)).generation,
    ({ there }) => there.leasehold.waitGroup('g'),
  ),
  'add members': verb(
    group,
    async (_scene, open) => (await open.add(members(100), { seal: true })).length,
    (_scene, open) => open.seal(),
  ),
  'lease a member': verb(
    async (scene) => {
      const open = await group(scene);
      await open.add(['a']);
      return open;
    },
    ({ mine }, open) => open.lease('a', mine),
    ({ theirs }, open) => open.lease('a', theirs),
  ),
  'finish a member': verb(
    async (scene) => {
      const open = await group(scene);
      await open.add(['a']);
      return open;
    },
    (_scene, open) => open.done('a'),
    (_scene, open) => open.done('a'),
  ),
  'wait for members, one of them lost': verb(
    async (scene) => {
      const open = await group(scene);
      await open.add(['a'], { session: scene.theirs.holder });
      await open.add(['b'], { seal: true });
      await open.done('b');
      await dies(scene);
      return open;
    },
    (_scene, open) => open.wait({ wait: '1s' }),
    (_scene, open) => open.done('a'),
  ),
  'begin a generation': verb(
    async (scene) => {
      const open = await group(scene);
      await open.add(0, { seal: true });
      await open.wait();
      return open;
    },
    async (_scene, open) => (await open.next()).generation,
    (_scene, open) => open.next(),
  ),
  'take the first tokens': verb(
    nothing,
    ({ here }) => here.leasehold.rateLimiter('r', RATE).tryTake('k', { tokens: 2 }),
    ({ there }) => there.leasehold.rateLimiter('r', RATE).tryTake('k', { tokens: 2 }),
  ),
  'wait for tokens': verb(
    ({ here }) => here.leasehold.rateLimiter('r', RATE).tryTake('k', { tokens: 3 }),
    ({ here }) => here.leasehold.rateLimiter('r', RATE).take('k', { wait: '3s' }),
    ({ there }) => there.leasehold.rateLimiter('r', RATE).tryTake('k'),
  ),
  'register a check': verb(
    nothing,
    ({ here }) => here.leasehold.health.register('n1', 'disk', { ttl: '1h', note: 'new' }),
    ({ there }) => there.leasehold.health.register('n1', 'disk', { note: 'theirs' }),
  ),
  'report a warning': verb(
    check,
    (_scene, given) => given.warn('slow'),
    ({ there }) => there.leasehold.health.register('n1', 'disk'),
  ),
  'report a failure': verb(bound, (_scene, given) => given.fail('broken')),
  'deregister a check': verb(
    bound,
    (_scene, given) => given.deregister(),
    ({ there }) => there.leasehold.health.register('n1', 'disk'),
  ),
  'deregister a node': verb(bound, ({ here }) => here.leasehold.health.deregisterNode('n1')),
};

const ACCIDENTS = ['lost', 'away', 'lost, away', 'rival'] as const;
type Accident = (typeof ACCIDENTS)[number];

interface Run {
  readonly answer: string;
  readonly verbs: string;
  readonly requests: number;
  readonly again: string | undefined;
  readonly rows: ReadonlyMap<string, string>;
}

const noAnswer = () => new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' });

/** The requests of a second page or of another shard need no accident of their own. */
const MOST_REQUESTS = 5;

async function run({ prepare, act, rival }: Verb, accident?: Accident, at?: number): Promise<Run | undefined> {
  const story = new Story();
  const { here, there, world } = story;
  const mine = await here.leasehold.session({ ttl: '2m', name: 'mine', node: 'n1' });
  const theirs = await there.leasehold.session({ ttl: '20s', lockDelay: '5s', name: 'theirs', node: 'n2' });
  const scene: Scene = { here, there, mine, theirs, pass: (ms) => story.pass(ms) };
  const given = (await prepare(scene)) as never;
  if (accident === 'rival' && rival === undefined) return undefined;

  const attempt = here.driver.attempt.bind(here.driver);
  let requests = 0;
  here.driver.attempt = async (kind, input, signal) => {
    if (++requests !== at) return attempt(kind, input, signal);
    if (accident === 'rival') await rival?.(scene, given);
    const isSent = accident !== 'away';
    const answer = isSent ? await attempt(kind, input, signal) : undefined;
    here.driver.isDown = accident === 'away' || accident === 'lost, away';
    if (accident === 'rival') return answer!;
    throw noAnswer();
  };
  const tell = async (): Promise<string> => brief(shown(await act(scene, given)));
  /** Without its words, which `answers.test.ts` tells. */
  const named = (error: unknown): string => {
    const { name, message: _, stack: __, cause: ___, ...facts } = error as Error;
    return `${name} ${brief(shown(facts))}`;
  };
  const outcome = { answer: '', isError: false };
  const { verbs } = await here.cost(async () => {
    outcome.answer = await passTime(world, tell()).catch((error: unknown) => {
      outcome.isError = true;
      return named(error);
    });
  });
  here.driver.isDown = false;
  here.driver.attempt = attempt;
  const isRepeated = outcome.isError && accident !== undefined;
  const again = isRepeated ? await passTime(world, tell()).catch(named) : undefined;
  await story.pass(30 * SECOND);
  return {
    answer: outcome.answer,
    verbs: shown(Object.keys(verbs).sort()),
    requests,
    again,
    rows: rowsOf(world.rows()),
  };
}

/** Moments count from the start. */
function brief(text: string): string {
  return text
    .replace(/\b1772366\d{6}\b/g, (moment) => `+${Number(moment) - STARTS_AT}`)
    .replaceAll(', signal: AbortSignal { aborted: false }', '')
    .replaceAll(', closedUntil: undefined', '');
}

const NOT_TOLD = new Set(['pk', 'sk', 'v', 'nonce', 'directoryKey', 'directoryName', 'ttl']);

/** Rows by their keys; rows of one partition with the same content are counted. */
function rowsOf(rows: readonly Readonly<Record<string, unknown>>[]): ReadonlyMap<string, string> {
  const told = rows.flatMap((row) => {
    const { pk, sk, status, reason, revoked, checks } = row;
    // Of a session that simply lives, nothing is told.
    if (sk === 'session' && status === 'live' && revoked === undefined && checks === undefined) return [];
    const facts =
      sk === 'session'
        ? { status, reason, revoked, checks }
        : Object.fromEntries(Object.entries(row).filter(([name]) => !NOT_TOLD.has(name)));
    return [[brief(String(pk)), brief(String(sk)), brief(shown(facts))] as const];
  });
  const alike = Map.groupBy(told, ([pk, sk, facts]) => `${pk} ${sk.startsWith('member#') ? `member ${facts}` : sk}`);
  return new Map(
    [...alike].map(([key, [first, ...more]]) => [key, more.length > 0 ? `× ${more.length + 1}` : `${first?.[2]}`]),
  );
}

test.each([
  ['locks', LOCKS],
  ['others', OTHERS],
])('each request of the verbs of %s meets each accident', async (name, verbs) => {
  const lines: string[] = [];
  for (const [what, one] of Object.entries(verbs)) {
    const usual = (await run(one))!;
    lines.push(`${what}: ${usual.verbs}`, `  ${usual.answer}`);
    for (const [key, row] of usual.rows) lines.push(`  ${key} ${row}`);
    for (let at = 1; at <= Math.min(usual.requests, MOST_REQUESTS); at++)
      for (const accident of ACCIDENTS) {
        const met = await run(one, accident, at);
        if (met === undefined) continue;
        lines.push(`${at} ${accident}: ${met.answer === usual.answer ? 'the same' : met.answer}`);
        if (met.verbs !== usual.verbs) lines.push(`  by ${met.verbs}`);
        if (met.again !== undefined) lines.push(`  again: ${met.again === usual.answer ? 'the same' : met.again}`);
        for (const key of new Set([...usual.rows.keys(), ...met.rows.keys()]))
          if (met.rows.get(key) !== usual.rows.get(key)) lines.push(`  ${key} ${met.rows.get(key) ?? 'is not there'}`);
      }
    lines.push('');
  }

  await expect(lines.join('\n')).toMatchFileSnapshot(`./faults.${name}.txt`);
});
