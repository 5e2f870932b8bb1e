/**
 * `leasehold/edge` imports only our own modules, directly or indirectly: no `node:`, no package, above all not the SDK.
 * The linter sees one file at a time, and the next one may be the one that imports; so this test walks the whole graph
 * down from the entry. Types are left out, because they load nothing.
 */
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Source } from '../../../support/import-graph.ts';
import { importsOf, isRelative, sourcesOf } from '../../../support/import-graph.ts';

const ENTRY = 'api/edge.ts';

/** Imports that an isolate could not follow, each with the file that has it. */
function strangersOf(sources: readonly Source[]): string[] {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const strangers: string[] = [];
  const seen = new Set<string>();
  const visit = (file: string): void => {
    const source = byPath.get(file);
    if (seen.has(file) || source === undefined) return;
    seen.add(file);
    for (const { specifier, typesOnly } of importsOf(source)) {
      if (typesOnly) continue;
      if (isRelative(specifier)) visit(path.posix.join(path.posix.dirname(file), specifier));
      else strangers.push(`${file} imports ${specifier}`);
    }
  };
  visit(ENTRY);
  return strangers;
}

describe('the imports of leasehold/edge', () => {
  test('imports nothing of Node, and no package', () => {
    expect(strangersOf(sourcesOf(path.resolve(import.meta.dirname, '../../../..')))).toEqual([]);
  });

  test.each([
    ['a module of Node', `import { hash } from 'node:crypto';`],
    ['the SDK', `import { DynamoDB } from '@aws-sdk/client-dynamodb';`],
    ['a package that is loaded later', `await import('uuid');`],
    ['what is only passed on', `export { inspect } from 'node:util';`],
  ])('is found out, two files further, when it imports %s', (_what, line) => {
    const planted = [
      { path: ENTRY, text: `export { one } from '../shared/one.ts';` },
      { path: 'shared/one.ts', text: `import './two.ts';` },
      { path: 'shared/two.ts', text: line },
    ];

    expect(strangersOf(planted)).toEqual([expect.stringMatching(/^shared\/two\.ts imports /)]);
  });

  test('may take types from anywhere', () => {
    const text = `import type { PutCommandInput } from '@aws-sdk/lib-dynamodb';`;

    expect(strangersOf([{ path: ENTRY, text }])).toEqual([]);
  });
});
