/** Expressions name attributes as `#name`, and DynamoDB accepts any name: a misspelt one would be a new attribute. */
import path from 'node:path';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { ATTRIBUTES } from '../../../shared/dynamo/engine/attribute-names.ts';
import { FENCE_ATTRIBUTES } from '../../../shared/dynamo/dynamo-fence.ts';
import type { Source } from '../../support/import-graph.ts';
import { sourcesOf } from '../../support/import-graph.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');

/** Attributes that a fence adds to the user's own. */
const OF_USERS: readonly string[] = Object.values(FENCE_ATTRIBUTES);

/** Texts of a file, and parts of texts that are put together: these may end within a name. */
function textsIn({ path: file, text }: Source): { readonly text: string; readonly isOpen: boolean }[] {
  const found: { readonly text: string; readonly isOpen: boolean }[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateTail(node)) found.push({ text: node.text, isOpen: false });
    if (ts.isTemplateHead(node) || ts.isTemplateMiddle(node)) found.push({ text: node.text, isOpen: true });
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest));
  return found;
}

/** Returns placeholders without an attribute of the schema, each with its file. */
function strangersIn(sources: readonly Source[]): string[] {
  return sources.flatMap((source) =>
    textsIn(source).flatMap(({ text, isOpen }) =>
      [...text.matchAll(/#([a-z]\w*)/g)].flatMap(({ 0: placeholder, 1: name = '', index }) => {
        const isBeginning = isOpen && index + placeholder.length === text.length;
        const isKnown = isBeginning
          ? [...ATTRIBUTES].some((attribute) => attribute.startsWith(name))
          : ATTRIBUTES.has(name) || OF_USERS.includes(name);
        return isKnown ? [] : [`${source.path}: ${placeholder}`];
      }),
    ),
  );
}

describe('the placeholders of expressions', () => {
  test('name attributes of the schema', () => {
    const rows = sourcesOf(ROOT).filter(({ path: file }) => /^shared\/(?:dynamo|operate|.*\/rows?)\//.test(file));

    expect(rows.length).toBeGreaterThan(50);
    expect(strangersIn(rows)).toEqual([]);
  });

  test.each([
    ['a text', `export const GUARD = '#stauts = :live';`, '#stauts'],
    ['a template', 'export const GUARD = `${IS_LIVE} AND #nonse = :nonce`;', '#nonse'],
    ['the beginning of a template', 'export const GUARD = `#renewal <= :many AND ${IS_LIVE}`;', '#renewal'],
    ['a name that a number completes', 'export const RING = `#passed${slot}`;', '#passed'],
  ])('are found out in %s when the schema has no such attribute', (_where, text, placeholder) => {
    expect(strangersIn([{ path: 'statements.ts', text }])).toEqual([`statements.ts: ${placeholder}`]);
  });
});
