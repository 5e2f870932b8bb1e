/** Write units of sessions, locks, permits, wait groups, rate limits, and of tasks in order, as the table in memory charges them. */
import type { Session } from '../../shared/client/session.ts';
import type { ReadyTask } from '../../shared/tasks/task/task.ts';
import { claimOf } from '../../shared/tasks/task/task.ts';
import type { Process } from './coordination.ts';
import { simulatedWorld } from './coordination.ts';
import { newTask, numbered, stamp } from './tasks.ts';

/** More holders than a row of 1 KB has room for. */
const MANY = 40;
/** `give-back.ts`: at 8 marks they become one number. */
const MOST_MARKS = 7;

export async function unitsOfRest() {
  const process = simulatedWorld().start();
  const { leasehold } = process;
  const unitsOf = async (work: () => Promise<unknown>): Promise<number> => (await process.cost(work)).writeUnits;
  let session!: Session;
  const createSession = await unitsOf(async () => {
    session = await leasehold.session({ name: 'invocation' });
  });
  const cycleOf = async (key: string, options = {}) => {
    let release!: () => Promise<unknown>;
    const acquire = await process.cost(async () => {
      const lock = await session.lock(key, options);
      release = () => lock.release();
    });
    const given = await process.cost(() => release());
    return { acquire: acquire.writeUnits, release: given.writeUnits, requests: acquire.requests + given.requests };
  };
  const newLock = await cycleOf('report');
  const lock = await cycleOf('report');
  const unlisted = await cycleOf('order-7', { listed: false });
  const permits = await permitUnits(process, session);
  const group = await leasehold.waitGroup('nightly');
  const addOne = await unitsOf(() => group.add(1, { session: session.holder }));
  const member = (await unitsOf(() => group.add(3, { session: session.holder }))) - addOne;
  const [first] = await group.add(1, { session: session.holder });
  const done = await unitsOf(async () => (first === undefined ? undefined : group.done(first)));
  const bucket = leasehold.rateLimiter('api', { rate: 2, per: '1h' });
  await bucket.tryTake('customer-7');
  const token = await unitsOf(() => bucket.tryTake('customer-7'));
  const ordered = await orderedUnits(process);
  const endSession = await unitsOf(() => session.end());
  return {
    session: { create: createSession, end: endSession },
    lock: { ...lock, new: newLock, unlisted },
    permits,
    group: { perMember: member / 2, perRequest: addOne - member / 2, done },
    token,
    ordered,
  };
}

async function permitUnits(process: Process, session: Session) {
  const options = { limit: MANY };
  await (await session.permit('vendor', options)).release();
  let release!: () => Promise<unknown>;
  const acquire = await process.cost(async () => {
    const permit = await session.permit('vendor', options);
    release = () => permit.release();
  });
  const given = await process.cost(() => release());
  for (let marks = 1; marks < MOST_MARKS; marks++) {
    const gone = await process.leasehold.session({ name: 'gone' });
    await (await gone.permit('vendor', options)).release();
  }
  let holders = 0;
  for (let units = acquire.writeUnits; units === acquire.writeUnits; holders++) {
    const holder = await process.leasehold.session({ name: 'holder' });
    units = (await process.cost(() => holder.permit('vendor', options))).writeUnits;
  }
  await session.permit('narrow', { limit: 1 });
  const rival = await process.leasehold.session({ name: 'rival' });
  const full = await process.cost(() => rival.tryPermit('narrow', { limit: 1 }));
  return { acquire: acquire.writeUnits, release: given.writeUnits, full: full.writeUnits, holders: holders - 1 };
}

/** Tasks of one key in strict order, with others that wait. */
async function orderedUnits(process: Process) {
  const {
    leasehold,
    ports: { tasks },
  } = process;
  const inOrder = { key: 'customer-7', ordered: true } as const;
  const enqueue = async (id: string) =>
    (await process.cost(() => leasehold.tasks.enqueue('thumbnail', {}, { id, ...inOrder }))).writeUnits;
  const claim = async (id: string) => {
    const outcome = await tasks.claim((await tasks.get({ queue: 'default', id })) as ReadyTask, 'a session', stamp());
    if (outcome.kind !== 'applied') throw new Error(`${id} was not claimed`);
    return claimOf(outcome.row);
  };
  const end = async (id: string) => {
    const mine = await claim(id);
    return (await process.cost(() => tasks.complete(mine, undefined, stamp()))).writeUnits;
  };
  const spawning = async (id: string, children: readonly object[]) => {
    await leasehold.tasks.enqueue('thumbnail', {}, { id });
    const mine = await claim(id);
    const spawned = children.map((child) => ({ spawn: newTask({ queue: 'default', ...child }) }));
    return (await process.cost(() => tasks.commit(mine, undefined, spawned, numbered()))).writeUnits;
  };
  await enqueue('head');
  const enqueued = await enqueue('second');
  const ended = await end('head');
  const one = (await spawning('one', [{ line: 'a' }])) - (await spawning('plain one', [{}]));
  return { enqueued, ended, spawnedLine: one };
}
