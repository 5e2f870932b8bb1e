/**
 * Every pattern of the product on long texts: the time must grow with the length of a text, and not with its square.
 * A quadratic pattern takes minutes over 100 KB, in which its process does nothing else.
 */
import path from 'node:path';
import { Script, createContext } from 'node:vm';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import type { Source } from '../support/import-graph.ts';
import { sourcesOf } from '../support/import-graph.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const PRODUCT = /^(?:api|cli|console|consul|functions|infra|local|shared)\//;
const NOT_PRODUCT = /\/(?:test|bench)\//;
const LENGTH = 100_000;
/** Linear patterns take milliseconds of a core, quadratic ones tens of seconds. */
const MOST_CPU_MS = 250;
/** Wall-clock limit for an endless run: a busy machine gives a fraction of a core. */
const STOPPED_AFTER_MS = 10_000;

/** Building blocks of texts that are hard to match. */
const PIECES = [
  ...[
    '1',
    'a',
    'A',
    '0',
    '-',
    '.',
    ' ',
    '\t',
    '\n',
    '#',
    '%',
    '/',
    '\\',
    '"',
    "'",
    ',',
    ':',
    '=',
    '(',
    '[',
    '{',
    '<',
    '*',
    '?',
    '@',
  ],
  ...[
    '1.',
    '.1',
    'a ',
    ' a',
    'a,',
    'a=',
    '%2',
    'a.',
    '//',
    '\\"',
    '\u001b[',
    '\u202e',
    '\ud83d\ude00',
    'a\n',
    '1h',
    '-1 ',
  ],
];
const TEXTS = PIECES.flatMap((piece) => {
  const long = piece.repeat(Math.ceil(LENGTH / piece.length));
  // With an end that fits nothing, so that each beginning is tried.
  return [`${long}\u0000`, `1${long}!`];
});

const sandbox: { pattern?: RegExp; text?: string } = createContext({});
const apply = new Script('pattern.test(text); text.replace(pattern, "")');

/** Applies a pattern to a text in every way that the sources do, and stops it if that does not end. */
function isSlow(pattern: RegExp, text: string): boolean {
  Object.assign(sandbox, { pattern, text });
  const before = process.cpuUsage();
  try {
    apply.runInContext(sandbox, { timeout: STOPPED_AFTER_MS });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
  }
  const { user, system } = process.cpuUsage(before);
  return user + system > 1_000 * MOST_CPU_MS;
}

function patternsIn({ path: file, text }: Source): { readonly name: string; readonly pattern: RegExp }[] {
  const found: { readonly name: string; readonly pattern: RegExp }[] = [];
  const visit = (node: ts.Node): void => {
    if (node.kind === ts.SyntaxKind.RegularExpressionLiteral) {
      const literal = (node as ts.RegularExpressionLiteral).text;
      const end = literal.lastIndexOf('/');
      found.push({ name: `${file}: ${literal}`, pattern: new RegExp(literal.slice(1, end), literal.slice(end + 1)) });
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest));
  return found;
}

describe('the patterns of the product', () => {
  const sources = sourcesOf(ROOT).filter(({ path: file }) => PRODUCT.test(file) && !NOT_PRODUCT.test(file));
  const patterns = sources.flatMap(patternsIn);

  test('are linear in the length of a text', () => {
    const slow = patterns.flatMap(({ name, pattern }) => {
      const text = TEXTS.find((long) => isSlow(pattern, long));
      return text === undefined ? [] : [`${name} on ${JSON.stringify(text.slice(0, 4))}…`];
    });

    expect(patterns.length).toBeGreaterThan(50);
    expect(slow).toEqual([]);
  });

  test('are found to be quadratic when they are', () => {
    expect(TEXTS.some((long) => isSlow(/^(-?\d*\.?\d+) *$/, long))).toBe(true);
  });
});
