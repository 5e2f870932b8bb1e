/**
 * All that commands print about rows of every kind, and how they end: columns, words, boundaries of times, refusals and exit codes.
 */
import { fileURLToPath } from 'node:url';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { StoreUnavailableError, MismatchError } from '../../../../shared/core/errors.ts';
import { DESTROYED, ENDED, LOCKS, NOW, QUEUE_RECORD, SESSIONS, schedule } from '../../../support/made-rows.ts';
import {
  ALL,
  each,
  leaseholdOf,
  operationsOf,
  semaphoreClient,
  sessionStore,
  storeOf,
} from '../../../support/made-stores.ts';
import { connectionOf, printedBy } from '../../../support/cli-scene.ts';

const ENTRY = fileURLToPath(new URL('../../../support/tasks-modules/hostile.ts', import.meta.url));
const WHY = ['--reason', 'a drill', '--by', 'ann'];

const QUEUE_RECORDS: Readonly<Record<string, object>> = {
  default: { ...QUEUE_RECORD, pausedTenants: new Set(['acme']) },
  resting: { ...QUEUE_RECORD, tookMs: undefined, workerSettings: { concurrency: 10, startWithinMs: 10_000 } },
  seen: { isPaused: false },
};

/** A command line, and what an operation reports or a store answers. */
type Line = readonly [argv: string, report?: unknown];

const HELD = { kind: 'alive', head: 'a', state: 'ready', pausedTenant: 'acme' };

/** Reads these rows, in pages of two. */
function tableOf(rows: readonly object[]): DynamoDBClient {
  const client = new DynamoDBClient({ region: 'eu-west-1' });
  let at = 0;
  return Object.assign(client, {
    send: () => {
      const Items = rows.slice(at, at + 2).map((row) => marshall(row));
      at = at + 2 >= rows.length ? 0 : at + 2;
      return Promise.resolve({ Items, LastEvaluatedKey: at === 0 ? undefined : { at: { N: String(at) } } });
    },
  });
}

const connection = (argv: readonly string[], report: unknown, asked: string[]) => {
  const operations = operationsOf(report, asked);
  const dead = (queue: string) => () =>
    each(['default', 'dead'].includes(queue) ? ENDED.filter(({ state }) => state === 'dead') : []);
  const record = (queue: string) => Promise.resolve(QUEUE_RECORDS[queue]);
  let looks = 0;
  let opened = 0;
  /** In the fourth look of a command, a task runs that waited before, and waits again afterwards. */
  const storeNow = () => {
    const store = storeOf(report);
    if (report !== 'runs once' || ++opened !== 4) return store;
    const getMany = async (keys: Parameters<typeof store.getMany>[0]) =>
      (await store.getMany(keys)).map((task, nth) => (nth === 0 ? (ALL.get('busy') ?? task) : task));
    return { ...store, getMany };
  };
  return connectionOf({
    leasehold: leaseholdOf(report),
    schedules: leaseholdOf(report).schedules,
    operations,
    audit: {
      list: () => each((report ?? []) as readonly object[]),
      record: async (entry: object, act: () => Promise<never>, outcomeOf: (result: never) => string) => {
        asked.push(`→ writes ${JSON.stringify(entry)}`);
        const result = await act();
        asked.push(`→ and ${outcomeOf(result)}`);
        return result;
      },
    },
    semaphores: semaphoreClient,
    sessions: sessionStore,
    openClient: () => Promise.resolve(tableOf(argv.includes('epoch') ? (report as readonly object[]) : [])),
    epoch: {
      endSession: (id: string) => Promise.resolve(asked.push(`→ ends ${id}`) > 0),
      raise: ({ pk, counter }: { readonly pk: string; readonly counter: number }, floor: number) => {
        asked.push(`→ raises ${pk} from ${counter} to ${floor}`);
        return Promise.resolve(pk !== 'busy');
      },
    },
    queue: (queue: string, shards: number) => ({
      queue,
      shards,
      operations,
      store: storeNow(),
      operator: {
        dead: dead(queue),
        key: () => Promise.resolve(report),
        turn: () => (report as { turn: unknown }).turn,
      },
      queues: {
        glance: () => record(queue),
        get: () => {
          if (report === 'soon away' && ++looks > 2)
            throw new StoreUnavailableError('DynamoDB is away', { applied: 'no' });
          return record(queue);
        },
      },
      client: {
        validate: (task: string | { readonly name: string }, input: unknown, options: object) => {
          const name = typeof task === 'string' ? task : task.name;
          asked.push(`→ ${name} ${JSON.stringify(input)} ${JSON.stringify(options)} in ${shards} shards`);
          return Promise.resolve({ name, input, queue, ...options });
        },
        enqueueAll: () => Promise.resolve(Array.isArray(report) ? report : [report]),
        result: () => Promise.resolve((report as { readonly outcome?: object }).outcome),
      },
    }),
  });
};

const added = (id: string, outcome?: object) => ({ id, queue: 'default', created: true, replaced: false, outcome });
const ended = (kind: string, facts: object) => added('a', { kind, task: { state: 'ready' }, ...facts });
const running = Array.from({ length: 2 }, () => ALL.get('busy'));
const KEY = { key: 'k', queue: 'media', limits: [1, 3], hasRow: true, count: 2, running, waiting: 4 };
const key = (facts: object) => ({ ...KEY, difference: 0, isExact: true, ...facts });
const acts = [
  { at: NOW, by: 'a'.repeat(25), verb: 'lock.release', target: 'held 42', outcome: 'released', reason: 'r'.repeat(61) },
];

const placeOf = (place: object): string => Buffer.from(JSON.stringify(place)).toString('base64url');

/** Of each kind that counts, and some that do not; a counter that is as high as the clock and its bound stays. */
const ROWS = [
  { pk: 'lock', sk: 'lock', leaseCounter: 4, modifyIndex: 5 },
  { pk: 'entry', sk: 'lock', modifyIndex: 5 },
  { pk: 'new', sk: 'task', leaseCounter: NOW + 1_000 },
  { pk: 'task', sk: 'task', leaseCounter: NOW + 999, state: 'running' },
  { pk: 'permits', sk: 'permits', leaseCounter: 4 },
  { pk: 'semaphore', sk: 'semaphore', leaseCounter: 4 },
  { pk: 'line', sk: 'line', tail: 4 },
  { pk: 'group', sk: 'waitgroup', generation: 4, state: 'complete' },
  { pk: 'incomplete', sk: 'waitgroup', generation: 4, state: 'open' },
  { pk: 'lasting', sk: 'session', id: 'lasting', status: 'live' },
  { pk: 'ended', sk: 'session', id: 'ended', status: 'invalid' },
  { pk: 'queue', sk: 'queue', leaseCounter: 4 },
];

const NOUNS: Readonly<Record<string, readonly Line[]>> = {
  locks: [
    ['locks'],
    ['locks list --all'],
    ['locks list held --limit 1'],
    ['locks list held/ --json'],
    ['locks list nothing'],
    ['locks list nothing --all'],
    ...LOCKS.map(({ key: of }): Line => [`locks show ${of}`]),
    ['locks show left'],
    ['locks show nothing'],
    ['locks watch held'],
    ['locks release held --token 42 WHY --yes held', { kind: 'released', closedUntil: NOW + 1, trustedUntil: NOW }],
    [
      'locks release held --token 42 WHY --yes held --lock-delay 5s',
      { kind: 'released', closedUntil: NOW, trustedUntil: NOW + 9_000 },
    ],
    ['locks release held --token 42 WHY --yes held', { kind: 'superseded', current: LOCKS[2] }],
    ['locks release held --token 42 WHY --yes held', { kind: 'superseded', current: LOCKS[0] }],
    ['locks release held --token 41 WHY --yes held'],
    ['locks release closed --token 41 WHY --yes closed'],
    ['locks release nothing --token 41 WHY --yes nothing'],
    ['locks release held --token 42 WHY --yes hold'],
    ['locks release held --token 0 WHY'],
    ['locks release held --token 42 --yes held'],
  ],
  sessions: [
    ['sessions'],
    ['sessions list --all'],
    ['sessions list nobody'],
    ['sessions list nobody --all'],
    ['sessions list --max-clock-skew 999ms'],
    ...SESSIONS.map(({ id }): Line => [`sessions show ${id}`]),
    ['sessions show nobody'],
    ['sessions destroy live WHY --yes live', { kind: 'destroyed', session: DESTROYED }],
    [
      'sessions destroy live WHY --lock-delay 0s --yes live',
      { kind: 'destroyed', session: { ...DESTROYED, notBefore: 0 } },
    ],
    ['sessions destroy live WHY --yes live', { kind: 'gone', session: SESSIONS[5] }],
    ['sessions destroy live WHY --yes live', { kind: 'gone' }],
    ['sessions destroy gone WHY --yes gone'],
    ['sessions destroy nobody WHY --yes nobody'],
    ['sessions destroy live WHY'],
  ],
  semaphores: [
    ['semaphores'],
    ['semaphores list idle'],
    ['semaphores list nothing'],
    ['semaphores show uploads'],
    ['semaphores show idle'],
    ['semaphores show nothing'],
    [
      'semaphores evict uploads --token 2 WHY --yes uploads',
      { session: 'session-2', closedUntil: NOW + 20_000, trustedUntil: NOW + 20_000 },
    ],
    ['semaphores evict uploads --token 2 WHY --yes uploads'],
    ['semaphores evict uploads --token 3 WHY'],
    ['semaphores evict uploads --token 4 WHY'],
    ['semaphores limit uploads 5 WHY --yes uploads'],
    ['semaphores limit idle declared WHY --yes idle'],
    ['semaphores limit uploads 0 WHY'],
    ['semaphores limit nothing 1 WHY'],
  ],
  tasks: [
    ['tasks'],
    ...['ready', 'delayed', 'running', 'dead'].map((state): Line => [`tasks list --state ${state}`]),
    ['tasks list --state lost'],
    ['tasks list --queue empty'],
    ['tasks list --name other'],
    ['tasks list --limit 2'],
    ...['later', 'parent', 'keyed', 'busy', 'orphan', 'done', 'dead', 'cancelled'].map((id): Line => [
      `tasks show ${id}`,
    ]),
    ['tasks show nothing'],
  ],
  'tasks, acts': [
    ['tasks retry plain'],
    ['tasks retry later --by ann', { kind: 'rescheduled', task: {} }],
    ['tasks retry dead --by ann', { kind: 'retried', task: {} }],
    ['tasks retry parent WHY', { kind: 'waits', children: { total: 3, pending: 2 } }],
    ['tasks retry busy WHY', { kind: 'unfit', state: 'running' }],
    ['tasks retry later WHY', { kind: 'missing' }],
    ['tasks retry nothing'],
    ['tasks retry'],
    ['tasks retry plain --all'],
    ['tasks retry plain --name resize --limit 3'],
    ['tasks retry --all --name resize --error E --limit 3 WHY --yes default', 3],
    ['tasks retry --all --by ann --yes default', 1],
    ['tasks retry --all --yes other'],
    ['tasks retry --all --limit 0'],
    ['tasks cancel plain WHY --yes plain', { kind: 'cancelled' }],
    ['tasks cancel busy WHY --yes busy', { kind: 'requested', session: 'live' }],
    ['tasks cancel done WHY --yes done', { kind: 'ended', state: 'done' }],
    ['tasks cancel plain WHY --yes plain', { kind: 'missing' }],
    ['tasks cancel busy WHY --yes plain'],
    ['tasks cancel busy WHY'],
    ['tasks cancel nothing WHY --yes nothing'],
    ...['nothing', 'busy', 'done', 'expired', 'held', 'later', 'plain'].map((id): Line => [
      `tasks run ${id} --entry ENTRY`,
    ]),
    ['tasks run fine --entry ENTRY', { kind: 'refused' }],
    ['tasks run fine --entry ENTRY', { kind: 'refused', current: ALL.get('busy') }],
    ['tasks run fine --entry ENTRY', { kind: 'refused', current: ALL.get('keyed') }],
    ['tasks run plain'],
  ],
  queues: [
    ['queues'],
    ['queues list --limit 1 --json'],
    ['queues stats default'],
    ['queues stats default --shards 1'],
    ['queues stats media'],
    ['queues stats medla'],
    ...['resting', 'due', 'delayed', 'dead', 'seen', 'dispatched'].map((queue): Line => [`queues stats ${queue}`]),
    ['queues pause default WHY', { isPaused: true }],
    ['queues resume default WHY', { isPaused: false }],
    ['queues pause default --tenant acme WHY', { isPaused: false, pausedTenants: new Set(['acme']) }],
    ...['due', 'dead', 'seen', 'dispatched', 'empty'].map((queue): Line => [
      `queues pause ${queue} WHY`,
      { isPaused: true },
    ]),
    ['queues drain empty'],
    ['queues drain resting'],
    ['queues drain resting --timeout 9999ms', 'runs once'],
    ['queues drain resting --timeout 10s', 'runs once'],
    ['queues drain default --timeout 5s'],
    ['queues drain resting --timeout 5999ms'],
    ['queues drain due --timeout 30s'],
    ['queues drain default --timeout 5'],
    ['watch --every 10s', 'soon away'],
  ],
  keys: [
    ['keys show k', key({})],
    ['keys show k', key({ limits: [], count: 1, running: [], difference: 1 })],
    ['keys show k', key({ difference: 2, isExact: false })],
    ['keys show k', key({ difference: -1 })],
    ['keys show k', key({ running: Array.from({ length: 21 }, () => ALL.get('busy')) })],
    ['keys show k', key({ limits: [], count: 0, running: [], waiting: 0 })],
    ['keys show k', key({ limits: [], count: 0, hasRow: false, turn: { kind: 'empty' } })],
    ['keys show k', key({ limits: [], count: 0, hasRow: false, turn: HELD })],
    ['keys show k --queue other', key({ count: 0, running: [] })],
    ['keys recount k --queue media WHY --yes k', { kind: 'recounted', before: 2, after: 1 }],
    ['keys recount k --shards 16 WHY --yes k', { kind: 'right', before: 2, after: 2 }],
    ['keys recount k WHY --yes l'],
    ['keys pass k WHY --yes k', { kind: 'passed', ticket: 7, next: 'b' }],
    ['keys pass k WHY --yes k', { kind: 'passed', ticket: 7 }],
    ['keys pass k --queue media WHY --yes k', { kind: 'alive', head: 'a', state: 'running' }],
    ['keys pass k WHY --yes k', { kind: 'empty' }],
  ],
  schedules: [
    ['schedules'],
    ['schedules list --queue other'],
    ['schedules next nightly'],
    ['schedules next nightly --limit 2 --json'],
    ['schedules next over'],
    ['schedules next paused'],
    ['schedules next paused --json'],
    ['schedules next nothing'],
    ['schedules next nightly --limit 101'],
    ['schedules define nightly report --cron 0_3_*_*_* WHY', schedule('nightly', {})],
    [
      'schedules define nightly report [1] --cron 0_3_*_*_* --zone UTC --missed all --tolerance 10m --overlap skip --start-at 2027-01-31T00:00Z --end-at 2027-02-28T00:00Z --jitter 5m --priority low --max-attempts 3 --timeout 90s --queue media WHY',
      schedule('nightly', { nextAt: Infinity }),
    ],
    ['schedules define nightly report --cron 0_3_*_*_* --missed none WHY'],
    ['schedules define nightly report WHY'],
    ['schedules remove nightly WHY --yes nightly', true],
    ['schedules remove nightly WHY --yes nightly', false],
    ['schedules run nightly WHY', { kind: 'enqueued', task: { id: 'nightly@1' } }],
    ['schedules run nightly WHY', { kind: 'skipped' }],
    ['schedules run nightly WHY', { kind: 'missing' }],
    ['schedules pause nightly --queue media WHY', schedule('nightly', { pausedAt: NOW })],
    ['schedules resume nightly WHY', schedule('nightly', {})],
    ['schedules resume nightly WHY'],
  ],
  enqueue: [
    ['enqueue resize {} --id a', added('a')],
    ['enqueue resize --shards 1 --priority low --delay 10m --key k --limit 2 --rate 10/1m --tenant ada', added('a')],
    ['enqueue resize --delay 2027-01-31T08:00:00Z --expires 1h --on-duplicate keep --window 1d', added('a')],
    ['enqueue resize --expires 2027-01-31T00:00:00Z --max-attempts 1 --timeout 90s --key k --ordered', added('a')],
    ['enqueue resize', { id: 'a', created: false, replaced: true }],
    ['enqueue resize', { id: 'a', created: false, replaced: false }],
    ['enqueue resize --json', { id: 'a', created: false, replaced: false }],
    ['enqueue resize --id a', new MismatchError('task a', 'exists already')],
    ['enqueue resize --dry-run', added('a')],
    ['enqueue resice --dry-run', added('a')],
    ['enqueue resize --wait 30s', ended('done', { result: { bytes: 7 } })],
    ['enqueue resize --wait 30s --json', ended('done', {})],
    ['enqueue resize --wait 30s', ended('dead', { error: { name: 'E', message: 'too bad' } })],
    ['enqueue resize --wait 30s', ended('dead', {})],
    ['enqueue resize --wait 30s', ended('cancelled', { reason: 'unwanted' })],
    ['enqueue resize --wait 30s', ended('cancelled', {})],
    ['enqueue resize --wait 500ms', ended('deadline', {})],
    ['enqueue resize --wait 30s --dry-run'],
    ['enqueue'],
    ['enqueue resize --file -'],
    ['enqueue --file -', [added('a'), added('b'), { id: 'c', created: false, replaced: false }]],
    ['enqueue --file - --json', [added('a'), new MismatchError('task b', 'taken'), { id: 'c', replaced: true }]],
    ['enqueue --file -', [added('a'), new MismatchError('task b', 'taken'), added('c')]],
    ['enqueue --file - --dry-run'],
    ['enqueue --file - --entry ENTRY'],
    ['enqueue --file - --id a --wait 1s'],
    ['enqueue resize {'],
    ['enqueue resize --priority urgent'],
    ['enqueue resize --rate 10'],
    ['enqueue --file /nowhere/tasks'],
  ],
  epoch: [
    ['epoch raise WHY --yes leasehold', ROWS],
    ['epoch raise WHY --yes leasehold --json', [...ROWS, { pk: 'busy', sk: 'task', leaseCounter: 4 }]],
    ['epoch raise WHY --yes leasehold --old-table leasehold', ROWS],
    ['epoch raise WHY --yes leasehold --old-table other', ROWS],
    ['epoch raise WHY --yes leasehold', [{ pk: 's', sk: 'session', id: 'a', status: 'live', expiresAt: NOW - 999 }]],
    ['epoch raise WHY --yes leasehold', [{ pk: 's', sk: 'session', id: 'a', status: 'live', expiresAt: NOW - 1_000 }]],
    [`epoch raise WHY --yes leasehold --resume ${placeOf({ floor: 7, after: { at: { N: '2' } } })}`, ROWS],
    [`epoch raise WHY --yes leasehold --resume ${placeOf({ floor: 0.5, after: {} })}`, ROWS],
    [`epoch raise WHY --yes leasehold --resume ${placeOf({ floor: 7 })}`, ROWS],
    ['epoch raise WHY --yes other', ROWS],
    ['epoch raise WHY', []],
  ],
  'audit and cost': [
    ['audit', acts],
    ['audit'],
    ['cost'],
    ['cost --tasks-per-day 1e6 --seconds-per-task 2 --no-alarms --tracing'],
    ['cost --architecture mips'],
  ],
};

/** `WHY` and `ENTRY` stand for more, and `_` for a space within a word. */
function argvOf(line: string): string[] {
  return line
    .split(' ')
    .flatMap((word) => (word === 'WHY' ? WHY : word === 'ENTRY' ? [ENTRY] : [word.replaceAll('_', ' ')]));
}

/** By noun, in one text each. */
export const nouns: Readonly<Record<string, () => Promise<string>>> = Object.fromEntries(
  Object.entries(NOUNS).map(([noun, lines]) => [
    noun.replaceAll(/\W+/g, '-'),
    async () => {
      const blocks: string[] = [];
      for (const [argv, report] of lines) {
        const asked: string[] = [];
        const words = argvOf(argv);
        blocks.push(await printedBy(words, connection(words, report, asked), asked));
      }
      return blocks.join('\n').replaceAll(ENTRY, 'ENTRY');
    },
  ]),
);
