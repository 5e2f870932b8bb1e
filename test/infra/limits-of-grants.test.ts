/** What a role may do to the table outside of the library: each line of the table in docs/security.md, by its synthesized policies. */
import { readFileSync } from 'node:fs';
import { Template } from 'aws-cdk-lib/assertions';
import type { IRole, Role } from 'aws-cdk-lib/aws-iam';
import { expect, test } from 'vitest';
import type { RowKey } from '../../shared/dynamo/engine/keys.ts';
import {
  arrivalKey,
  batchKey,
  journalKey,
  lineKey,
  lockKey,
  payloadKey,
  queueKey,
  scheduleKey,
  semaphoreKey,
  sessionKey,
  taskConcurrencyKey,
  taskKey,
  waitGroupKey,
} from '../../shared/dynamo/engine/keys.ts';
import { newRole } from './gates.ts';
import type { Request } from './policy.ts';
import { isAllowed, statementsOf } from './policy.ts';
import { synthesize } from './synthesize.ts';

const { stack, workers } = synthesize();
const roles: Readonly<Record<string, IRole>> = {
  grantEnqueue: newRole(stack, 'enqueue', (role) => workers.grantEnqueue(role)),
  grantSchedule: newRole(stack, 'schedule', (role) => workers.grantSchedule(role)),
  grantCallbacks: newRole(stack, 'callbacks', (role) => workers.grantCallbacks(role)),
  grantReplace: newRole(stack, 'replace', (role) => workers.grantReplace(role)),
  grantCoordinate: newRole(stack, 'coordinate', (role) => workers.grantCoordinate(role)),
  grantObserve: newRole(stack, 'observe', (role) => workers.grantObserve(role)),
  grantOperate: newRole(stack, 'operate', (role) => workers.grantOperate(role)),
  worker: workers.worker.role,
  dispatcher: workers.dispatcher.handler.role,
  waker: workers.waker!.handler.role,
};
const template = Template.fromStack(stack);
const logicalId = ({ node }: Pick<Role, 'node'>): string =>
  stack.getLogicalId(node.defaultChild as Parameters<typeof stack.getLogicalId>[0]);
const resource = logicalId(workers.table.table);

/** Of one row: IAM sees its partition key and the names of its attributes. */
function request(action: string, { pk }: RowKey, names: string, returnValues?: string): Request {
  const attributes = ['pk', 'sk', ...names.split(' ').filter((name) => name !== '')];
  return { action: `dynamodb:${action}`, resource, leadingKeys: [pk], attributes, returnValues };
}
const put = (key: RowKey, names: string, returnValues?: string) => request('PutItem', key, names, returnValues);
const update = (key: RowKey, names: string) => request('UpdateItem', key, names);
const remove = (key: RowKey, returnValues?: string) => request('DeleteItem', key, '', returnValues);

const TASK = taskKey('media', 'victim');
const NEW_TASK = 'v queue name state leaseCounter nonce';
const DONE = 'state finishedAt result';
const PAYLOAD = payloadKey('media', 'victim', 'x');
const STEP = journalKey('media', 'victim', '1.1.0');
const ACT = { pk: 'audit#2026-11', sk: 'act#2026-11-22T00:00:00.000Z#1' };

const ATTEMPTS: Readonly<Record<string, Request>> = {
  'set a task to done with a forged result': update(TASK, DONE),
  'overwrite a task with a finished one': put(TASK, `${NEW_TASK} ${DONE}`),
  'overwrite a task with a new one': put(TASK, NEW_TASK),
  'delete a task': remove(TASK),
  'put a task into another queue': put(taskKey('mail', '1'), NEW_TASK),
  'read the large input of a task': request('GetItem', PAYLOAD, ''),
  'delete the large input of a task': remove(PAYLOAD),
  'read the large input of a task by deleting it': remove(PAYLOAD, 'ALL_OLD'),
  'read the large input of a task by overwriting it': put(PAYLOAD, '', 'ALL_OLD'),
  // IAM does not see what a refusal returns.
  'read the large input of a task by a put that is refused': put(PAYLOAD, ''),
  'ask in PartiQL': { action: 'dynamodb:PartiQLSelect', resource },
  'write tasks in a batch, which has no conditions': request('BatchWriteItem', TASK, NEW_TASK),
  'put an entry of its row among the tasks of another queue': put(TASK, `${NEW_TASK} readyKey readyAt`),
  'put an entry of a lock among the tasks that may be due': update(lockKey('reports/nightly'), 'readyKey readyAt'),
  'put an entry of a lock among the tasks of keys': update(lockKey('reports/nightly'), 'directoryKey directoryName'),
  'put an entry of a schedule into the index of another queue': update(
    scheduleKey('media', 'nightly'),
    'readyKey readyAt',
  ),
  'read recorded steps': request('Query', STEP, ''),
  'overwrite a recorded step': put(STEP, 'text'),
  "overwrite another queue's step": put(journalKey('mail', 'victim', '1.1.0'), 'text'),
  'overwrite an answer': put(arrivalKey('media', 'victim', 'op.x'), 'text'),
  'write a task': put(taskKey('media', '2'), NEW_TASK),
  'define a schedule of another queue': update(scheduleKey('mail', 'nightly'), 'cron'),
  'open a session': put(sessionKey('new'), 'v'),
  'change how many workers there may be': update(semaphoreKey('workers/media'), 'limit'),
  'end the session of a worker': update(sessionKey('of a worker'), 'status'),
  'change a task': update(TASK, 'state'),
  'finish a task of its queue that another worker has': update(TASK, DONE),
  "end the session of another queue's worker": update(sessionKey('of another'), 'status'),
  'change a task of another queue': update(taskKey('mail', '1'), 'state'),
  "take permits of another queue's workers": update(semaphoreKey('workers/mail'), 'free'),
  'pause or open its queue': update(queueKey('media'), 'paused'),
  'delete the row of a lock': remove(lockKey('reports/nightly')),
  'take a lock': update(lockKey('reports/nightly'), 'session'),
  'stall the ordered tasks of a key': update(lineKey('media', 'acme'), 'turn'),
  'keep the callback of a batch from running': put(batchKey('media', 'b'), 'v pending'),
  'choose the name of any task of its queue': put(TASK, NEW_TASK),
  'raise its maxWorkers': update(semaphoreKey('workers/media'), 'limit'),
  'reset the count of a key': update(taskConcurrencyKey('media', 'acme'), 'running'),
  'forge what was written down of an act': put(ACT, 'by status'),
  'overwrite what was written down of an act': put(ACT, 'by status'),
  'delete what was written down of an act': remove(ACT),
};

/** Rows that have a `ttl`, or could have one. */
const ROWS: Readonly<Record<string, RowKey>> = {
  task: TASK,
  batch: batchKey('media', 'b'),
  line: lineKey('media', 'acme'),
  key: taskConcurrencyKey('media', 'acme'),
  schedule: scheduleKey('media', 'nightly'),
  queue: queueKey('media'),
  "workers' permits": semaphoreKey('workers/media'),
  lock: lockKey('reports/nightly'),
  semaphore: semaphoreKey('reports'),
  'wait group': waitGroupKey('reports'),
  session: sessionKey('of a worker'),
  act: ACT,
};

const DOCUMENT = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8');
const [, TABLE = ''] = DOCUMENT.split(
  '| role | IAM refuses to | only the library refuses to | delete by `ttl`: the library only |\n',
);
const LINES = Array.from(
  (TABLE.split('\n\n')[0] ?? '').matchAll(/^\| `?(\w+)`? \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$/gm),
  ([, role = '', byIam = '', byLibrary = '', byTtl = '']) => ({ role, byIam, byLibrary, byTtl }),
);
const deedsOf = (cell: string): readonly string[] => cell.split('; ').filter((deed) => deed !== '');

test('each attempt is in the table of the documents', () => {
  const told = LINES.flatMap(({ byIam, byLibrary }) => [...deedsOf(byIam), ...deedsOf(byLibrary)]);

  expect(LINES.map(({ role }) => role).sort()).toEqual(Object.keys(roles).sort());
  expect(new Set(told)).toEqual(new Set(Object.keys(ATTEMPTS)));
});

test.each(LINES)('$role: IAM refuses what the table says, and nothing else', ({ role, byIam, byLibrary, byTtl }) => {
  const statements = statementsOf(template, logicalId(roles[role]!));
  const may = (attempt: Request): boolean => isAllowed(statements, attempt);
  const open = Object.entries(ROWS).filter(([, key]) => may(update(key, 'ttl')) || may(put(key, 'v ttl')));

  expect(deedsOf(byIam).filter((deed) => may(ATTEMPTS[deed]!))).toEqual([]);
  expect(deedsOf(byLibrary).filter((deed) => !may(ATTEMPTS[deed]!))).toEqual([]);
  expect(open.map(([row]) => row).join(', ')).toBe(byTtl);
});
