/** How tasks are claimed, and how an attempt ends: by itself, by its worker's end, or by an operator. */
import type { EnqueueOptions } from '../../shared/tasks/queue/task-client.ts';
import { batchKey } from '../../shared/dynamo/engine/keys.ts';
import { NEVER, waiterOf } from '../../shared/tasks/task/batch.ts';
import type { Claim, RunningTask } from '../../shared/tasks/task/task.ts';
import { claimOf } from '../../shared/tasks/task/task.ts';
import type { Process } from '../support/coordination.ts';
import type { Party, Scene } from './scene.ts';
import { scene } from './scene.ts';
import type { Step } from './steps.ts';
import {
  CANCELLATION,
  ERROR,
  IN_LINE,
  LARGE,
  OF_KEY,
  QUEUE,
  RESULT,
  abandoned,
  all,
  cancels,
  claim,
  end,
  enqueue,
  inAMinute,
  listing,
  newTask,
  numbered,
  overwrite,
  ready,
  running,
  stamped,
  storeOf,
  takeOver,
  taskOf,
} from './steps.ts';

const claimsHere = ({ here, mine }: Party, task: Parameters<ReturnType<typeof storeOf>['claim']>[0]) =>
  storeOf(here).claim(task, mine.id, stamped(here));
/** Another worker claims the task, under a session that lives. */
const isClaimed: Step = async (party) =>
  storeOf(party.there).claim((await taskOf(party)) as never, party.theirs.id, stamped(party.there));

export const CLAIMS = [
  scene('task.claim', 'claim', {
    before: ready(),
    act: claimsHere,
    rivals: { 'another claims it': isClaimed, 'it is cancelled': cancels() },
  }),
  scene('task.claim', 'claim with a place of a key', {
    before: ready(OF_KEY),
    act: claimsHere,
    rivals: { 'another claims it': isClaimed, 'one of its key begins': all(enqueue('u', OF_KEY), claim('u')) },
  }),
  scene('task.claim', 'claim with a rate', {
    before: ready({ key: 'k', rate: { count: 1, per: '1s' } }),
    act: claimsHere,
    rivals: { 'another claims it': isClaimed },
  }),
  scene('task.claim', 'claim with a rate, after another of its key', {
    before: async (party) => {
      await running({ key: 'k', rate: { count: 2, per: '1h' } }, 'first')(party);
      await end('complete', 'first')(party);
      return ready({ key: 'k', rate: { count: 2, per: '1h' } })(party);
    },
    act: claimsHere,
  }),
  scene('task.claim', 'claim one that expires', { before: ready({ expires: '1m' }), act: claimsHere }),
  scene('task.claim', 'claim the head of a line', { before: ready(IN_LINE), act: claimsHere }),
  scene('task.join', 'join the others of a full key', {
    before: async (party) => {
      await running({ key: 'k', limit: 1 }, 'first')(party);
      const task = await ready({ key: 'k', limit: 1, delay: '1ms' })(party);
      await party.pass(10);
      return task;
    },
    act: ({ here }, task) => storeOf(here).join(task, stamped(here)),
    rivals: { 'it is cancelled': cancels() },
  }),
  scene('task.claim', 'claim one of the others', {
    before: async (party) => {
      await running({ key: 'k', limit: 1 }, 'first')(party);
      const task = await ready({ key: 'k', limit: 1, delay: '1ms' })(party);
      await party.pass(10);
      await storeOf(party.there).join(task, stamped(party.there));
      await end('complete', 'first')(party);
      return (await taskOf(party)) as typeof task;
    },
    act: claimsHere,
  }),
  scene('task.takeOver', 'take over', {
    before: abandoned(),
    act: ({ here, mine }, task) => storeOf(here).takeOver(task, mine.id, stamped(here)),
    rivals: { 'another takes it over': takeOver, 'it has ended': end('complete') },
  }),
  scene('task.markDead', 'markDead', {
    before: abandoned(OF_KEY),
    act: ({ here }, task) => storeOf(here).markDead(task, ERROR, stamped(here)),
    rivals: { 'another takes it over': takeOver },
  }),
];

type End = (process: Process, held: Claim) => Promise<unknown>;
const HOW = {
  'task.complete': (process, held) => storeOf(process).complete(held, RESULT, stamped(process)),
  'task.commit': (process, held) => storeOf(process).commit(held, RESULT, [EFFECT(process)], numbered(process)),
  'task.retry': (process, held) =>
    storeOf(process).retry(held, { error: ERROR, readyAt: inAMinute(process) }, stamped(process)),
  'task.discard': (process, held) => storeOf(process).discard(held, ERROR, stamped(process)),
  'task.release': (process, held) => storeOf(process).release(held, stamped(process)),
  'task.snooze': (process, held) => storeOf(process).snooze(held, inAMinute(process), stamped(process)),
  'task.giveUp': (process, held) => storeOf(process).giveUp(held, 'enough', stamped(process)),
  'task.bar': (process, held) => storeOf(process).bar(held, numbered(process)),
  'task.progress': (process, held) => storeOf(process).progress(held, { done: 10 }, numbered(process)),
} as const satisfies Record<string, End>;
function EFFECT({ ports }: Process) {
  return { Put: { TableName: ports.tasks.table, Item: { pk: 'user#1', sk: 'user', bytes: 12_345 } } };
}

type Ending = keyof typeof HOW;

/** An attempt that ends, of a task with these options. */
function ending(verb: Ending, title: string, options: EnqueueOptions = {}, before?: Step): Scene<Ending> {
  return scene(verb, title, {
    before: async (party) => {
      const task = await running(options)(party);
      await before?.(party);
      return claimOf(task);
    },
    act: ({ here }, held: Claim) => HOW[verb](here, held),
    rivals: {
      'it is taken over': takeOver,
      'it is to be cancelled': cancels(),
      'other work follows': enqueue('t', { onDuplicate: 'replace' }, { n: 2 }),
    },
  });
}

const NEXT = enqueue('next', IN_LINE);
const FOLLOWER = enqueue('t', { onDuplicate: 'replace' }, { n: 2 });
const ENDINGS = Object.keys(HOW) as Ending[];

export const ENDS = [
  ...ENDINGS.map((verb) => ending(verb, verb.slice('task.'.length))),
  ...ENDINGS.map((verb) => ending(verb, `${verb.slice('task.'.length)} with a place of a key`, OF_KEY)),
  ...ENDINGS.map((verb) => ending(verb, `${verb.slice('task.'.length)} before others of a line`, IN_LINE, NEXT)),
  ...ENDINGS.map((verb) => ending(verb, `${verb.slice('task.'.length)} with a follower`, {}, FOLLOWER)),
  ending('task.complete', 'complete for a tenant', { tenant: 'acme' }),
  ...(['task.complete', 'task.commit', 'task.discard', 'task.giveUp'] as const).map((verb) =>
    ending(verb, `${verb.slice('task.'.length)} in a queue that lists`, { label: 'order o-7' }, listing),
  ),
  ending('task.retry', 'retry for a tenant', { tenant: 'acme' }),
  ending('task.complete', 'complete as the last of a line', IN_LINE),
  ending('task.complete', 'complete with a follower and a place of a key', OF_KEY, FOLLOWER),
  scene('task.markDead', 'markDead with a follower', {
    before: async (party) => {
      const task = await abandoned()(party);
      await FOLLOWER(party);
      return task;
    },
    act: ({ here }, task) => storeOf(here).markDead(task, ERROR, stamped(here)),
  }),
  scene('failure.keep', 'keep a stack', {
    before: running(),
    act: ({ here }, task) =>
      storeOf(here).keepFailure(claimOf(task), 'Error: x\n    at y'.padEnd(4_000), stamped(here)),
  }),
  scene('failure.get', 'read a stack', {
    before: async (party) => {
      const task = await running()(party);
      await storeOf(party.here).keepFailure(claimOf(task), 'Error: x\n    at y', stamped(party.here));
      return task;
    },
    act: ({ here }, task) => storeOf(here).getFailure(task),
  }),
  scene('payload.put', 'put a large input', {
    before: running(),
    act: ({ here }, task) => storeOf(here).putPayload({ ...task, runAt: 0 }, { text: '"x"' }, stamped(here).nonce),
  }),
  scene('payload.get', 'read a large input', {
    before: running({}, 't', LARGE),
    act: async ({ here }, task) => (await storeOf(here).getPayload(task))?.length,
  }),
  scene('payload.delete', 'delete a large input', {
    before: running({}, 't', LARGE),
    act: ({ here }, task) => storeOf(here).deletePayload(task, task.payload!),
  }),
  scene('task.expire', 'expire', {
    before: async (party) => {
      const task = await ready({ expires: '1s' })(party);
      await party.pass(5_000);
      return task;
    },
    act: ({ here }, task) => storeOf(here).expire(task, stamped(here)),
  }),
  scene('task.expire', 'expire in a queue that lists', {
    before: async (party) => {
      await listing(party);
      const task = await ready({ expires: '1s' })(party);
      await party.pass(5_000);
      return task;
    },
    act: ({ here }, task) => storeOf(here).expire(task, stamped(here)),
  }),
  scene('task.leaveLine', 'pass the turn of a cancelled task in a queue that lists', {
    before: async (party) => {
      await all(listing, enqueue('head', IN_LINE), enqueue('t', IN_LINE), cancels())(party);
      await all(claim('head'), end('complete', 'head'))(party);
      return taskOf(party);
    },
    act: ({ here }, task) => storeOf(here).passTurn(task as never, stamped(here)),
  }),
  scene('task.leaveLine', 'pass the turn of a cancelled task, the last of its line', {
    before: async (party) => {
      await all(enqueue('head', IN_LINE), enqueue('t', IN_LINE), cancels())(party);
      await all(claim('head'), end('complete', 'head'))(party);
      return taskOf(party);
    },
    act: ({ here }, task) => storeOf(here).passTurn(task as never, stamped(here)),
  }),
  scene('task.retry', 'retry at once', {
    before: running(OF_KEY),
    act: ({ here }, task) => storeOf(here).retry(claimOf(task), { error: ERROR, readyAt: 0 }, stamped(here)),
  }),
  scene('task.leaveLine', 'pass the turn of a cancelled task', {
    before: async (party) => {
      await all(enqueue('head', IN_LINE), enqueue('t', IN_LINE), NEXT, cancels())(party);
      await all(claim('head'), end('complete', 'head'))(party);
      return taskOf(party);
    },
    act: ({ here }, task) => storeOf(here).passTurn(task as never, stamped(here)),
  }),
];

const BATCH = { queue: QUEUE, id: 'b' };
const callbackOf = (process: Process) => newTask(process, 'then', { runAt: NEVER, children: BATCH });
const createBatch = (process: Process, total: number) => {
  const callback = callbackOf(process);
  return storeOf(process).createBatch({ ...BATCH, total, waiter: waiterOf(callback) }, callback, stamped(process));
};
const child = (process: Process, id: string, more = {}) => newTask(process, id, { links: { batch: 'b' }, ...more });
/** A batch of these children; the first one runs. */
const firstOf =
  (...ids: readonly string[]) =>
  async (party: Party) => {
    await createBatch(party.there, ids.length);
    for (const id of ids) await storeOf(party.there).enqueue(child(party.there, id), stamped(party.there));
    return claimOf(await claim(ids[0])(party));
  };
const parentOf = async (party: Party): Promise<RunningTask> => {
  const parent = await running()(party);
  const { there } = party;
  await storeOf(there).waitForChildren(claimOf(parent), 'b', [child(there, 'c')], numbered(there));
  return parent;
};
const spawned = (process: Process, line?: string) =>
  ['a', 'b'].map((id) => ({ spawn: newTask(process, id, line === undefined ? {} : { line }) }));
const commits =
  (line?: string) =>
  ({ here }: Party, task: RunningTask) =>
    storeOf(here).commit(claimOf(task), RESULT, spawned(here, line), numbered(here));

export const CHILDREN = [
  scene('batch.create', 'create a batch with a callback', {
    act: ({ here }) => createBatch(here, 2),
    rivals: { 'the callback is there': enqueue('then'), 'another creates it': ({ there }) => createBatch(there, 2) },
  }),
  scene('batch.get', 'read a batch', {
    before: firstOf('c', 'd'),
    act: ({ here }) => here.leasehold.tasks.getBatch('b'),
  }),
  scene('task.complete', 'complete as one of several children', {
    before: firstOf('c', 'd'),
    act: ({ here }, held) => HOW['task.complete'](here, held),
    rivals: { 'the other one ends': all(claim('d'), end('complete', 'd')) },
  }),
  scene('batch.recount', 'complete as one of several children, whose number another program has written', {
    before: async (party) => {
      const held = await firstOf('c', 'd')(party);
      await overwrite(batchKey(QUEUE, 'b'), { pending: 1_000 })(party);
      return held;
    },
    act: ({ here }, held) => HOW['task.complete'](here, held),
    rivals: { 'the other one ends': all(claim('d'), end('complete', 'd')) },
  }),
  scene('task.complete', 'complete as the last child, with a callback', {
    before: firstOf('c'),
    act: ({ here }, held) => HOW['task.complete'](here, held),
    rivals: { 'the callback is cancelled': cancels('then') },
  }),
  scene('task.complete', 'complete as the last child, with a parent', {
    before: async (party) => {
      await parentOf(party);
      return claimOf(await claim('c')(party));
    },
    act: ({ here }, held) => HOW['task.complete'](here, held),
    rivals: { 'the parent is cancelled': cancels() },
  }),
  scene('task.complete', 'complete as the last child of a cancelled parent', {
    before: async (party) => {
      await all(parentOf, cancels())(party);
      return claimOf(await claim('c')(party));
    },
    act: ({ here }, held) => HOW['task.complete'](here, held),
  }),
  scene('task.commit', 'commit with children', { before: running(OF_KEY), act: commits() }),
  scene('task.commit', 'commit with children in order', { before: running(), act: commits('l') }),
  scene('task.commit', 'commit with children in order, as the last of their line', {
    before: running(IN_LINE),
    act: commits('k'),
  }),
  scene('task.commit', 'commit with children in order, before others of their line', {
    before: async (party) => {
      const task = await running(IN_LINE)(party);
      await NEXT(party);
      return task;
    },
    act: commits('k'),
  }),
  scene('task.wait', 'wait for children', {
    before: running(),
    act: ({ here }, task) =>
      storeOf(here).waitForChildren(claimOf(task), 'b', [child(here, 'c'), child(here, 'd')], numbered(here)),
    rivals: { 'it is taken over': takeOver, 'it is to be cancelled': cancels() },
  }),
  scene('task.wait', 'wait for children in order', {
    before: running(),
    act: ({ here }, task) => {
      const children = ['c', 'd'].map((id) => child(here, id, { line: 'k' }));
      return storeOf(here).waitForChildren(claimOf(task), 'b', children, numbered(here));
    },
  }),
  scene('task.follow', 'follow one that waits for children', {
    before: parentOf,
    act: ({ here }) => here.leasehold.tasks.enqueue('work', { n: 2 }, { id: 't', onDuplicate: 'replace' }),
    rivals: {
      'it is cancelled': cancels(),
      'another follows': FOLLOWER,
      'its child has ended': all(claim('c'), end('complete', 'c')),
    },
  }),
  scene('task.promote', 'cancel one that waits for children, with a follower', {
    before: async (party) => {
      await parentOf(party);
      await FOLLOWER(party);
    },
    act: ({ here }) => here.leasehold.operator.cancel('t'),
    rivals: { 'another follows': enqueue('t', { onDuplicate: 'replace' }, { n: 3 }), 'another cancels it': cancels() },
  }),
  scene('task.cancel', 'cancel one that waits for children', {
    before: async (party) => {
      await parentOf(party);
      return taskOf(party);
    },
    act: ({ here }, task) => storeOf(here).cancel(task as never, CANCELLATION, stamped(here)),
    rivals: { 'its child ends': all(claim('c'), end('complete', 'c')) },
  }),
  scene('task.revive', 'retry one whose children have ended', {
    before: async (party) => {
      await all(parentOf, cancels(), claim('c'), end('complete', 'c'))(party);
      return taskOf(party);
    },
    act: ({ here }, task) => here.ports.operations.revive(task as never, 0, stamped(here)),
  }),
  scene('task.revive', 'retry to wait for children', {
    before: async (party) => {
      await all(parentOf, cancels())(party);
      return taskOf(party);
    },
    act: ({ here }, task) => here.ports.operations.revive(task as never, 0, stamped(here)),
    rivals: { 'its child ends': all(claim('c'), end('complete', 'c')) },
  }),
];
