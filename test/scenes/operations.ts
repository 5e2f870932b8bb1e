/** Operations of producers and operators on tasks, keys and lines. */
import { taskConcurrencyKey, taskKey } from '../../shared/dynamo/engine/keys.ts';
import { AuditStore } from '../../shared/operate/audit/audit-store.ts';
import { RAISES } from '../../shared/operate/epoch/epoch-statements.ts';
import { EpochStore } from '../../shared/operate/epoch/epoch-store.ts';
import type { EnqueueOptions } from '../../shared/tasks/queue/task-client.ts';
import { CommitRefusedError } from '../../shared/tasks/task/control.ts';
import { spawn } from '../../shared/tasks/task/task-request.ts';
import type { OwnWrites } from '../../shared/tasks/task/user-writes.ts';
import type { Process } from '../support/coordination.ts';
import type { Party } from './scene.ts';
import { scene } from './scene.ts';
import type { Step } from './steps.ts';
import {
  INPUT,
  IN_LINE,
  LARGE,
  OF_KEY,
  QUEUE,
  abandoned,
  all,
  cancels,
  claim,
  dead,
  end,
  enqueue,
  listing,
  ready,
  remove,
  running,
  takeOver,
} from './steps.ts';

const enqueuesHere =
  (options: EnqueueOptions & OwnWrites = {}, input: unknown = INPUT, id = 't') =>
  async ({ here }: Party) => {
    const { created } = await here.leasehold.tasks.enqueue('work', input, { id, ...options });
    return created;
  };
const ROW = { pk: 'user#1', sk: 'user' };
const enqueuesWithWrite =
  (options: EnqueueOptions = {}) =>
  (party: Party) => {
    const TableName = party.here.ports.tasks.table;
    return enqueuesHere({ ...options, writes: [{ Put: { TableName, Item: { ...ROW, bytes: 12_345 } } }] })(party);
  };
/** Its first attempt does not arrive, and its condition is false. */
async function refusedAt({ driver, leasehold, ports }: Process): Promise<unknown> {
  driver.accidents.push('dropRequest');
  const TableName = ports.tasks.table;
  const writes = [{ Delete: { TableName, Key: ROW, ConditionExpression: 'attribute_exists(pk)' } }];
  return leasehold.tasks.enqueue('work', INPUT, { id: 't', writes }).catch((error: unknown) => {
    if (!(error instanceof CommitRefusedError)) throw error;
    return error.name;
  });
}
const refusedHere = ({ here }: Party) => refusedAt(here);
const again = { 'another enqueues it': enqueue() };
const replacesIt = { 'it is claimed': claim(), 'it is cancelled': cancels(), 'another replaces it': replace(3) };

function replace(n: number): Step {
  return enqueue('t', { onDuplicate: 'replace' }, { n });
}

export const ADDING = [
  scene('task.enqueue', 'enqueue', { act: enqueuesHere(), rivals: again }),
  scene('task.enqueue', 'enqueue one that is there', { before: enqueue(), act: enqueuesHere() }),
  scene('task.enqueue', 'enqueue for a tenant', { act: enqueuesHere({ tenant: 'acme' }) }),
  scene('task.enqueue', 'enqueue with a large input', { act: enqueuesHere({}, LARGE), rivals: again }),
  scene('task.enqueue', 'enqueue with every option', {
    act: enqueuesHere({ priority: 'high', tenant: 'acme', ...OF_KEY, expires: '1h', maxAttempts: 3, timeout: '1m' }),
  }),
  scene('task.enqueue', 'enqueue as the head of a line', { act: enqueuesHere(IN_LINE) }),
  scene('task.enqueue', 'enqueue behind the head of a line', {
    before: enqueue('head', IN_LINE),
    act: enqueuesHere(IN_LINE),
    rivals: { 'the head ends': all(claim('head'), end('complete', 'head')), 'one joins': enqueue('u', IN_LINE) },
  }),
  scene('task.enqueue', 'enqueue all', {
    act: async ({ here }) => (await here.leasehold.tasks.enqueueAll([spawn('work', 1, { id: 't' })])).length,
    rivals: again,
  }),
  scene('task.enqueue', 'enqueue with a write of its own', { act: enqueuesWithWrite(), rivals: again }),
  scene('task.enqueue', 'enqueue in a line with a write of its own', {
    before: enqueue('head', IN_LINE),
    act: enqueuesWithWrite(IN_LINE),
    rivals: { 'the head ends': all(claim('head'), end('complete', 'head')), 'one joins': enqueue('u', IN_LINE) },
  }),
  scene('task.barNew', 'bar a copy of an enqueue whose write was refused', {
    act: refusedHere,
    rivals: { ...again, 'another is barred': ({ there }) => refusedAt(there) },
  }),
  scene('task.enqueue', 'enqueue over a bar', { before: refusedHere, act: enqueuesHere() }),
  scene('task.enqueue', 'enqueue a batch', {
    act: async ({ here }) => {
      const children = ['t', 'u'].map((id) => spawn('work', INPUT, { id }));
      const { created } = await here.leasehold.tasks.enqueueBatch(children, { id: 'b', then: spawn('work', INPUT) });
      return created;
    },
  }),
  scene('task.replace', 'replace', {
    before: enqueue('t', { delay: '1h' }),
    act: enqueuesHere({ delay: '1h', onDuplicate: 'replace' }, { n: 2 }),
    rivals: replacesIt,
  }),
  scene('task.replace', 'debounce', {
    before: enqueue('t', { delay: '1h' }),
    act: enqueuesHere({ delay: '1h', onDuplicate: 'debounce' }, { n: 2 }),
    rivals: replacesIt,
  }),
  scene('task.follow', 'follow one that runs', {
    before: running(),
    act: enqueuesHere({ onDuplicate: 'replace' }, { n: 2 }),
    rivals: { 'it has ended': end('complete'), 'it is snoozed': end('snooze'), 'another follows': replace(3) },
  }),
  scene('task.follow', 'replace what follows one that runs', {
    before: all(running(), replace(2)),
    act: enqueuesHere({ onDuplicate: 'replace' }, { n: 4 }),
    rivals: { 'it has ended': end('complete'), 'another follows': replace(3) },
  }),
  scene('task.renew', 'enqueue after a window', {
    before: async (party) => {
      await all(running(), end('complete'))(party);
      await party.pass(10);
    },
    act: enqueuesHere({ window: 1 }, { n: 2 }),
    rivals: { 'another begins': enqueue('t', { window: 1 }, { n: 3 }) },
  }),
  scene('task.renew', 'enqueue at the end of a line, after a window', {
    before: async (party) => {
      await all(running(), end('complete'), enqueue('head', IN_LINE))(party);
      await party.pass(10);
    },
    act: enqueuesHere({ window: 1, ...IN_LINE }, { n: 2 }),
    rivals: { 'one joins': enqueue('u', IN_LINE) },
  }),
];

const operator = ({ here }: Party) => here.leasehold.operator;
const other = ({ there }: Party) => there.leasehold.operator;
const isOver = { 'it has ended': end('complete'), 'it is snoozed': end('snooze'), 'it is taken over': takeOver };
const resets = { 'a task of it begins': claim('u'), 'a task of it ends': end('complete') };
const counted = all(enqueue('t', OF_KEY), enqueue('u', OF_KEY), claim());

export const OPERATIONS = [
  scene('task.cancel', 'cancel one that waits', {
    before: ready(),
    act: (party) => operator(party).cancel('t', { reason: 'mine' }),
    rivals: {
      'it is claimed': claim(),
      'another cancels it': cancels(),
      'it has ended': all(claim(), end('complete')),
    },
  }),
  scene('task.requestCancel', 'cancel one that runs', {
    before: running(),
    act: (party) => operator(party).cancel('t', { reason: 'mine' }),
    rivals: { ...isOver, 'another cancels it': cancels() },
  }),
  scene('task.cancel', 'cancel one whose worker is gone', {
    before: abandoned(OF_KEY),
    act: (party) => operator(party).cancel('t', { reason: 'mine' }),
    rivals: { 'it is taken over': takeOver, 'it has ended': end('complete'), 'another cancels it': cancels() },
  }),
  scene('task.cancel', 'cancel one without a key whose worker is gone', {
    before: abandoned(),
    act: (party) => operator(party).cancel('t', { reason: 'mine' }),
    rivals: isOver,
  }),
  scene('task.cancel', 'cancel one that waits in a queue that lists', {
    before: all(listing, ready()),
    act: (party) => operator(party).cancel('t', { reason: 'mine' }),
    rivals: { 'it is claimed': claim() },
  }),
  scene('task.cancel', 'cancel one in a line', {
    before: all(enqueue('head', IN_LINE), enqueue('t', IN_LINE), enqueue('u', IN_LINE)),
    act: (party) => operator(party).cancel('t', { reason: 'mine' }),
  }),
  scene('task.cancel', 'cancel the head of a line', {
    before: all(enqueue('t', IN_LINE), enqueue('u', IN_LINE)),
    act: (party) => operator(party).cancel('t', { reason: 'mine' }),
    rivals: { 'one joins': enqueue('v', IN_LINE) },
  }),
  scene('task.revive', 'retry a dead one', {
    before: dead(),
    act: (party) => operator(party).retry('t'),
    rivals: { 'another retries it': (party) => other(party).retry('t'), 'its id has other work': replace(2) },
  }),
  scene('task.revive', 'retry into a line', {
    before: all(dead(IN_LINE), enqueue('u', IN_LINE)),
    act: (party) => operator(party).retry('t'),
    rivals: { 'one joins': enqueue('v', IN_LINE) },
  }),
  scene('task.revive', 'retry all dead ones', {
    before: all(dead(), dead({}, 'u')),
    act: (party) => operator(party).retryAll({ limit: 1 }),
    rivals: { 'another retries one': (party) => other(party).retry('t') },
  }),
  scene('task.reschedule', 'reschedule one without a tenant', {
    before: ready(),
    act: (party) => operator(party).reschedule('t', { priority: 'low' }),
    rivals: { 'it is claimed': claim() },
  }),
  scene('task.reschedule', 'reschedule', {
    before: ready({ tenant: 'acme' }),
    act: (party) => operator(party).reschedule('t', { priority: 'high', delay: new Date(1_900_000_000_000) }),
    rivals: {
      'it is claimed': claim(),
      'it was claimed and is snoozed': all(claim(), end('snooze')),
      'another cancels it': cancels(),
      'another moves it': (party) => other(party).reschedule('t', { priority: 'low' }),
    },
  }),
  scene('key.get', 'recount a key', {
    before: counted,
    act: (party) => operator(party).recountKey('k', { shards: 8 }),
    rivals: resets,
  }),
  scene('key.recount', 'recount a key whose row is gone', {
    before: all(counted, remove(taskConcurrencyKey(QUEUE, 'k'))),
    act: (party) => operator(party).recountKey('k', { shards: 8 }),
    rivals: resets,
  }),
  scene('key.recount', 'recount a key with a place too many', {
    before: all(counted, remove(taskKey(QUEUE, 't'))),
    act: (party) => operator(party).recountKey('k', { shards: 8 }),
    rivals: { 'a task of it begins': claim('u') },
  }),
  scene('line.pass', 'pass a line whose task is gone', {
    before: all(enqueue('t', IN_LINE), enqueue('u', IN_LINE), remove(taskKey(QUEUE, 't'))),
    act: (party) => operator(party).passLine('k'),
    rivals: { 'another passes it': (party) => other(party).passLine('k'), 'one joins': enqueue('v', IN_LINE) },
  }),
  scene('line.pass', 'pass a line of one', {
    before: all(enqueue('t', IN_LINE), remove(taskKey(QUEUE, 't'))),
    act: (party) => operator(party).passLine('k'),
    rivals: { 'one joins': enqueue('u', IN_LINE) },
  }),
  scene('line.get', 'read the turn of a line', {
    before: enqueue('t', IN_LINE),
    act: (party) => operator(party).turn('k'),
  }),
  scene('key.get', 'read a key', { before: counted, act: (party) => operator(party).key('k', { shards: 8 }) }),
  scene('task.get', 'read a task', { before: enqueue(), act: ({ here }) => here.leasehold.tasks.get('t') }),
  scene('task.pageOfDead', 'list dead tasks', {
    before: dead(),
    act: async (party) => (await Array.fromAsync(operator(party).dead())).length,
  }),
  scene('task.getMany', 'list tasks that are open', {
    before: counted,
    act: async (party) => (await Array.fromAsync(operator(party).open({ shards: 8 }))).length,
  }),
];

const records = ({ here, world }: Party, deed: () => Promise<unknown>) =>
  new AuditStore(here, world.table).record(
    { verb: 'test', target: 'nothing', by: 'ann', reason: 'to see' },
    deed,
    () => 'done',
  );

/** Operator actions on the table itself. */
export const REPAIRS = [
  scene('audit.begin', 'record a deed', { act: (party) => records(party, () => Promise.resolve()) }),
  scene('audit.end', 'record a deed that fails', {
    act: (party) => records(party, () => Promise.reject(new Error('it failed'))).catch(String),
  }),
  scene('audit.page', 'list deeds', {
    before: (party) => records(party, () => Promise.resolve()),
    act: async ({ here, world }) => (await Array.fromAsync(new AuditStore(here, world.table).list())).length,
  }),
  ...Object.entries(RAISES).flatMap(([sk, raises]) =>
    raises.map((raise, at) =>
      scene('epoch.raise', `raise the counters of a ${sk}, ${String(at)}`, {
        before: ({ world: { driver, table } }) => {
          const Item = { pk: 'row', sk, state: 'complete', [raise.counter]: 1 };
          return driver.attempt('put', { TableName: table, Item }, new AbortController().signal);
        },
        act: ({ here, world }) => new EpochStore(here, world.table).raise({ pk: 'row', sk, raise, counter: 1 }, 2),
      }),
    ),
  ),
];
