/**
 * The permission matrix: principals, actions and rows, allowed and denied, evaluated against the synthesized policies.
 * `ALLOWED` is the complete list; every other combination must be refused.
 */
import { Template } from 'aws-cdk-lib/assertions';
import type { Role } from 'aws-cdk-lib/aws-iam';
import { describe, expect, test } from 'vitest';
import {
  batchKey,
  deadPartitionKey,
  failureKey,
  lineKey,
  lockKey,
  payloadKey,
  queueKey,
  rateLimitKey,
  readyPartitionKey,
  scheduleKey,
  semaphoreKey,
  sessionKey,
  tickKey,
  taskConcurrencyKey,
  taskKey,
  groupPartitionKey,
  waitGroupKey,
  waitGroupMemberKey,
} from '../../shared/dynamo/engine/keys.ts';
import { newRole } from './gates.ts';
import type { Request, Statement } from './policy.ts';
import { isAllowed, policiesOf, resourceName, statementsOf } from './policy.ts';
import { synthesize } from './synthesize.ts';

/** One key of each kind, as the library itself writes it; `other` belongs to another queue of the same table. */
const ROWS = {
  task: taskKey('media', 'a#b/c').pk,
  'task of other': taskKey('mediation', '1').pk,
  batch: batchKey('media', 'import').pk,
  'batch of other': batchKey('mediation', 'import').pk,
  key: taskConcurrencyKey('media', 'customer-7').pk,
  'key of other': taskConcurrencyKey('mediation', 'customer-7').pk,
  line: lineKey('media', 'customer-7').pk,
  'line of other': lineKey('mediation', 'customer-7').pk,
  continuation: tickKey('continue/media', '018f').pk,
  'continuation of other': tickKey('continue/mediation', '018f').pk,
  payload: payloadKey('media', 'a#b/c', 'x').pk,
  'payload of other': payloadKey('mediation', '1', 'x').pk,
  failure: failureKey('media', 'a#b/c').pk,
  'failure of other': failureKey('mediation', '1').pk,
  tick: tickKey('media', '2026-08-01T00:00:00Z').pk,
  'tick of other': tickKey('mediation', '2026-08-01T00:00:00Z').pk,
  schedule: scheduleKey('media', 'nightly').pk,
  'schedule of other': scheduleKey('mediation', 'nightly').pk,
  audit: 'audit#2026-08',
  queue: queueKey('media').pk,
  'queue other': queueKey('mediation').pk,
  permits: semaphoreKey('workers/media').pk,
  'permits of other': semaphoreKey('workers/mediation').pk,
  session: sessionKey('018f').pk,
  lock: lockKey('reports/nightly').pk,
  ratelimit: rateLimitKey('api', 'customer-7').pk,
  semaphore: semaphoreKey('database').pk,
  waitgroup: waitGroupKey('import').pk,
  members: waitGroupMemberKey({ name: 'import', generation: 1 }, 'part-1').pk,
} as const;
const ENTRIES = {
  ready: readyPartitionKey('media', 'normal', 3),
  'ready of other': readyPartitionKey('mediation', 'normal', 3),
  schedules: 'schedule#media',
  'schedules of other': 'schedule#mediation',
  groups: groupPartitionKey('media', 'normal', 3),
  'groups of other': groupPartitionKey('mediation', 'normal', 3),
  dead: deadPartitionKey('media', 0),
  'dead of other': deadPartitionKey('mediation', 0),
  sessions: 'session#11',
  locks: 'lock#3',
  semaphores: 'semaphore',
} as const;
type Row = keyof typeof ROWS;
type Entry = keyof typeof ENTRIES;

const ROW_ACTIONS = [
  'GetItem',
  'BatchGetItem',
  'PutItem',
  'UpdateItem',
  'ConditionCheckItem',
  'DeleteItem',
  'Query',
] as const;
const INDEX_ACTIONS = ['Query', 'Scan', 'GetItem'] as const;
/** Never allowed to any role, with keys or without. */
const NEVER = [
  ...['Scan', 'BatchWriteItem', 'PartiQLSelect', 'PartiQLInsert', 'PartiQLUpdate', 'PartiQLDelete'],
  ...[
    'CreateTable',
    'DeleteTable',
    'UpdateTable',
    'UpdateTimeToLive',
    'UpdateContinuousBackups',
    'RestoreTableToPointInTime',
  ],
  ...['PutResourcePolicy', 'CreateBackup', 'ExportTableToPointInTime', 'GetRecords', 'TagResource'],
];

/** Actions that read the stream, whose records have keys and whose requests have none. */
const STREAM_ACTIONS = ['DescribeStream', 'GetRecords', 'GetShardIterator', 'ListStreams'].map(
  (action) => `dynamodb:${action}`,
);

interface Wanted {
  readonly rows: Partial<Record<(typeof ROW_ACTIONS)[number], readonly Row[]>>;
  readonly ready: readonly Entry[];
  readonly directory: readonly Entry[];
  readonly invokes: readonly ('worker' | 'dispatcher')[];
}

const COORDINATION: readonly Row[] = [
  ...(['session', 'lock', 'ratelimit', 'waitgroup', 'members'] as const),
  ...(['semaphore'] as const),
];
const PERMITS: readonly Row[] = ['permits', 'permits of other'];
const GROUPS: readonly Row[] = ['waitgroup', 'members'];
const OBSERVED: readonly Row[] = [
  ...(['task', 'batch', 'key', 'line', 'payload', 'failure', 'tick', 'queue', 'schedule'] as const),
  ...[...COORDINATION, ...PERMITS],
];
const OPERATED: readonly Row[] = ['task', 'batch', 'key', 'queue', ...COORDINATION, ...PERMITS];
const LISTINGS: readonly Entry[] = ['sessions', 'locks', 'semaphores'];

const ALLOWED: Readonly<Record<string, Wanted>> = {
  dispatcher: {
    rows: {
      GetItem: ['task', 'key', 'line', 'schedule', 'queue', 'permits', 'session'],
      BatchGetItem: ['task', 'key', 'line', 'schedule', 'session'],
      PutItem: ['tick', 'task', 'permits'],
      UpdateItem: ['task', 'key', 'line', 'schedule', 'queue', 'permits', 'session'],
      Query: ['permits'],
    },
    ready: ['ready', 'schedules'],
    directory: ['groups'],
    invokes: ['worker'],
  },
  waker: {
    rows: {
      GetItem: ['queue', 'permits'],
      BatchGetItem: ['task', 'key', 'line', 'session'],
      PutItem: ['permits'],
      UpdateItem: ['queue', 'permits'],
      Query: ['permits'],
    },
    ready: ['ready'],
    directory: ['groups'],
    invokes: ['worker'],
  },
  worker: {
    rows: {
      GetItem: ['task', 'batch', 'key', 'line', 'payload', 'session', 'permits', 'queue'],
      BatchGetItem: ['task', 'key', 'line', 'session'],
      PutItem: ['task', 'batch', 'payload', 'failure', 'continuation', 'session', 'permits'],
      UpdateItem: ['task', 'batch', 'key', 'line', 'session', 'permits', 'queue'],
      DeleteItem: ['payload'],
      ConditionCheckItem: ['task'],
      Query: ['permits'],
    },
    ready: ['ready'],
    directory: ['groups'],
    invokes: ['worker'],
  },
  schedule: { rows: {}, ready: [], directory: [], invokes: ['dispatcher'] },
  enqueue: {
    rows: {
      GetItem: ['task', 'batch', 'line'],
      BatchGetItem: ['task'],
      PutItem: ['task', 'batch', 'payload'],
      UpdateItem: ['line'],
      DeleteItem: ['payload'],
    },
    ready: [],
    directory: [],
    invokes: [],
  },
  replace: {
    rows: {
      GetItem: ['task', 'batch', 'line'],
      BatchGetItem: ['task'],
      PutItem: ['task', 'batch', 'payload'],
      UpdateItem: ['task', 'line'],
      DeleteItem: ['payload'],
    },
    ready: [],
    directory: [],
    invokes: [],
  },
  schedules: {
    rows: { GetItem: ['schedule'], BatchGetItem: ['schedule'], UpdateItem: ['schedule'] },
    ready: [],
    directory: ['schedules'],
    invokes: [],
  },
  coordinate: {
    rows: {
      GetItem: COORDINATION,
      BatchGetItem: COORDINATION,
      PutItem: COORDINATION,
      UpdateItem: COORDINATION,
      ConditionCheckItem: COORDINATION,
      Query: GROUPS,
    },
    ready: [],
    directory: LISTINGS,
    invokes: [],
  },
  observe: {
    rows: { GetItem: OBSERVED, BatchGetItem: OBSERVED, Query: [...GROUPS, ...PERMITS, 'audit'] },
    ready: ['ready', 'schedules'],
    directory: [...LISTINGS, 'dead', 'groups', 'schedules'],
    invokes: [],
  },
  operate: {
    rows: {
      GetItem: OBSERVED,
      BatchGetItem: OBSERVED,
      PutItem: ['task', 'audit'],
      UpdateItem: [...OPERATED, 'line', 'schedule', 'audit'],
      ConditionCheckItem: OPERATED.filter((row) => row !== 'queue'),
      Query: [...GROUPS, ...PERMITS, 'audit'],
    },
    ready: ['ready', 'schedules'],
    directory: [...LISTINGS, 'dead', 'groups', 'schedules'],
    invokes: [],
  },
};

const { stack, workers } = synthesize();
const grantees = {
  enqueue: newRole(stack, 'enqueue', (role) => workers.grantEnqueue(role)),
  replace: newRole(stack, 'replace', (role) => workers.grantReplace(role)),
  schedules: newRole(stack, 'schedules', (role) => workers.grantSchedule(role)),
  coordinate: newRole(stack, 'coordinate', (role) => workers.grantCoordinate(role)),
  observe: newRole(stack, 'observe', (role) => workers.grantObserve(role)),
  operate: newRole(stack, 'operate', (role) => workers.grantOperate(role)),
};
const template = Template.fromStack(stack);
const table = only('AWS::DynamoDB::Table', () => true);
const functions = {
  worker: only('AWS::Lambda::Function', (id) => id.includes('Worker')),
  dispatcher: only('AWS::Lambda::Function', (id) => id.includes('Dispatcher')),
};
const principals: Readonly<Record<string, readonly Statement[]>> = {
  worker: statementsOf(
    template,
    only('AWS::IAM::Role', (id) => id.includes('WorkerHandlerRole')),
  ),
  dispatcher: statementsOf(
    template,
    only('AWS::IAM::Role', (id) => id.includes('DispatcherHandlerRole')),
  ),
  waker: statementsOf(
    template,
    only('AWS::IAM::Role', (id) => id.includes('WakerHandlerRole')),
  ),
  schedule: statementsOf(
    template,
    only('AWS::IAM::Role', (id) => id.includes('ScheduleRole')),
  ),
  ...Object.fromEntries(
    Object.entries(grantees).map(([name, role]) => [name, statementsOf(template, logicalId(role))]),
  ),
};

describe.each(Object.keys(ALLOWED))('%s', (name) => {
  const wanted = ALLOWED[name]!;
  const allows = (request: Request): boolean => isAllowed(principals[name]!, request);

  test.each(ROW_ACTIONS)('%s on rows', (action) => {
    const allowed = Object.entries(ROWS).filter(([, key]) =>
      allows({ action: `dynamodb:${action}`, resource: table, leadingKeys: [key] }),
    );

    expect(allowed.map(([row]) => row).sort()).toEqual([...(wanted.rows[action] ?? [])].sort());
  });

  test.each(['ready', 'directory'] as const)('reads of the index %s', (index) => {
    for (const action of INDEX_ACTIONS) {
      const allowed = Object.entries(ENTRIES).filter(([, key]) =>
        allows({ action: `dynamodb:${action}`, resource: `${table}/index/${index}`, leadingKeys: [key] }),
      );

      expect(allowed.map(([entry]) => entry).sort()).toEqual(action === 'Query' ? [...wanted[index]].sort() : []);
    }
  });

  test('%s grants nothing without keys, and nothing beyond run time', () => {
    const resources = [table, `${table}/index/ready`, `${table}/index/directory`];
    const requests = resources.flatMap((resource) => [
      ...[...ROW_ACTIONS, ...NEVER].map((action) => ({ action: `dynamodb:${action}`, resource })),
      ...NEVER.flatMap((action) =>
        Object.values(ROWS).map((key) => ({ action: `dynamodb:${action}`, resource, leadingKeys: [key] })),
      ),
    ]);

    expect(requests.filter(allows)).toEqual([]);
  });

  test('a batch with one foreign key is refused as a whole', () => {
    const leadingKeys = [ROWS.task, ROWS['task of other']];

    expect(allows({ action: 'dynamodb:BatchGetItem', resource: table, leadingKeys })).toBe(false);
  });

  test('invokes', () => {
    const invoked = Object.entries(functions).filter(([, resource]) =>
      allows({ action: 'lambda:InvokeFunction', resource }),
    );

    expect(invoked.map(([which]) => which)).toEqual(wanted.invokes);
  });
});

describe('every policy of the template', () => {
  const statements = policiesOf(template).flatMap(({ PolicyDocument }) => PolicyDocument.Statement);

  test('names its actions', () => {
    const actions = statements.flatMap(({ Action }) => [Action].flat());

    expect(actions.filter((action) => /[*?]/.test(action))).toEqual([]);
  });

  test('names its resources, except the list of streams, which has none', () => {
    const open = statements.filter(({ Resource }) => [Resource].flat().some((one) => /[*?]/.test(resourceName(one))));
    const actions = open.map(({ Action }) => [Action].flat().sort().join(' ')).sort();

    expect(actions).toEqual(['dynamodb:ListStreams']);
  });

  test('demands that a request to DynamoDB names keys, wherever it judges them', () => {
    const toTable = statements.filter(({ Action }) =>
      [Action].flat().some((action) => action.startsWith('dynamodb:') && !STREAM_ACTIONS.includes(action)),
    );

    expect(toTable.length).toBeGreaterThan(10);
    for (const { Condition } of toTable) {
      expect(Condition?.Null).toEqual({ 'dynamodb:LeadingKeys': 'false' });
      expect(Condition).toHaveProperty(['ForAllValues:StringLike', 'dynamodb:LeadingKeys']);
    }
  });

  test('is attached to one role, and no two functions share one', () => {
    expect(policiesOf(template).every(({ Roles = [] }) => Roles.length === 1)).toBe(true);
    const roles = Object.values(template.findResources('AWS::Lambda::Function')).map((resource) =>
      JSON.stringify((resource.Properties as { Role: unknown }).Role),
    );
    expect(new Set(roles).size).toBe(roles.length);
  });

  test('stands alone: no role has a managed policy', () => {
    const roles = Object.values(template.findResources('AWS::IAM::Role'));

    expect(roles.filter((role) => 'ManagedPolicyArns' in (role.Properties as object))).toEqual([]);
  });
});

function logicalId(role: Role): string {
  return stack.getLogicalId(role.node.defaultChild as Parameters<typeof stack.getLogicalId>[0]);
}

function only(type: string, fits: (logicalId: string) => boolean): string {
  const found = Object.keys(template.findResources(type)).filter(fits);
  if (found.length !== 1) throw new Error(`expected one ${type}, found ${found.join(', ') || 'none'}`);
  return found[0]!;
}
